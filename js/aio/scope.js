// Cancel scopes: what was begun in a scope ends with it.
//
// The value of this file is a function that takes the base, the work part and the timers. A scope is open, or has `#error`: the error
// that everything in it was given up with. Leaving it cancels it. Invariant: the list of a cancelled scope is empty.
(function makeScope(base, work, timers) {
  'use strict';
  const { host, checkMs, checkFunction, checkHome, errors: { TimeoutError, CancelledError }, makeList, append, remove, first } = base;
  const { ignore, observe, forget, waiting, giveUp, perform, checkWork, begin } = work;
  const { sleep } = timers;
  const PromiseHere = Promise;

  // A rejected promise that is not reported as unhandled, as it tells only that the scope is over.
  function refused(error) {
    const promise = new PromiseHere((resolve, reject) => reject(error));
    ignore(promise);
    return promise;
  }

  // An error of a handler has no caller to go to: it is reported as an unhandled rejection.
  function callHandler(handler, reason) {
    return new PromiseHere((resolve, reject) => {
      perform('scope.onCancel', handler, [reason], resolve, reject);
    });
  }

  let open;
  class Scope {
    #home = host.task();
    #error;
    #parts = makeList();

    static {
      // A body in a scope of its own, which ends with the parent's.
      open = (where, body, parent) => {
        const scope = new Scope();
        let promise;
        // Who ends it from outside has no use for the end of the body: it is not reported as unhandled.
        let unwanted = false;
        const end = (error) => {
          unwanted = true;
          if (promise !== undefined) ignore(promise);
          scope.#end(error);
        };
        promise = waiting((resolve, reject) => {
          const part = { end, next: undefined, previous: undefined };
          if (parent !== undefined) append(parent.#parts, part);
          const leave = (settle) => (value) => {
            remove(part);
            scope.#end(new CancelledError('the scope was left'));
            settle(value);
          };
          perform(where, body, [scope], leave(resolve), leave(reject));
          return end;
        });
        if (unwanted) ignore(promise);
        return promise;
      };
    }

    #end(error) {
      if (this.#error !== undefined) return;
      this.#error = error;
      for (let part = first(this.#parts); part !== undefined; part = first(this.#parts)) {
        remove(part);
        part.end(error);
      }
    }

    #run(where, work) {
      const before = this.#error;
      if (before !== undefined && typeof work === 'function') return refused(before);
      const promise = begin(where, work, [this]);
      const error = this.#error;
      if (error !== undefined) {
        ignore(promise);
        giveUp(promise, () => error, true);
        return refused(error);
      }
      const child = waiting((resolve, reject) => {
        const leave = (settle) => (value) => {
          remove(part);
          settle(value);
        };
        const part = { end: (error) => giveUp(child, () => error, true), next: undefined, previous: undefined };
        append(this.#parts, part);
        const result = observe(promise, leave(resolve), leave(reject));
        return (error) => {
          remove(part);
          forget(result);
          reject(error);
          giveUp(promise, () => error, true);
        };
      });
      return child;
    }

    run(work) {
      checkHome('scope.run', this.#home);
      checkWork('scope.run', work);
      return this.#run('scope.run', work);
    }

    sleep(ms, value) {
      checkHome('scope.sleep', this.#home);
      checkMs('scope.sleep', ms);
      if (this.#error !== undefined) return refused(this.#error);
      return this.#run('scope.sleep', sleep(ms, value));
    }

    scope(body) {
      checkHome('scope.scope', this.#home);
      checkFunction('scope.scope', 'body', body);
      if (this.#error !== undefined) return refused(this.#error);
      return open('scope.scope', body, this);
    }

    cancel(reason) {
      checkHome('scope.cancel', this.#home);
      this.#end(new CancelledError('the scope was cancelled', reason));
    }

    deadline(ms) {
      checkHome('scope.deadline', this.#home);
      checkMs('scope.deadline', ms);
      if (this.#error !== undefined) return;
      const part = { end: () => host.cancel(id), next: undefined, previous: undefined };
      const id = host.timer(ms, () => {
        remove(part);
        this.#end(new CancelledError(`the scope was cancelled at its deadline of ${ms} ms`, new TimeoutError(ms)));
      });
      append(this.#parts, part);
    }

    onCancel(handler) {
      checkHome('scope.onCancel', this.#home);
      checkFunction('scope.onCancel', 'handler', handler);
      const part = { end: (error) => callHandler(handler, error.reason), next: undefined, previous: undefined };
      if (this.#error === undefined) append(this.#parts, part);
      else part.end(this.#error);
      return () => {
        remove(part);
      };
    }

    get cancelled() {
      return this.#error !== undefined;
    }

    get reason() {
      return this.#error?.reason;
    }
  }

  return {
    Scope,
    scope(body) {
      checkFunction('aio.scope', 'body', body);
      return open('aio.scope', body, undefined);
    },
  };
})
