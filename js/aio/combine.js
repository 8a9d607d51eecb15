// Waiting for several: `select`, `race`, `all`, `settled`.
//
// The value of this file is a function that takes the base and the work part. Nothing here leaves a reaction behind with a promise
// that goes on after the wait is over.
(function makeCombine(base, work) {
  'use strict';
  const { put, makeRow, collect, errors: { CancelledError } } = base;
  const { adopt, observe, forget, waiting, giveUp, begin } = work;

  // What is waited for: the promises as a row, and the keys if the input was an object.
  function gather(where, input, least, promiseOf) {
    const { values, count, keys } = collect(where, input, least);
    const promises = makeRow();
    for (let at = 0; at < count; at++) promises[at] = promiseOf(values[at]);
    return { promises, count, keys };
  }
  // Calls ended(at, kind, value) for each that settles, until the returned function is called.
  function watch({ promises, count }, ended) {
    const observers = makeRow();
    let over = false;
    let watched = 0;
    const stop = () => {
      over = true;
      for (let at = 0; at < watched; at++) forget(observers[at]);
    };
    const tell = (at, kind) => (value) => {
      if (!over) ended(at, kind, value, stop);
    };
    for (; watched < count && !over; watched++) {
      observers[watched] = observe(promises[watched], tell(watched, 'value'), tell(watched, 'reason'));
    }
    if (over) stop();
    return stop;
  }
  // All but those that are the one at `except`.
  function giveUpAll({ promises, count }, why, except) {
    for (let at = 0; at < count; at++) if (promises[at] !== promises[except]) giveUp(promises[at], why, true);
  }
  // The error of all that are given up together.
  function reason(text) {
    let error;
    return () => (error ??= new CancelledError(text));
  }
  // The results in the form of the input: an array, or an object with the same keys in the same order.
  function shape({ count, keys }, row) {
    const results = keys === undefined ? [] : {};
    for (let at = 0; at < count; at++) put(results, keys === undefined ? at : keys[at], row[at]);
    return results;
  }
  // Waits for all. With `failsWith`, the first that is rejected ends the wait, and the others are given up with that error.
  function waitForAll(set, failsWith, resultOf) {
    return waiting((resolve, reject) => {
      const row = makeRow();
      let left = set.count;
      if (left === 0) resolve(shape(set, row));
      const stop = watch(set, (at, kind, value, stop) => {
        if (kind === 'reason' && failsWith !== undefined) {
          stop();
          reject(value);
          giveUpAll(set, failsWith, at);
          return;
        }
        row[at] = resultOf(kind, value);
        left -= 1;
        if (left === 0) resolve(shape(set, row));
      });
      return (error) => {
        stop();
        reject(error);
        giveUpAll(set, () => error, -1);
      };
    });
  }

  return {
    select(contenders) {
      const set = gather('aio.select', contenders, 1, (value) => (typeof value === 'function' ? begin('aio.select', value, []) : adopt(value)));
      return waiting((resolve, reject) => {
        const stop = watch(set, (at, kind, value, stop) => {
          stop();
          if (kind === 'value') resolve({ key: set.keys === undefined ? at : set.keys[at], value });
          else reject(value);
          giveUpAll(set, reason('aio.select: given up, as another was first'), at);
        });
        return (error) => {
          stop();
          reject(error);
          giveUpAll(set, () => error, -1);
        };
      });
    },

    race(contenders) {
      const set = gather('aio.race', contenders, 1, adopt);
      return waiting((resolve, reject) => {
        const stop = watch(set, (at, kind, value, stop) => {
          stop();
          if (kind === 'value') resolve(value);
          else reject(value);
        });
        return (error) => {
          stop();
          reject(error);
        };
      });
    },

    all(input) {
      const set = gather('aio.all', input, 0, adopt);
      return waitForAll(set, reason('aio.all: given up, as another failed'), (kind, value) => value);
    },

    settled(input) {
      const set = gather('aio.settled', input, 0, adopt);
      return waitForAll(set, undefined, (kind, value) =>
        kind === 'value' ? { status: 'fulfilled', value } : { status: 'rejected', reason: value },
      );
    },
  };
})
