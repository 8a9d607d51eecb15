// Files and sockets: `io`. The host does the work and holds what is open; here are the classes that scripts see.
//
// The value of this file is a function that returns { io, install, mutable }: the library, frozen; how the host is made known to it; and
// the prototypes of what has a hidden state, for the sealing. `install` takes one function, called with the number of a service and two
// arguments, which gives a promise. Everything used here was taken out of the realm before a script ran.
(function makeIo() {
  'use strict';
  const { apply } = Reflect;
  const { freeze } = Object;
  const { asyncIterator, toStringTag } = Symbol;
  const TypeErrorHere = TypeError;
  const PromiseHere = Promise;
  const resolve = Promise.resolve;
  const then = Promise.prototype.then;

  // The services, as `src/exec/io/serve.rs` numbers them.
  const OPEN = 0, LISTEN = 1, CONNECT = 2, ACCEPT = 3, READ = 4, TEXT = 5, LINE = 6, WRITE = 7, CLOSE = 8, ADDRESS = 9;
  let call;

  // Whoever has it makes handles.
  const key = {};
  function check(given, name, how) {
    if (given !== key) throw new TypeErrorHere(`io.${name} has no public constructor: use ${how}`);
  }

  class Lines {
    #id;
    constructor(given, id) {
      check(given, 'Lines', 'the method lines() of a file or a socket');
      this.#id = id;
    }
    next() {
      return apply(then, call(LINE, this.#id), [result]);
    }
    return(value) {
      return apply(resolve, PromiseHere, [{ value, done: true }]);
    }
    [asyncIterator]() {
      return this;
    }
  }
  const result = (line) => (line === null ? { value: undefined, done: true } : { value: line, done: false });

  class File {
    #id;
    constructor(given, id) {
      check(given, 'File', 'io.open(path, mode)');
      this.#id = id;
    }
    read(size) {
      return call(READ, this.#id, size);
    }
    readText() {
      return call(TEXT, this.#id);
    }
    lines() {
      return new Lines(key, this.#id);
    }
    write(data) {
      return call(WRITE, this.#id, data);
    }
    close() {
      return call(CLOSE, this.#id);
    }
  }

  class Socket {
    #id;
    constructor(given, id) {
      check(given, 'Socket', 'io.connect(address) or the method accept() of a listener');
      this.#id = id;
    }
    get peer() {
      return call(ADDRESS, this.#id);
    }
    read(size) {
      return call(READ, this.#id, size);
    }
    readText() {
      return call(TEXT, this.#id);
    }
    lines() {
      return new Lines(key, this.#id);
    }
    write(data) {
      return call(WRITE, this.#id, data);
    }
    close() {
      return call(CLOSE, this.#id);
    }
  }

  class Listener {
    #id;
    constructor(given, id) {
      check(given, 'Listener', 'io.listen(address)');
      this.#id = id;
    }
    get address() {
      return call(ADDRESS, this.#id);
    }
    accept() {
      return apply(then, call(ACCEPT, this.#id), [newSocket]);
    }
    close() {
      return call(CLOSE, this.#id);
    }
  }

  const newFile = (id) => new File(key, id);
  const newSocket = (id) => new Socket(key, id);
  const newListener = (id) => new Listener(key, id);
  const io = {
    open: (path, mode = 'r') => apply(then, call(OPEN, path, mode), [newFile]),
    listen: (address) => apply(then, call(LISTEN, address), [newListener]),
    connect: (address) => apply(then, call(CONNECT, address), [newSocket]),
    File,
    Socket,
    Listener,
  };

  for (const made of [File, Socket, Listener, Lines]) {
    Object.defineProperty(made.prototype, toStringTag, { value: made === Lines ? 'io.Lines' : `io.${made.name}` });
    for (const name of Reflect.ownKeys(made.prototype)) {
      const { value, get } = Object.getOwnPropertyDescriptor(made.prototype, name);
      if (typeof value === 'function') freeze(value);
      if (get !== undefined) freeze(get);
    }
    freeze(made.prototype);
    freeze(made);
  }
  for (const name of ['open', 'listen', 'connect']) freeze(io[name]);
  freeze(io);

  const mutable = [
    [File.prototype, 'an io.File'],
    [Socket.prototype, 'an io.Socket'],
    [Listener.prototype, 'an io.Listener'],
    [Lines.prototype, 'an iterator of lines'],
  ];
  return { io, install: (given) => { call = given; }, mutable };
})
