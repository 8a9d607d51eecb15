// The losers of select keep nothing busy, and get a CancelledError
//= [{"key": "quick", "value": "q"}, "CancelledError"]
//@ sealed
export async function main() {
  const slow = aio.sleep(60000);
  const first = await aio.select({ slow, quick: () => aio.sleep(5, 'q'), nested: aio.timeout(50000, aio.all([aio.sleep(40000)])) });
  return [first, await slow.catch((error) => error.name)];
}
