// Functions that call back as in Node.js, callback(error, value), turned into promises.
//
// The value of this file is a function that takes the base and the work part.
(function makeCallbacks(base, work) {
  'use strict';
  const { put, checkFunction } = base;
  const { perform } = work;
  const { apply } = Reflect;
  const PromiseHere = Promise;
  const RangeErrorHere = RangeError;

  // Calls call(callback) once. What the function returns counts only where it fails, so that an async step may be used as well.
  function ask(where, step, args, self, ok, fail) {
    let open = true;
    const first = (settle) => (value) => {
      if (!open) return;
      open = false;
      settle(value);
    };
    const answered = first(ok);
    const failed = first(fail);
    put(args, args.length, (error, value) => {
      if (error === undefined || error === null) answered(value);
      else failed(error);
    });
    perform(where, (...given) => apply(step, self, given), args, () => {}, failed);
  }

  return {
    fromCallback(...steps) {
      const where = 'aio.fromCallback';
      const count = steps.length;
      if (count === 0) throw new RangeErrorHere(`${where}: takes at least one function that takes a callback`);
      for (let at = 0; at < count; at++) checkFunction(where, count === 1 ? 'fn' : `step ${at + 1}`, steps[at]);
      return new PromiseHere((resolve, reject) => {
        const step = (at, args) => {
          const next = (value) => (at + 1 < count ? step(at + 1, [value]) : resolve(value));
          ask(where, steps[at], args, undefined, next, reject);
        };
        step(0, []);
      });
    },

    promisify(fn) {
      checkFunction('aio.promisify', 'fn', fn);
      const { promisified } = {
        promisified(...args) {
          return new PromiseHere((resolve, reject) => ask('a function of aio.promisify', fn, args, this, resolve, reject));
        },
      };
      return promisified;
    },
  };
})
