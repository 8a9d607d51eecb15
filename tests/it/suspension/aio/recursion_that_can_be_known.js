// Recursion that can be known
//= ["aio.once: init called the function that waits for init itself: it would wait for ever", "aio.once: init called the function that waits for init itself: it would wait for ever", "aio.once: init called the function that waits for init itself: it would wait for ever"]
//@ sealed
const plain = aio.once(() => plain());
const early = aio.once(async () => early());
const driven = aio.once(function* () { yield aio.sleep(1); return yield driven(); });
export async function main() {
  const ends = await aio.settled([plain(), early(), driven()]);
  return ends.map((end) => end.reason.message);
}
