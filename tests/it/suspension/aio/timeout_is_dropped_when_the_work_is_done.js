// Timeout is dropped when the work is done: the task does not last 60 s
//= 21
//@ sealed
export async function main() {
  const value = await aio.timeout(60000, function* () { return (yield aio.sleep(5, 20)) + 1; });
  return value;
}
