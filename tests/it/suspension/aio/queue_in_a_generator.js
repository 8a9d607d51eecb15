// Queue in a generator
//= [1, 2]
//@ sealed
export function* main() {
  const queue = aio.queue(3);
  queue.tryPut(1); queue.tryPut(2); queue.close();
  const values = queue[Symbol.asyncIterator]();
  const got = [];
  for (;;) {
    const { value, done } = yield values.next();
    if (done) return got;
    got.push(value);
  }
}
