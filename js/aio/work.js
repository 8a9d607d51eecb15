// Promises that are observed without leaking, promises that can be given up, and callbacks of the user that are run.
//
// The value of this file is a function that takes the base. What it returns:
//   observe, forget  watch the end of a promise; the watch can be taken back,
//   waiting, giveUp  make a promise of this library; take back the wait behind it,
//   perform, begin   run a function of the user to its end, be it plain, async or a generator function,
//   adopt, ignore    make a promise of any value; have its rejection not reported,
//   checkWork        refuses what is neither a promise nor a function.
// Invariant: `ok` and `fail` of an observer are called at most once, never after `forget`, and do not throw.
(function makeWork(base) {
  'use strict';
  const { isObject, show, host, makeList, append, remove, first } = base;
  const { freeze, getPrototypeOf } = Object;
  const { apply } = Reflect;
  const PromiseHere = Promise;
  const TypeErrorHere = TypeError;
  const promises = Promise.prototype;
  const { then } = promises;
  const isPrototypeOf = Object.prototype.isPrototypeOf;
  const weakGet = WeakMap.prototype.get;
  const weakSet = WeakMap.prototype.set;
  const WeakMapHere = WeakMap;
  const generators = getPrototypeOf(function* () {}).prototype;
  const asyncGenerators = getPrototypeOf(async function* () {}).prototype;
  const generatorNext = generators.next;
  const generatorThrow = generators.throw;
  const nothing = () => {};
  class Self extends null {
    constructor(object) {
      return object;
    }
  }
  freeze(Self);

  // Whether a value is of a kind of the engine, by its prototypes. A proxy of a script that throws when asked is of none.
  function is(kind, value) {
    if (!isObject(value)) return false;
    try {
      return apply(isPrototypeOf, kind, [value]);
    } catch {
      return false;
    }
  }
  const isPromise = (value) => is(promises, value);

  // The value as a promise; one that is one stays the same.
  const adopt = (value) => (isPromise(value) ? value : new PromiseHere((resolve) => resolve(value)));

  // A reaction of the engine. Where a script has broken `constructor` of its promise, that is its failure, told at once.
  function react(promise, ok, fail) {
    try {
      apply(then, promise, [ok, fail]);
    } catch (error) {
      fail(error);
    }
  }
  const ignore = (promise) => react(promise, nothing, nothing);

  // Notes about promises, which nobody else sees, and which end with the promise. They are private fields that are added to the
  // promise itself: a WeakMap does the same, but costs the collector some thirty times as much. It serves for frozen promises,
  // where the engine lets them have no more fields.
  function makeNotes() {
    const rest = new WeakMapHere();
    class Note extends Self {
      #note;
      // The constructor that a class has by default would iterate its arguments.
      constructor(promise) {
        super(promise);
      }
      static get(promise) {
        return #note in promise ? promise.#note : apply(weakGet, rest, [promise]);
      }
      static set(promise, note) {
        if (#note in promise) {
          promise.#note = note;
          return;
        }
        try {
          new Note(promise).#note = note;
        } catch {
          apply(weakSet, rest, [promise, note]);
        }
      }
    }
    return freeze(Note);
  }

  // A reaction cannot be taken back, so that each wait for a promise that lives long would stay with it for ever. Hence one
  // reaction per promise, and a list of those who wait now. A record serves the task that made it: the reactions of a task
  // that was torn down never run.
  const records = makeNotes();
  function settle(record, kind, value) {
    record.settled = true;
    for (let observer = first(record.observers); observer !== undefined; observer = first(record.observers)) {
      remove(observer);
      observer.live = false;
      observer[kind](value);
    }
  }
  function observe(promise, ok, fail) {
    const task = host.task();
    const observer = { ok, fail, live: true, next: undefined, previous: undefined };
    let record = records.get(promise);
    if (record !== undefined && record.task === task && record.settled) {
      const late = (kind) => (value) => {
        if (!observer.live) return;
        observer.live = false;
        observer[kind](value);
      };
      react(promise, late('ok'), late('fail'));
      return observer;
    }
    const fresh = record === undefined || record.task !== task;
    if (fresh) {
      record = { task, settled: false, observers: makeList() };
      records.set(promise, record);
    }
    append(record.observers, observer);
    if (fresh) {
      const made = record;
      react(promise, (value) => settle(made, 'ok', value), (error) => settle(made, 'fail', error));
    }
    return observer;
  }
  function forget(observer) {
    observer.live = false;
    remove(observer);
  }

  // A promise of this library. `start(resolve, reject)` returns how to give it up: undo(error, discarded) takes back the wait
  // and rejects the promise with the error if it is pending. If it is fulfilled and `discarded`, nobody will see its value, and
  // what it holds (a permit, a value of a queue) goes back.
  const undoes = makeNotes();
  function waiting(start) {
    let undo;
    const promise = new PromiseHere((resolve, reject) => {
      undo = start(resolve, reject);
    });
    if (undo !== undefined) undoes.set(promise, undo);
    return promise;
  }
  // A promise that was given up is not reported as unhandled. Promises of others go on, and get no reaction by this: it would stay.
  // `why` returns the error, which is made only where it is needed.
  function giveUp(promise, why, discarded) {
    const undo = undoes.get(promise);
    if (undo === undefined) {
      // What `sleep` gives is the host's, and has no note here.
      const id = isPromise(promise) ? host.sleeping(promise) : 0;
      if (id === 0) return;
      ignore(promise);
      host.reject(id, why());
      return;
    }
    ignore(promise);
    undo(why(), discarded);
  }

  const unwatched = { inside: false };

  // Calls work(...args), drives it if it is a generator, and tells its end. While its own code runs, `watch.inside` is true.
  // Returns undo(error, discarded), which gives up what it waits for at that moment, as far as that is known.
  function perform(where, work, args, ok, fail, watch = unwatched) {
    let pending;
    let returned = false;
    const wait = (promise, onValue, onError) => {
      pending = promise;
      observe(promise, onValue, onError);
    };
    const run = (method, self, list) => {
      watch.inside = true;
      try {
        return apply(method, self, list);
      } finally {
        watch.inside = false;
      }
    };
    const finish = (value) => {
      if (!isObject(value)) return ok(value);
      returned = true;
      wait(adopt(value), ok, fail);
    };
    const drive = (generator, method, argument) => {
      for (;;) {
        let done;
        let value;
        try {
          ({ done, value } = run(method, generator, [argument]));
        } catch (error) {
          return fail(error);
        }
        if (done) return finish(value);
        if (isPromise(value)) {
          return wait(
            value,
            (result) => drive(generator, generatorNext, result),
            (error) => drive(generator, generatorThrow, error),
          );
        }
        method = generatorThrow;
        argument = new TypeErrorHere(
          `${where}: the generator yielded ${show(value)}, which is no promise: yield a promise, or use yield* to run another generator`,
        );
      }
    };
    let result;
    try {
      result = run(work, undefined, args);
      if (is(asyncGenerators, result)) {
        throw new TypeErrorHere(`${where}: an async generator function cannot be run here: use an async function or a generator function`);
      }
    } catch (error) {
      fail(error);
      return nothing;
    }
    if (is(generators, result)) drive(result, generatorNext, undefined);
    else finish(result);
    return (error, discarded) => {
      if (pending !== undefined) giveUp(pending, () => error, returned && discarded);
    };
  }

  function checkWork(where, work) {
    if (typeof work === 'function' || isPromise(work) || (isObject(work) && typeof work.then === 'function')) return;
    throw new TypeErrorHere(`${where}: work must be a promise or a function, not ${show(work)}`);
  }

  // The work as a promise: a function is called.
  function begin(where, work, args) {
    if (typeof work !== 'function') return adopt(work);
    return waiting((resolve, reject) => {
      const undo = perform(where, work, args, resolve, reject);
      return (error, discarded) => {
        reject(error);
        undo(error, discarded);
      };
    });
  }

  return { adopt, ignore, observe, forget, waiting, giveUp, perform, checkWork, begin };
})
