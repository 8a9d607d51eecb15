// Waiting for time to pass: `sleep` and `timeout`. The timers are the host's.
//
// The value of this file is a function that takes the base and the work part.
(function makeTimers(base, work) {
  'use strict';
  const { host, checkMs, errors: { TimeoutError, CancelledError } } = base;
  const { checkWork, observe, forget, waiting, giveUp, begin } = work;

  return {
    sleep(ms, value) {
      checkMs('aio.sleep', ms);
      if (value === undefined) {
        // The host's own promise: it costs a third of one that is made here.
        try {
          return host.sleep(ms);
        } catch (error) {
          return waiting((_resolve, reject) => reject(error));
        }
      }
      return waiting((resolve, reject) => {
        const id = host.timer(ms, () => resolve(value));
        return (error) => {
          host.cancel(id);
          reject(error);
        };
      });
    },

    timeout(ms, work) {
      checkMs('aio.timeout', ms);
      checkWork('aio.timeout', work);
      return waiting((resolve, reject) => {
        let promise;
        let result;
        // The time runs from here, also while the first part of the work keeps the thread.
        const id = host.timer(ms, () => {
          forget(result);
          reject(new TimeoutError(ms));
          giveUp(promise, () => new CancelledError(`aio.timeout: given up after ${ms} ms`), true);
        });
        const done = (settle) => (value) => {
          host.cancel(id);
          settle(value);
        };
        promise = begin('aio.timeout', work, []);
        result = observe(promise, done(resolve), done(reject));
        return (error) => {
          host.cancel(id);
          forget(result);
          reject(error);
          giveUp(promise, () => error, true);
        };
      });
    },
  };
})
