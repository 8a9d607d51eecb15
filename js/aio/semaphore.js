// A semaphore: at most so many at a time, in the order in which they asked.
//
// The value of this file is a function that takes the base and the work part. Invariant: while somebody waits, no permit is free.
(function makeSemaphore(base, work) {
  'use strict';
  const { host, checkCount, checkFunction, checkHome, makeList, append, remove, first } = base;
  const { observe, forget, waiting, giveUp, perform } = work;

  class Semaphore {
    #home = host.task();
    #free;
    #count = 0;
    #waiters = makeList();

    constructor(permits) {
      checkCount('aio.semaphore', 'permits', permits, 1);
      this.#free = permits;
    }

    // A permit that was taken, as the function that gives it back.
    #permit() {
      let held = true;
      return () => {
        if (!held) return;
        checkHome('release of an aio.semaphore', this.#home);
        held = false;
        const next = first(this.#waiters);
        if (next === undefined) {
          this.#free += 1;
          return;
        }
        remove(next);
        this.#count -= 1;
        next.grant();
      };
    }

    #acquire() {
      return waiting((resolve, reject) => {
        let release;
        const grant = () => {
          release = this.#permit();
          resolve(release);
        };
        const waiter = { grant, next: undefined, previous: undefined };
        if (this.#free > 0) {
          this.#free -= 1;
          grant();
        } else {
          append(this.#waiters, waiter);
          this.#count += 1;
        }
        return (error, discarded) => {
          if (remove(waiter)) {
            this.#count -= 1;
            reject(error);
          } else if (discarded) {
            release();
          }
        };
      });
    }

    acquire() {
      checkHome('semaphore.acquire', this.#home);
      return this.#acquire();
    }

    use(work) {
      checkHome('semaphore.use', this.#home);
      checkFunction('semaphore.use', 'work', work);
      const permit = this.#acquire();
      return waiting((resolve, reject) => {
        let undo = (error) => {
          forget(entry);
          reject(error);
          giveUp(permit, () => error, true);
        };
        const entry = observe(permit, (release) => {
          const leave = (settle) => (value) => {
            release();
            settle(value);
          };
          undo = perform('semaphore.use', work, [], leave(resolve), leave(reject));
        }, reject);
        return (error, discarded) => undo(error, discarded);
      });
    }

    get available() {
      return this.#free;
    }

    get waiting() {
      return this.#count;
    }
  }

  return { Semaphore, semaphore: (permits) => new Semaphore(permits) };
})
