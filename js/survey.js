// What the intrinsics of a realm are: every object that is there before the first script ran, as a graph that can be
// compared between two realms. It knows nothing of freezing.
//
// The value of this file is a function that takes the names of properties which V8 fills in lazily (reading one would
// create what is behind it), and returns { roots, walk, graph, extended }.
(function survey(lazy) {
  'use strict';
  const { getOwnPropertyDescriptor, getOwnPropertyNames, getOwnPropertySymbols, getPrototypeOf } = Object;
  const { ownKeys } = Reflect;

  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  const isLazy = (key) => typeof key === 'string' && lazy.includes(key);

  // The global object, and one example of everything that only syntax or a call leads to. The examples are throw-away
  // objects: what counts is their prototypes, and the accessors that all of their kind share.
  function roots() {
    const error = new Error();
    const examples = [
      async function () {},
      function* () {},
      async function* () {},
      [][Symbol.iterator](),
      new Map()[Symbol.iterator](),
      new Set()[Symbol.iterator](),
      ''[Symbol.iterator](),
      ''.matchAll(/a/g),
      [].values().map((x) => x),
      Iterator.from({ next() {} }),
      new Uint8Array(0),
    ];
    if (typeof Intl === 'object') {
      const segments = new Intl.Segmenter().segment('');
      examples.push(segments, segments[Symbol.iterator]());
    }
    const found = [globalThis];
    for (const example of examples) found.push(getPrototypeOf(example));
    const accessors = [
      getOwnPropertyDescriptor(error, 'stack'),
      getOwnPropertyDescriptor((function () { return arguments; })(), 'callee'),
    ];
    for (const shared of accessors) {
      if (shared?.get) found.push(shared.get);
      if (shared?.set) found.push(shared.set);
    }
    return found;
  }

  // Calls edge(object, kind, key) for the prototype and for what every own property of `object` holds. Runs no accessor.
  function edges(object, edge) {
    const prototype = getPrototypeOf(object);
    if (prototype !== null) edge(prototype, 'prototype', '');
    for (const key of ownKeys(object)) {
      if (isLazy(key)) continue;
      const { value, get, set } = getOwnPropertyDescriptor(object, key);
      if (isObject(value)) edge(value, 'value', key);
      if (get !== undefined) edge(get, 'get', key);
      if (set !== undefined) edge(set, 'set', key);
    }
  }
  const label = (kind, key) => (kind === 'prototype' ? kind : `${kind} ${String(key)}`);

  // Every object that can be reached from `starts`, once each, except what `seen` holds already. This runs whenever a
  // sealed context is made, and always cold: plain loops, and not Reflect.ownKeys,
  // which V8 is slow at.
  function walk(starts, seen) {
    const queue = [];
    const add = (object) => {
      if (seen.has(object)) return;
      seen.add(object);
      queue.push(object);
    };
    const visit = ({ value, get, set }) => {
      if (value !== undefined) {
        if (isObject(value)) add(value);
        return;
      }
      if (get !== undefined) add(get);
      if (set !== undefined) add(set);
    };
    for (let at = 0; at < starts.length; at++) add(starts[at]);
    for (let next = 0; next < queue.length; next++) {
      const object = queue[next];
      const prototype = getPrototypeOf(object);
      if (prototype !== null) add(prototype);
      const names = getOwnPropertyNames(object);
      for (let at = 0; at < names.length; at++) {
        if (!isLazy(names[at])) visit(getOwnPropertyDescriptor(object, names[at]));
      }
      const symbols = getOwnPropertySymbols(object);
      for (let at = 0; at < symbols.length; at++) visit(getOwnPropertyDescriptor(object, symbols[at]));
    }
    return queue;
  }

  // The same as text: per object the names of its own keys, and where each edge leads.
  function graph() {
    const queue = walk(roots(), new Set());
    const numbers = new Map(queue.map((object, number) => [object, number]));
    const nodes = queue.map((object) => {
      const leads = {};
      edges(object, (target, kind, key) => { leads[label(kind, key)] = numbers.get(target); });
      return { keys: ownKeys(object).map(String), leads };
    });
    return JSON.stringify({ roots: roots().map((root) => numbers.get(root)), nodes });
  }

  // The objects of this realm that have more keys in the other one, of which `text` is the graph: a list of
  // { object, path, keys }, where `keys` are the names that are missing here.
  function extended(text) {
    const other = JSON.parse(text);
    const seen = new Set();
    const queue = [];
    const found = [];
    const add = (object, number, path) => {
      if (number === undefined || seen.has(object)) return;
      seen.add(object);
      queue.push({ object, number, path });
    };
    roots().forEach((root, at) => add(root, other.roots[at], at === 0 ? 'globalThis' : `root ${at}`));
    for (let next = 0; next < queue.length; next++) {
      const { object, number, path } = queue[next];
      const node = other.nodes[number];
      const here = new Set(ownKeys(object).map(String));
      const keys = node.keys.filter((key) => !here.has(key));
      if (keys.length > 0) found.push({ object, path, keys });
      edges(object, (target, kind, key) => add(target, node.leads[label(kind, key)], `${path} ${label(kind, key)}`));
    }
    return found;
  }

  return { roots, walk, graph, extended, isObject };
})
