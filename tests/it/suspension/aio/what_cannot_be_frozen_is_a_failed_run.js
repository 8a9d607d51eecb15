// What cannot be frozen is a failed run (sealed context only; not run in the simulation)
//= ["rejected TypeError", "rejected TypeError"]
//@ sealed
const get = aio.once(async () => new Map());
const semaphore = aio.once(() => aio.semaphore(1));
export async function main() {
  const ends = await aio.settled([get(), semaphore()]);
  return ends.map((end) => `${end.status} ${end.reason.name}`);
}
