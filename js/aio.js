// The library for waiting of scripts: puts its parts together, and freezes the result.
//
// The value of this file is a function that takes the values of the files in `aio/`, as an object under their names, and
// returns
//   aio      the object that scripts see, frozen with everything of this library that it leads to,
//   install  what the host calls with its functions when a context is made, once,
//   mutable  [[prototype, what]..]: the objects that sealing refuses at the top level of a script.
// It runs inside the snapshot creator and calls nothing of the host. All intrinsics are taken out of the realm here, before a
// script runs, and later code of the parts goes through no property that a script could have replaced: no method of an
// intrinsic by its name, no iteration of an array, no assignment to an element that is not there yet.
(function makeAio(parts) {
  'use strict';
  const { freeze, getOwnPropertyDescriptor, getOwnPropertySymbols, getOwnPropertyNames } = Object;
  const base = parts.base();
  const work = parts.work(base);
  const timers = parts.timers(base, work);
  const combine = parts.combine(base, work);
  const { semaphore, Semaphore } = parts.semaphore(base, work);
  const { queue, Queue } = parts.queue(base, work);
  const { scope, Scope } = parts.scope(base, work, timers);
  const { once } = parts.once(base, work);
  const callbacks = parts.callbacks(base, work);

  const aio = {
    ...timers,
    ...combine,
    semaphore,
    queue,
    once,
    ...callbacks,
    scope,
    ...base.errors,
    [Symbol.toStringTag]: 'aio',
  };

  // Prototypes of what is ours are own properties of its classes; what our classes inherit from is the realm's.
  function freezeAll(start) {
    const found = new Set(start);
    for (const object of found) {
      for (const key of [...getOwnPropertyNames(object), ...getOwnPropertySymbols(object)]) {
        const { value, get, set } = getOwnPropertyDescriptor(object, key);
        for (const part of [value, get, set]) if (base.isObject(part)) found.add(part);
      }
      freeze(object);
    }
  }
  freezeAll([aio, Semaphore, Queue, Scope]);

  const mutable = [
    [Semaphore.prototype, 'an aio.semaphore'],
    [Queue.prototype, 'an aio.queue'],
    [Scope.prototype, 'a scope of aio'],
  ];
  return { aio, install: base.install, mutable };
})
