// Deep-freezes the objects of a script, or refuses them where freezing cannot close them.
//
// The value of this file is a function that takes the survey, the set of known intrinsics, what finds late features, and
// (in a sealed realm) what keeps properties of prototypes assignable on instances. It returns { harden, seal }. Both return undefined, or [path, what] of the first object that is refused. Everything they call was taken out of the
// realm before a script ran: in an open realm a script may have replaced it since.
(function sealing(survey, known, late, shadowable, mutable) {
  'use strict';
  const { freeze, isFrozen, getOwnPropertyDescriptor, getOwnPropertyNames, getOwnPropertySymbols, getPrototypeOf } = Object;
  const { apply, ownKeys } = Reflect;
  const { isObject } = survey;
  const isKnown = WeakSet.prototype.has;
  const setHas = Set.prototype.has;
  const setAdd = Set.prototype.add;
  const mapGet = Map.prototype.get;
  const test = RegExp.prototype.test;
  const isGlobal = getOwnPropertyDescriptor(RegExp.prototype, 'global').get;
  const isSticky = getOwnPropertyDescriptor(RegExp.prototype, 'sticky').get;
  const SetHere = Set;
  const text = String;
  const ObjectPrototype = Object.prototype;
  const ArrayPrototype = Array.prototype;

  // Objects with a hidden position or a hidden reference, known by their prototypes.
  const refused = new Map([
    [WeakRef.prototype, 'a WeakRef'],
    [getPrototypeOf([].values()), 'an iterator'],
    [getPrototypeOf(''[Symbol.iterator]()), 'an iterator'],
    [getPrototypeOf(''.matchAll(/a/g)), 'an iterator'],
    [getPrototypeOf([].values().map((x) => x)), 'an iterator'],
    [getPrototypeOf(Iterator.from({ next() {} })), 'an iterator'],
    ...mutable,
  ]);
  if (typeof FinalizationRegistry === 'function') refused.set(FinalizationRegistry.prototype, 'a FinalizationRegistry');
  if (typeof Intl === 'object') {
    refused.set(getPrototypeOf(new Intl.Segmenter().segment('')[Symbol.iterator]()), 'an iterator');
  }
  // Features that V8 adds after the snapshot was loaded.
  function addLate() {
    const names = [['DisposableStack', 'a DisposableStack'], ['AsyncDisposableStack', 'an AsyncDisposableStack']];
    for (const [name, what] of names) {
      const value = late(name);
      if (value !== undefined) refused.set(value.prototype, what);
    }
    const wasm = late('WebAssembly');
    if (wasm === undefined) return;
    for (const name of ['Memory', 'Table', 'Global', 'Instance']) refused.set(wasm[name].prototype, `a WebAssembly.${name}`);
  }

  // Whether that is the prototype of a class or function of the script. Instances may be made of it at any time, and assignment
  // to what they inherit has to go on working.
  function isPrototype(object) {
    const constructor = getOwnPropertyDescriptor(object, 'constructor')?.value;
    return typeof constructor === 'function' && getOwnPropertyDescriptor(constructor, 'prototype')?.value === object;
  }

  // An object that was frozen by somebody else may hold what is not frozen, so only those met twice are remembered: what
  // this walk freezes itself is frozen when it comes by again, and then costs one more visit.
  function harden(kind, names, values) {
    const objects = [];
    const parents = [];
    const labels = [];
    let count = 0;
    let frozenBefore;
    const push = (object, parent, label) => {
      if (apply(isKnown, known, [object])) return;
      objects[count] = object;
      parents[count] = parent;
      labels[count] = label;
      count += 1;
    };
    const visit = (object, at, keys) => {
      for (let next = 0; next < keys.length; next++) {
        const key = keys[next];
        const descriptor = getOwnPropertyDescriptor(object, key);
        const value = descriptor.value;
        if (typeof value === 'object' ? value !== null : typeof value === 'function') {
          push(value, at, key);
        } else if (value === undefined) {
          if (descriptor.get !== undefined) push(descriptor.get, at, key);
          if (descriptor.set !== undefined) push(descriptor.set, at, key);
        }
      }
    };
    const refuse = (at, what) => {
      let path = '';
      for (; at >= 0; at = parents[at]) {
        const label = labels[at];
        if (typeof label === 'symbol') path = `[${text(label)}]${path}`;
        else if (parents[at] < 0 || label === '(prototype)') path = (parents[at] < 0 ? '' : '.') + label + path;
        else if (apply(test, /^(?:0|[1-9][0-9]*)$/, [label])) path = `[${label}]${path}`;
        else path = `.${label}${path}`;
      }
      return [path, what];
    };
    for (let at = 0; at < values.length; at++) if (isObject(values[at])) push(values[at], -1, names[at]);

    for (let at = 0; at < count; at++) {
      const object = objects[at];
      const inside = kind(object);
      if (inside !== undefined) {
        if (typeof inside === 'string') return refuse(at, inside);
        if (inside !== 1) {
          if (isObject(inside[0])) push(inside[0], at, '(result)');
        } else if (apply(isGlobal, object, []) || apply(isSticky, object, [])) {
          return refuse(at, 'a RegExp with the flag g or y');
        }
      }
      const prototype = getPrototypeOf(object);
      if (prototype !== null && prototype !== ObjectPrototype && prototype !== ArrayPrototype) {
        const what = apply(mapGet, refused, [prototype]);
        if (what !== undefined) return refuse(at, what);
        push(prototype, at, '(prototype)');
      }
      if (isFrozen(object)) {
        frozenBefore ??= new SetHere();
        if (apply(setHas, frozenBefore, [object])) continue;
        apply(setAdd, frozenBefore, [object]);
      } else {
        // What the properties of a prototype hold is visited before they turn into accessors.
        if (shadowable !== undefined && isPrototype(object)) {
          const keys = getOwnPropertyNames(object);
          visit(object, at, keys);
          for (let next = 0; next < keys.length; next++) shadowable(object, keys[next]);
        }
        try {
          freeze(object);
        } catch {
          return refuse(at, 'an object that cannot be frozen');
        }
      }
      // Two lists, as V8 makes them ten times faster than the one of Reflect.ownKeys.
      visit(object, at, getOwnPropertyNames(object));
      const symbols = getOwnPropertySymbols(object);
      if (symbols.length > 0) visit(object, at, symbols);
    }
    return undefined;
  }

  // The bindings, what the script put on the global object, and the global object itself.
  function seal(kind, names, values) {
    addLate();
    const global = globalThis;
    const keys = ownKeys(global);
    for (let at = 0; at < keys.length; at++) {
      const { value, get, set } = getOwnPropertyDescriptor(global, keys[at]);
      for (const part of [value, get, set]) {
        if (!isObject(part) || apply(isKnown, known, [part])) continue;
        names[names.length] = keys[at];
        values[values.length] = part;
      }
    }
    const prototype = getPrototypeOf(global);
    if (prototype !== null) {
      names[names.length] = 'globalThis.(prototype)';
      values[values.length] = prototype;
    }
    const answer = harden(kind, names, values);
    if (answer === undefined) freeze(global);
    return answer;
  }

  return { harden, seal };
})
