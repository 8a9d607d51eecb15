// A script that replaces the built-ins
//= "abrTypeError"
//@ shared
const { race, sleep, all } = aio;
Promise.prototype.then = () => { throw new Error('then'); };
Array.prototype[Symbol.iterator] = () => { throw new Error('iterator'); };
Object.defineProperty(Array.prototype, 0, { set() { throw new Error('set'); }, configurable: true });
globalThis.Promise = undefined;
globalThis.TypeError = undefined;
export async function main() {
  const list = await all([sleep(1, 'a'), sleep(2, 'b')]);
  const first = await race([sleep(1, 'r'), sleep(5)]);
  let text;
  try { sleep('x'); } catch (error) { text = error.name; }
  return list[0] + list[1] + first + text;
}
