// Concurrent callers share one run (top level of a sealed script)
//= [true, true]
//@ sealed
const get = aio.once(async () => { await aio.sleep(5); return { stamp: {} }; });
export async function main() {
  const [a, b] = await aio.all([get(), get()]);
  return [a === b, a === await get()];
}
