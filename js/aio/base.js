// What all parts of the library for waiting share: the functions of the host, errors, checks of arguments, lists.
//
// The value of this file is a function without parameters. It knows nothing of promises.
(function makeBase() {
  'use strict';
  const { create, defineProperty, keys } = Object;
  const { isArray } = Array;
  const { isInteger } = Number;
  const { iterator } = Symbol;
  const quote = JSON.stringify;
  const text = String;
  const ErrorHere = Error;
  const TypeErrorHere = TypeError;
  const RangeErrorHere = RangeError;
  const longest = 2 ** 31;

  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

  // Sets an own property whatever the prototypes say, in an array also an element. The descriptor is one for all, as a new object
  // without a prototype is slow.
  const slot = { __proto__: null, value: undefined, writable: true, enumerable: true, configurable: true };
  function put(object, key, value) {
    slot.value = value;
    defineProperty(object, key, slot);
    slot.value = undefined;
  }
  // A list for our own use. It has no prototype, so that an assignment to its elements meets no setter.
  const makeRow = () => create(null);

  // The host's functions. `native` is set when a context is made.
  const names = ['timer', 'join', 'wake', 'cancel', 'task', 'alive', 'harden', 'sleep', 'sleeping', 'reject'];
  let native;
  function install(ops) {
    if (native !== undefined) throw new ErrorHere('aio is installed already');
    const found = create(null);
    for (let at = 0; at < names.length; at++) {
      const name = names[at];
      if (typeof ops[name] !== 'function') throw new TypeErrorHere(`the host gave aio no function ${name}`);
      found[name] = ops[name];
    }
    native = found;
  }
  function ops() {
    if (native === undefined) throw new ErrorHere('aio has no host: its functions work in a context of the engine only');
    return native;
  }
  const host = {
    __proto__: null,
    timer: (ms, callback) => ops().timer(ms, callback),
    join: (task, callback) => ops().join(task, callback),
    wake: (id) => ops().wake(id),
    cancel: (id) => ops().cancel(id),
    task: () => ops().task(),
    alive: (task) => ops().alive(task),
    harden: (value) => ops().harden(value),
    sleep: (ms) => ops().sleep(ms),
    sleeping: (promise) => ops().sleeping(promise),
    reject: (id, error) => ops().reject(id, error),
  };

  // The name is on the prototype for the first line of the stack, and on the instance so that a class that extends it may
  // assign another one although the prototype is frozen.
  function named(error, name) {
    defineProperty(error, 'name', { __proto__: null, value: name, writable: true, enumerable: false, configurable: true });
  }
  class TimeoutError extends ErrorHere {
    constructor(ms) {
      super(`not done within ${typeof ms === 'number' ? ms : show(ms)} ms`);
      named(this, 'TimeoutError');
      put(this, 'ms', ms);
    }
  }
  class CancelledError extends ErrorHere {
    constructor(message = 'cancelled', reason = undefined) {
      super(typeof message === 'string' ? message : show(message), reason === undefined ? undefined : { __proto__: null, cause: reason });
      named(this, 'CancelledError');
      put(this, 'reason', reason);
    }
  }
  class ClosedError extends ErrorHere {
    constructor(message = 'the queue is closed') {
      super(typeof message === 'string' ? message : show(message));
      named(this, 'ClosedError');
    }
  }
  const errors = { TimeoutError, CancelledError, ClosedError };
  for (const name of ['TimeoutError', 'CancelledError', 'ClosedError']) named(errors[name].prototype, name);

  // A value in the text of an error. Runs no code of the script.
  function show(value) {
    if (typeof value === 'string') return quote(value);
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value === 'function') return 'a function';
    if (isObject(value)) return isArray(value) ? 'an array' : 'an object';
    return text(value);
  }

  function checkMs(where, ms) {
    if (typeof ms !== 'number') throw new TypeErrorHere(`${where}: ms must be a number of milliseconds, not ${show(ms)}`);
    if (!(ms >= 0 && ms <= longest)) {
      throw new RangeErrorHere(`${where}: ms must be from 0 to ${longest}, not ${show(ms)}: give the milliseconds to wait from now`);
    }
  }
  function checkCount(where, what, value, least) {
    if (typeof value !== 'number') throw new TypeErrorHere(`${where}: ${what} must be a whole number, not ${show(value)}`);
    if (!isInteger(value) || value < least || value > longest) {
      throw new RangeErrorHere(`${where}: ${what} must be a whole number from ${least} to ${longest}, not ${show(value)}`);
    }
  }
  function checkFunction(where, what, value) {
    if (typeof value === 'function') return;
    throw new TypeErrorHere(`${where}: ${what} must be a function (plain, async or a generator function), not ${show(value)}`);
  }

  // Semaphores, queues and scopes belong to the task that made them: a continuation of another task would run in the wrong slice.
  function checkHome(where, home) {
    if (host.task() === home) return;
    throw new TypeErrorHere(`${where}: this object belongs to another task: make one in each task (aio.once is what tasks may share)`);
  }

  // The elements of an iterable as a row, or the values of an object and its keys. An array is read by its indices.
  function collect(where, input, least) {
    const values = makeRow();
    let found;
    let count = 0;
    if (isArray(input)) {
      for (const { length } = input; count < length; count++) values[count] = input[count];
    } else if (!isObject(input)) {
      throw new TypeErrorHere(`${where}: takes an array, another iterable or an object of promises, not ${show(input)}`);
    } else if (input[iterator] !== undefined && input[iterator] !== null) {
      for (const value of input) values[count++] = value;
    } else if (typeof input === 'function' || isPromiseLike(input)) {
      throw new TypeErrorHere(`${where}: takes an array, another iterable or an object of promises, not a single one: put it into [ ]`);
    } else {
      found = keys(input);
      for (; count < found.length; count++) values[count] = input[found[count]];
    }
    if (count < least) throw new RangeErrorHere(`${where}: got nothing to wait for, and would wait for ever: give at least one promise`);
    return { values, count, keys: found };
  }
  const isPromiseLike = (value) => typeof value.then === 'function';

  // A ring of nodes with a node of its own as the start. A node is an object of ours with own properties `next` and `previous`, which
  // are undefined while it is in no list.
  function makeList() {
    const list = { next: undefined, previous: undefined };
    list.next = list;
    list.previous = list;
    return list;
  }
  function append(list, node) {
    node.previous = list.previous;
    node.next = list;
    list.previous.next = node;
    list.previous = node;
  }
  const prepend = (list, node) => append(list.next, node);
  function remove(node) {
    if (node.next === undefined) return false;
    node.previous.next = node.next;
    node.next.previous = node.previous;
    node.next = undefined;
    node.previous = undefined;
    return true;
  }
  const first = (list) => (list.next === list ? undefined : list.next);

  const checks = { checkMs, checkCount, checkFunction, checkHome, collect };
  const lists = { makeRow, makeList, append, prepend, remove, first };
  return { isObject, put, show, host, install, errors, ...checks, ...lists };
})
