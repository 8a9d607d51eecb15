// Queue of size one: the producer does not run ahead
//= ["put 0", "got 0", "put 1", "put 2", "got 1", "put 3", "got 2", "got 3"]
//@ sealed
export async function main() {
  const queue = aio.queue();
  const log = [];
  const produce = async () => {
    for (let n = 0; n < 4; n++) { await queue.put(n); log.push(`put ${n}`); }
    queue.close();
  };
  const consume = async () => {
    for await (const n of queue) { log.push(`got ${n}`); await aio.sleep(3); }
  };
  await aio.all([produce(), consume()]);
  return log;
}
