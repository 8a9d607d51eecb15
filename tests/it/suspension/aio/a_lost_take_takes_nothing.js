// A lost take takes nothing, a served one goes back
//= [1, 1]
//@ sealed
export async function main() {
  const queue = aio.queue(2);
  await aio.select({ item: queue.take(), time: aio.sleep(5) });
  await queue.put(1);
  await aio.select({ now: Promise.resolve(), item: queue.take() });
  return [queue.size, await queue.take()];
}
