// Puts the parts together inside the snapshot creator. The value of this file is a function that takes the parts, and
// returns what the host keeps for each context: a flat list of functions, in the order that `realm.rs` knows.
(function prelude(sealed, outside, lazy, makeSurvey, makeHarden, makeSealing, makeAio, aioParts, makeIo) {
  'use strict';
  const { construct } = Reflect;
  const { defineProperty, getOwnPropertyDescriptor } = Object;

  // V8 counts the memory of a growable SharedArrayBuffer nowhere, and no allocator sees it: a script could fill the machine with them.
  // Nothing can be shared here, since an isolate has one thread, so that one of a fixed size serves as well. V8 adds the class
  // when a context is made, so that this runs then.
  function limitShared() {
    const Native = globalThis.SharedArrayBuffer;
    if (Native === undefined) return;
    function Shared(length, options) {
      if (new.target === undefined) throw new TypeError("Constructor SharedArrayBuffer requires 'new'");
      if (typeof options === 'object' && options !== null && options.maxByteLength !== undefined) {
        throw new RangeError('a growable SharedArrayBuffer is refused, since its memory cannot be limited: make one of a fixed size');
      }
      return construct(Native, [length], new.target === Shared ? Native : new.target);
    }
    for (const key of ['name', 'length', 'prototype', Symbol.species]) {
      defineProperty(Shared, key, getOwnPropertyDescriptor(Native, key));
    }
    defineProperty(Native.prototype, 'constructor', { value: Shared });
    defineProperty(globalThis, 'SharedArrayBuffer', { value: Shared });
  }

  // The library for waiting. The host gives its one function when a context is made.
  const { aio, install, mutable: mutableOfAio } = makeAio(aioParts);
  let native;
  install({
    timer: (ms, callback) => native(0, ms, callback),
    join: (task, callback) => native(1, task, callback),
    wake: (id) => native(2, id),
    cancel: (id) => native(3, id),
    task: () => native(4),
    alive: (task) => native(5, task),
    sleep: (ms) => native(7, ms),
    sleeping: (promise) => native(8, promise),
    reject: (id, error) => native(9, id, error),
    harden: (value) => (sealed ? native(6, value) : value),
  });
  // Files and sockets, where the crate was built with them.
  const io = makeIo?.();
  io?.install((service, first, second) => native(32 + service, first, second));
  const connect = (call) => {
    native = call;
  };
  // Part of the intrinsics from here on. Configurable, so that a script may have a name of its own for it.
  defineProperty(globalThis, 'aio', { value: aio, writable: true, configurable: true, enumerable: false });
  if (io !== undefined) {
    defineProperty(globalThis, 'io', { value: io.io, writable: true, configurable: true, enumerable: false });
  }

  const survey = makeSurvey(lazy);
  const mutable = io === undefined ? mutableOfAio : [...mutableOfAio, ...io.mutable];
  if (!sealed) {
    const known = new WeakSet(survey.walk(survey.roots(), new Set()));
    const { harden, seal } = makeSealing(survey, known, () => undefined, undefined, mutable);
    return [harden, seal, limitShared, connect];
  }
  const { known, late, freeze, finish, shadowable } = makeHarden(survey, outside);
  const { harden, seal } = makeSealing(survey, known, late, shadowable, mutable);
  const finishAll = (makeTemporal) => {
    limitShared();
    finish(makeTemporal);
  };
  return [harden, seal, finishAll, connect, freeze];
})
