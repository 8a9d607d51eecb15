// A bounded queue between the parts of one task: who puts waits while it is full, who takes waits while it is empty.
//
// The value of this file is a function that takes the base and the work part. Invariant: takers wait only while there is neither a
// value nor somebody who puts one; who puts waits only while the queue is full. Of size 0, a value goes from hand to hand.
(function makeQueue(base, work) {
  'use strict';
  const { host, checkCount, checkHome, errors: { ClosedError }, makeList, append, prepend, remove, first } = base;
  const { waiting } = work;
  const { freeze } = Object;
  const { asyncIterator } = Symbol;
  const PromiseHere = Promise;

  class Queue {
    #home = host.task();
    #capacity;
    #size = 0;
    #closed = false;
    #values = makeList();
    #takers = makeList();
    #putters = makeList();

    constructor(capacity = 1) {
      checkCount('aio.queue', 'size', capacity, 0);
      this.#capacity = capacity;
    }

    // Whether the value found a place at once.
    #offer(value) {
      const taker = first(this.#takers);
      if (taker !== undefined) {
        remove(taker);
        taker.give(value);
        return true;
      }
      if (this.#size >= this.#capacity) return false;
      append(this.#values, { value, next: undefined, previous: undefined });
      this.#size += 1;
      return true;
    }

    // The next value as { value }, if there is one.
    #next() {
      const putter = first(this.#putters);
      const oldest = first(this.#values);
      if (oldest !== undefined) {
        remove(oldest);
        this.#size -= 1;
        if (putter !== undefined && this.#size < this.#capacity) {
          remove(putter);
          append(this.#values, { value: putter.value, next: undefined, previous: undefined });
          this.#size += 1;
          putter.done();
        }
        return { value: oldest.value };
      }
      if (putter === undefined) return undefined;
      remove(putter);
      putter.done();
      return { value: putter.value };
    }

    // A value that was given to somebody who gave up waiting is the next one again.
    #giveBack(value) {
      const taker = first(this.#takers);
      if (taker !== undefined) {
        remove(taker);
        taker.give(value);
      } else {
        prepend(this.#values, { value, next: undefined, previous: undefined });
        this.#size += 1;
      }
    }

    #take(given, ended) {
      return waiting((resolve, reject) => {
        let taken;
        const give = (value) => {
          taken = { value };
          given(value, resolve);
        };
        const taker = { give, end: () => ended(resolve, reject), next: undefined, previous: undefined };
        const ready = this.#next();
        if (ready !== undefined) give(ready.value);
        else if (this.#closed) ended(resolve, reject);
        else append(this.#takers, taker);
        return (error, discarded) => {
          if (remove(taker)) {
            reject(error);
          } else if (discarded && taken !== undefined) {
            const { value } = taken;
            taken = undefined;
            this.#giveBack(value);
          }
        };
      });
    }

    put(value) {
      checkHome('queue.put', this.#home);
      return waiting((resolve, reject) => {
        const refuse = () => reject(new ClosedError('queue.put: the queue is closed, and takes no more values'));
        const putter = { value, done: () => resolve(), refuse, next: undefined, previous: undefined };
        if (this.#closed) refuse();
        else if (this.#offer(value)) resolve();
        else append(this.#putters, putter);
        return (error) => {
          if (remove(putter)) reject(error);
        };
      });
    }

    take() {
      checkHome('queue.take', this.#home);
      return this.#take(
        (value, resolve) => resolve(value),
        (resolve, reject) => reject(new ClosedError('queue.take: the queue is closed, and all its values are taken')),
      );
    }

    tryPut(value) {
      checkHome('queue.tryPut', this.#home);
      if (this.#closed) throw new ClosedError('queue.tryPut: the queue is closed, and takes no more values');
      return this.#offer(value);
    }

    tryTake() {
      checkHome('queue.tryTake', this.#home);
      return this.#next();
    }

    close() {
      checkHome('queue.close', this.#home);
      this.#closed = true;
      for (let taker = first(this.#takers); taker !== undefined; taker = first(this.#takers)) {
        remove(taker);
        taker.end();
      }
      for (let putter = first(this.#putters); putter !== undefined; putter = first(this.#putters)) {
        remove(putter);
        putter.refuse();
      }
    }

    get size() {
      return this.#size;
    }

    get capacity() {
      return this.#capacity;
    }

    get closed() {
      return this.#closed;
    }

    [asyncIterator]() {
      checkHome('queue[Symbol.asyncIterator]', this.#home);
      let over = false;
      const end = (value) => ({ value, done: true });
      return freeze({
        __proto__: null,
        next: () => {
          checkHome('next of the iterator of a queue', this.#home);
          if (over) return new PromiseHere((resolve) => resolve(end(undefined)));
          return this.#take(
            (value, resolve) => resolve({ value, done: false }),
            (resolve) => resolve(end(undefined)),
          );
        },
        return: (value) => {
          over = true;
          return new PromiseHere((resolve) => resolve(end(value)));
        },
        [asyncIterator]() {
          return this;
        },
      });
    }
  }

  return { Queue, queue: (size) => new Queue(size) };
})
