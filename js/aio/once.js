// Exactly-once initialisation for all tasks of a context.
//
// The value of this file is a function that takes the base and the work part. A *run* is one call of `init`; the task that made it
// is its runner. Callers of other tasks wait with a join of the host, so that each goes on in a slice of its own task.
// Invariants: there is one run at a time; what has ended stays as it ended; a value is published after it was hardened.
// A runner may be torn down at any point: then its run stays `running`, and the first who notices starts the next one.
(function makeOnce(base, work) {
  'use strict';
  const { host, checkFunction, makeList, append, first, remove } = base;
  const { waiting, perform, observe } = work;
  const PromiseHere = Promise;
  const ErrorHere = Error;

  // The error of a run for callers of other tasks. In a sealed context they may share only what is frozen.
  function shared(error) {
    try {
      return host.harden(error);
    } catch (refusal) {
      return new ErrorHere(`aio.once: the run failed in another task, with an error that tasks cannot share (${refusal.message})`);
    }
  }

  function once(init) {
    checkFunction('aio.once', 'init', init);
    // The latest run: one that goes on, or the one that succeeded. A failed run is forgotten.
    let current;

    function start() {
      const run = { task: host.task(), state: 'running', value: undefined, inside: false, waiters: makeList(), promise: undefined };
      current = run;
      const end = (state, value) => {
        run.value = value;
        run.state = state;
        if (state === 'failed' && current === run) current = undefined;
        for (let waiter = first(run.waiters); waiter !== undefined; waiter = first(run.waiters)) {
          remove(waiter);
          host.wake(waiter.id);
        }
      };
      run.promise = new PromiseHere((resolve, reject) => {
        const failed = (error) => {
          end('failed', first(run.waiters) === undefined ? undefined : shared(error));
          reject(error);
        };
        const done = (value) => {
          try {
            value = host.harden(value);
          } catch (error) {
            return failed(error);
          }
          end('done', value);
          resolve(value);
        };
        perform('aio.once', init, [], done, failed, run);
      });
      return run.promise;
    }

    // Waits for a run of another task. `seat` is what the caller sits on while it waits: its join, and its place in the run.
    function follow(run, seat, resolve, reject) {
      seat.id = host.join(run.task, () => {
        remove(seat);
        if (run.state === 'done') resolve(run.value);
        else if (run.state === 'failed') reject(run.value);
        else proceed(seat, resolve, reject);
      });
      append(run.waiters, seat);
    }

    // What a caller does that has no run, or whose runner has died.
    function proceed(seat, resolve, reject) {
      const run = current;
      if (run === undefined) observe(start(), resolve, reject);
      else if (run.state === 'done') resolve(run.value);
      else if (run.task === host.task()) observe(run.promise, resolve, reject);
      else if (host.alive(run.task)) follow(run, seat, resolve, reject);
      else observe(start(), resolve, reject);
    }

    return () => {
      const run = current;
      if (run !== undefined && run.state === 'running' && run.inside && run.task === host.task()) {
        const recursive = 'aio.once: init called the function that waits for init itself: it would wait for ever';
        return new PromiseHere((resolve, reject) => reject(new ErrorHere(recursive)));
      }
      return waiting((resolve, reject) => {
        const seat = { id: undefined, next: undefined, previous: undefined };
        proceed(seat, resolve, reject);
        return (error) => {
          // The run itself goes on, for others.
          if (remove(seat)) host.cancel(seat.id);
          reject(error);
        };
      });
    };
  }

  return { once };
})
