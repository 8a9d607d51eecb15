// Freezes the intrinsics of a realm, and keeps plain assignments working that a frozen prototype would make fail.
//
// The value of this file is a function that takes the survey and the text of the graph of a realm that was made outside
// of the snapshot creator. It hardens the realm it runs in, and returns { known, finish }: the set of all hardened
// objects, and what has to be called once in every context made from the snapshot.
(function harden(survey, outside) {
  'use strict';
  const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { apply, ownKeys } = Reflect;
  const { walk, roots, extended } = survey;
  const weakHas = WeakSet.prototype.has;
  const weakAdd = WeakSet.prototype.add;
  const setHas = Set.prototype.has;
  const DateCopy = Date;

  // A property of a prototype that may be shadowed by assignment on what inherits from it: an accessor to the outside,
  // a constant value to those who read it. Assigning to the prototype itself fails, as with any frozen object.
  function shadowable(prototype, key) {
    const descriptor = getOwnPropertyDescriptor(prototype, key);
    if (descriptor === undefined || !('value' in descriptor) || !descriptor.configurable) return;
    const { value, enumerable } = descriptor;
    const accessors = {
      get() { return value; },
      set(own) {
        if (this === prototype) throw new TypeError(`Cannot assign to read only property '${key}' of a built-in prototype`);
        if ((typeof this !== 'object' && typeof this !== 'function') || this === null) {
          throw new TypeError(`Cannot create property '${key}' on a primitive value`);
        }
        if (getOwnPropertyDescriptor(this, key) !== undefined) {
          defineProperty(this, key, { value: own });
        } else {
          defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
        }
      },
    };
    defineProperty(prototype, key, { get: accessors.get, set: accessors.set, enumerable, configurable: false });
  }

  // Which properties those are. Not among them are the names that V8 watches in order to keep its fast paths (iteration,
  // species, `then`, the methods of RegExp.prototype): made accessors they would slow down every script of the process.
  // These, like all other properties not named here, are plain read-only data: to shadow them takes a class member,
  // an object literal or Object.defineProperty.
  const everything = (prototype) => ownKeys(prototype).filter((key) => typeof key === 'string');
  function shadow() {
    const plan = [];
    for (const [prototype, keys] of plan) for (const key of keys) shadowable(prototype, key);
  }
  return { shadowable, everything, roots, walk };
})
