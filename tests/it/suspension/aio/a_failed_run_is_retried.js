// A failed run is retried (the argument of the first call fails it; open context)
//= ["down", "down", 2, 2]
//@ shared
let runs = 0;
const get = aio.once(async () => { await aio.sleep(1); runs += 1; if (runs === 1) throw new Error('down'); return runs; });
export async function main() {
  const [a, b] = await aio.settled([get(), get()]);
  return [a.reason.message, b.reason.message, await get(), await get()];
}
