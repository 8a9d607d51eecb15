// A scope with a deadline cuts a wait that never ends
//= ["CancelledError", 10, "the scope was cancelled at its deadline of 10 ms", ["TimeoutError", "finally"]]
//@ sealed
export async function main() {
  const log = [];
  const error = await aio.scope(async (s) => {
    s.deadline(10);
    s.onCancel((reason) => log.push(reason.name));
    s.sleep(60000);
    try { await s.run(new Promise(() => {})); } finally { log.push('finally'); }
  }).catch((error) => error);
  return [error.name, error.reason.ms, error.message, log];
}
