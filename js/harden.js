// Freezes the intrinsics of a realm, and keeps those plain assignments working that a frozen prototype would make fail.
//
// The value of this file is a function that takes the survey, and the text of the graph of a realm that was made outside
// of the snapshot creator. It prepares the realm it runs in and returns
//   shadowable  makes a property of a prototype one that assignment on what inherits from it may shadow,
//   known    the set of all intrinsics, where a walk over the objects of a script may stop,
//   late     finds a feature that V8 adds when a context is made,
//   freeze   the last step inside the snapshot creator,
//   finish   the last step in each context that is made from the snapshot.
(function harden(survey, outside) {
  'use strict';
  const { create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object;
  const { apply, ownKeys } = Reflect;
  const { walk, roots, extended, isObject } = survey;
  const known = new WeakSet();

  // A property of a prototype that may be shadowed by assignment on what inherits from it: a constant to those who read
  // it, an accessor underneath. An assignment to the prototype itself fails, as with any frozen object.
  function shadowable(prototype, key) {
    const descriptor = getOwnPropertyDescriptor(prototype, key);
    if (descriptor === undefined || !('value' in descriptor) || !descriptor.configurable) return;
    const { value, enumerable } = descriptor;
    const { get, set } = {
      get() { return value; },
      set(own) {
        if (this === prototype) throw new TypeError(`Cannot assign to read only property '${key}' of a frozen prototype`);
        if (!isObject(this)) throw new TypeError(`Cannot create property '${key}' on a primitive value`);
        if (getOwnPropertyDescriptor(this, key) !== undefined) {
          defineProperty(this, key, { value: own });
        } else {
          defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
        }
      },
    };
    defineProperty(prototype, key, { get, set, enumerable, configurable: false });
  }
  const names = (object, except = []) => ownKeys(object).filter((key) => typeof key === 'string' && !except.includes(key));
  const accessors = (object) => {
    const found = [];
    for (const key of ownKeys(object)) {
      const { get, set } = getOwnPropertyDescriptor(object, key);
      if (get !== undefined) found.push(get);
      if (set !== undefined) found.push(set);
    }
    return found;
  };
  const isErrorPrototype = (object) => object === Error.prototype || getPrototypeOf(object) === Error.prototype;

  // Which properties those are. Not among them are the names that V8 watches in order to keep its fast paths (the `next`
  // and `Symbol.iterator` of its iterators, `then`, the `constructor` of arrays, promises, typed arrays and regular
  // expressions, the methods of RegExp.prototype), nor those of the primitives: as accessors they would slow down the
  // scripts of the whole process. They are plain read-only data, as is everything that is not named here: to shadow one
  // takes a class member, an object literal, or Object.defineProperty.
  function shadow() {
    const iterator = Iterator.prototype;
    const generator = getPrototypeOf(function* () {}).prototype;
    const asyncGenerator = getPrototypeOf(async function* () {}).prototype;
    const helper = getPrototypeOf([].values().map((x) => x));
    const wrapper = getPrototypeOf(Iterator.from({ next() {} }));
    const plan = [
      [Object.prototype, names(Object.prototype)],
      [Function.prototype, ['constructor', 'toString', 'call', 'apply', 'bind']],
      [Array.prototype, names(Array.prototype, ['constructor', 'length'])],
      [Promise.prototype, ['catch', 'finally']],
      [RegExp.prototype, ['toString']],
      [getPrototypeOf(Uint8Array).prototype, ['toString', 'toLocaleString']],
      [Date.prototype, ['constructor', 'toString', 'valueOf', 'toJSON', 'toISOString', 'toLocaleString']],
    ];
    for (const prototype of [iterator, generator, asyncGenerator, helper, wrapper]) plan.push([prototype, names(prototype)]);
    for (const { prototype } of [Map, Set, WeakMap, WeakSet, WeakRef, ArrayBuffer, DataView]) {
      plan.push([prototype, ['constructor']]);
    }
    for (const [prototype, keys] of plan) for (const key of keys) shadowable(prototype, key);
  }

  // What a run could leave behind for the next one in the realm itself, and what could run in a later run.
  function forget() {
    for (const key of ownKeys(RegExp)) {
      if (!['length', 'name', 'prototype'].includes(key) && key !== Symbol.species && key !== 'escape') delete RegExp[key];
    }
    const { compile } = {
      compile() {
        throw new TypeError('RegExp.prototype.compile changes a regular expression in place, which a sealed context does not allow: make a new RegExp');
      },
    };
    defineProperty(RegExp.prototype, 'compile', { value: compile });
    defineProperty(Error, 'prepareStackTrace', { value: undefined, writable: false, enumerable: false, configurable: false });
    delete globalThis.FinalizationRegistry;
  }

  // `Temporal` has some three hundred objects, and most scripts do not use it: it is made and hardened at its first use.
  // `makeTemporal` comes from the host, and returns [Temporal, Date.prototype.toTemporalInstant] of this realm.
  let makeTemporal;
  let made;
  function temporal() {
    if (made === undefined) {
      const pair = makeTemporal();
      hardenMore(pair);
      made = pair;
    }
    return made;
  }
  const { get: getTemporal } = { get() { return temporal()[0]; } };
  const { toTemporalInstant } = { toTemporalInstant() { return apply(temporal()[1], this, []); } };

  // Puts these in the place of V8's own lazy properties. To redefine one would read it, so it is deleted first.
  function makeTemporalLazy() {
    if (!hasOwn(globalThis, 'Temporal')) return;
    delete globalThis.Temporal;
    defineProperty(globalThis, 'Temporal', { get: getTemporal, set: undefined, enumerable: false, configurable: false });
    const prototype = Date.prototype;
    if (!hasOwn(prototype, 'toTemporalInstant')) return;
    delete prototype.toTemporalInstant;
    defineProperty(prototype, 'toTemporalInstant', { value: toTemporalInstant, writable: false, enumerable: false, configurable: false });
  }

  // Other features that V8 adds late and that nothing but their name on the global object leads to: they are there, and are
  // hardened when that name is first read. (With a shared memory, WebAssembly leads to SharedArrayBuffer, which is not in
  // this list, as a host may make one as well.)
  const lazyNames = ['WebAssembly', 'DisposableStack', 'AsyncDisposableStack'];
  const lazyValues = [];
  const lazyGetters = lazyNames.map((_, at) => {
    const { get } = {
      get() {
        const value = lazyValues[at];
        if (!known.has(value)) hardenMore([value]);
        return value;
      },
    };
    return get;
  });
  function makeOthersLazy() {
    for (let at = 0; at < lazyNames.length; at++) {
      const { value, configurable } = getOwnPropertyDescriptor(globalThis, lazyNames[at]) ?? {};
      if (value === undefined || !configurable) continue;
      lazyValues[at] = value;
      defineProperty(globalThis, lazyNames[at], { get: lazyGetters[at], set: undefined, enumerable: false, configurable: false });
    }
  }

  // Freezes what was added to the realm later, and all that only that leads to.
  function hardenMore(starts) {
    const found = walk(starts, known);
    const errors = found.filter(isErrorPrototype);
    for (const object of errors) for (const key of names(object)) shadowable(object, key);
    for (const object of found) freeze(object);
    for (const object of errors) for (const part of walk(accessors(object), known)) freeze(part);
  }

  forget();
  shadow();
  const before = walk(roots(), new Set());
  for (const object of before) if (isErrorPrototype(object)) for (const key of names(object)) shadowable(object, key);
  const all = walk([...roots(), getTemporal, toTemporalInstant, ...lazyGetters], new Set());
  for (const object of all) known.add(object);

  // V8 adds its newest features to these objects when a context is made from the snapshot, and ends the process when one
  // of them cannot be extended.
  const late = extended(outside).map(({ object }) => object);
  late.includes(globalThis) || late.push(globalThis);
  const keysOf = late.map((object) => new Set(ownKeys(object)));

  // Redefining properties left some prototypes as hash tables. A lookup through one lets V8 turn it back into its fast form,
  // here once instead of in every context.
  function makeFast() {
    const lookUp = (object) => object.constructor;
    for (const object of all) if (typeof object === 'object') lookUp(create(object));
  }

  return {
    known,
    shadowable,
    // The late feature of this name, when a script can have seen it.
    late(name) {
      const at = lazyNames.indexOf(name);
      const value = at < 0 ? getOwnPropertyDescriptor(globalThis, name)?.value : lazyValues[at];
      return isObject(value) && known.has(value) ? value : undefined;
    },
    freeze() {
      for (const object of all) if (!late.includes(object)) freeze(object);
      makeFast();
    },
    finish(make) {
      makeTemporal = make;
      makeTemporalLazy();
      makeOthersLazy();
      const starts = [];
      late.forEach((object, at) => {
        for (const key of ownKeys(object)) {
          if (keysOf[at].has(key)) continue;
          const { value, get, set } = getOwnPropertyDescriptor(object, key);
          for (const part of [value, get, set]) if (isObject(part)) starts.push(part);
        }
      });
      hardenMore(starts);
      for (const object of late) if (object !== globalThis) freeze(object);
    },
  };
})
