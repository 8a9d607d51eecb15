// It is frozen
//= []
//@ sealed
export async function main() {
  const open = [];
  const seen = new Set();
  const walk = (value, path) => {
    if (Object(value) !== value || seen.has(value)) return;
    seen.add(value);
    if (!Object.isFrozen(value)) open.push(path);
    for (const key of Reflect.ownKeys(value)) {
      const { value: inner, get, set } = Object.getOwnPropertyDescriptor(value, key);
      for (const part of [inner, get, set]) walk(part, `${path}.${String(key)}`);
    }
  };
  walk(aio, 'aio');
  for (const object of [aio.semaphore(1), aio.queue()]) walk(Object.getPrototypeOf(object), 'prototype');
  await aio.scope((s) => walk(Object.getPrototypeOf(s), 'prototype'));
  return open;
}
