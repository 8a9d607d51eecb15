// All with names, a failure cancels the siblings, later failures are quiet
//= [["b", "a"], {"b": 1, "a": 2}, "first"]
//@ sealed
export async function main() {
  const late = async () => { await aio.sleep(6); throw new Error('second'); };
  const soon = async () => { await aio.sleep(3); throw new Error('first'); };
  const ok = await aio.all({ b: aio.sleep(2, 1), a: 2 });
  const error = await aio.all([aio.sleep(60000), late(), soon()]).catch((error) => error);
  await aio.sleep(20);
  return [Object.keys(ok), ok, error.message];
}
