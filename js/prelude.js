// Puts the parts together inside the snapshot creator. The value of this file is a function that takes the parts, and
// returns what the host keeps for each context: a flat list of functions, in the order that `realm.rs` knows.
(function prelude(sealed, outside, lazy, makeSurvey, makeHarden, makeSealing) {
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

  const survey = makeSurvey(lazy);
  if (!sealed) {
    const known = new WeakSet(survey.walk(survey.roots(), new Set()));
    const { harden, seal } = makeSealing(survey, known, () => undefined, undefined);
    return [harden, seal, limitShared];
  }
  const { known, late, freeze, finish, shadowable } = makeHarden(survey, outside);
  const { harden, seal } = makeSealing(survey, known, late, shadowable);
  const finishAll = (makeTemporal) => {
    limitShared();
    finish(makeTemporal);
  };
  return [harden, seal, finishAll, freeze];
})
