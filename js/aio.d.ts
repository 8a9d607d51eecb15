// The types of the global `aio`, the library for waiting. What it does in full is in the documentation page `aio`.
//
// Every promise that it returns is a native one: an async function awaits it, a generator yields it.

/** What a callback of yours may return: a value, a promise, or (from a generator function) a generator, which is driven. */
type AioResult<T> = T | PromiseLike<T> | Generator<Promise<unknown>, T | PromiseLike<T>, any>;

/** Work: a promise, or a function (plain, async or a generator function) that is called once. */
type AioWork<T, Args extends unknown[] = []> = PromiseLike<T> | ((...args: Args) => AioResult<T>);

/** What work comes to. */
type AioValue<W> = W extends (...args: any[]) => infer R
  ? R extends Generator<any, infer V, any> ? Awaited<V> : Awaited<R>
  : Awaited<W>;

/** A callback in the manner of Node.js: an error, or `null` and the value. */
type AioCallback<T> = (error?: unknown, value?: T) => void;

/** Work was not done in time. */
declare class AioTimeoutError extends Error {
  constructor(ms: number);
  readonly name: 'TimeoutError';
  /** The time that passed, in milliseconds. */
  readonly ms: number;
}

/** A wait was given up: its scope was cancelled or left, or another contender was first. */
declare class AioCancelledError extends Error {
  constructor(message?: string, reason?: unknown);
  readonly name: 'CancelledError';
  /** What was given to `cancel`; the `TimeoutError` of a deadline. Also the `cause`. */
  readonly reason: unknown;
}

/** The queue is closed. */
declare class AioClosedError extends Error {
  constructor(message?: string);
  readonly name: 'ClosedError';
}

/** Lets at most so many in at a time, in the order in which they asked. It belongs to the task that made it. */
interface AioSemaphore {
  /** Waits for a permit. The value gives it back; to call it again does nothing. */
  acquire(): Promise<() => void>;
  /** Runs the function with a permit, and gives it back however the function ends. */
  use<T>(work: () => AioResult<T>): Promise<T>;
  /** How many permits are free. */
  readonly available: number;
  /** How many wait for a permit. */
  readonly waiting: number;
}

/** A bounded queue, first in, first out. It belongs to the task that made it. */
interface AioQueue<T> extends AsyncIterable<T> {
  /** Puts a value; waits while the queue is full. Rejected with `ClosedError` if the queue is closed before there was room. */
  put(value: T): Promise<void>;
  /** Takes the oldest value; waits while there is none. Rejected with `ClosedError` once the queue is closed and empty. */
  take(): Promise<T>;
  /** Puts a value if there is room now. Throws `ClosedError` if the queue is closed. */
  tryPut(value: T): boolean;
  /** The oldest value as `{ value }`, or `undefined` if there is none now. */
  tryTake(): { value: T } | undefined;
  /** Takes no more values. What is in the queue can be taken; who waits to put or to take is refused. */
  close(): void;
  /** How many values are in the queue. */
  readonly size: number;
  /** How many values have room. */
  readonly capacity: number;
  readonly closed: boolean;
  /** The values until the queue is closed and empty. To stop early leaves the queue open. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T>;
}

/** What was begun in a scope ends with it. It belongs to the task that made it. */
interface AioScope {
  /** As `aio.sleep`, until the scope is cancelled. */
  sleep(ms: number): Promise<void>;
  sleep<T>(ms: number, value: T): Promise<T>;
  /**
   * The work as a promise which is rejected with `CancelledError` as soon as the scope is cancelled. In a scope that is over, a
   * function is not called any more. The work itself goes on, apart from waits of aio.
   */
  run<T>(work: AioWork<T, [scope: AioScope]>): Promise<T>;
  /** A scope inside this one: it is cancelled with it, and can be cancelled alone. */
  scope<T>(body: (scope: AioScope) => AioResult<T>): Promise<T>;
  /** Gives up all that waits in the scope. Only the first call counts. */
  cancel(reason?: unknown): void;
  /** Cancels the scope when so many milliseconds have passed, with a `TimeoutError` as the reason. The earliest one counts. */
  deadline(ms: number): void;
  /** Calls the function when the scope is cancelled or left; at once if it is over. The value takes the function back. */
  onCancel(handler: (reason: unknown) => AioResult<unknown>): () => void;
  /** Whether the scope was cancelled or left. */
  readonly cancelled: boolean;
  /** What was given to `cancel`. */
  readonly reason: unknown;
}

interface Aio {
  /** Waits so many milliseconds (0 to 2^31). */
  sleep(ms: number): Promise<void>;
  /** Waits so many milliseconds (0 to 2^31), for the value. */
  sleep<T>(ms: number, value: T): Promise<T>;

  /** The work, or `TimeoutError` when so many milliseconds pass first. The timer ends with the work. */
  timeout<W extends AioWork<any>>(ms: number, work: W): Promise<AioValue<W>>;

  /** The first that settles, with its index. The others are given up. */
  select<W>(contenders: Iterable<W>): Promise<{ key: number; value: AioValue<W> }>;
  /** The first that settles, with its name. The others are given up. */
  select<O extends Record<string, unknown>>(contenders: O): Promise<{ [K in keyof O]: { key: K; value: AioValue<O[K]> } }[keyof O]>;

  /** The values of all, in the form of the input. When one is rejected, the others are given up. */
  all<T extends readonly unknown[] | []>(promises: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>;
  all<T>(promises: Iterable<T>): Promise<Awaited<T>[]>;
  all<O extends Record<string, unknown>>(promises: O): Promise<{ -readonly [K in keyof O]: Awaited<O[K]> }>;

  /** How each of them ended, in the form of the input. Is never rejected. */
  settled<T extends readonly unknown[] | []>(promises: T): Promise<{ -readonly [K in keyof T]: PromiseSettledResult<Awaited<T[K]>> }>;
  settled<T>(promises: Iterable<T>): Promise<PromiseSettledResult<Awaited<T>>[]>;
  settled<O extends Record<string, unknown>>(promises: O): Promise<{ -readonly [K in keyof O]: PromiseSettledResult<Awaited<O[K]>> }>;

  /** The end of the first that settles. The others go on, and keep no trace of the race. */
  race<T>(promises: Iterable<T> | Record<string, T>): Promise<Awaited<T>>;

  /** Lets at most `permits` in at a time (1 to 2^31). */
  semaphore(permits: number): AioSemaphore;

  /** A queue with room for `size` values (0 to 2^31). Of size 0, who puts waits for who takes. */
  queue<T>(size?: number): AioQueue<T>;

  /**
   * A function that gives the value of `init`, which runs once per context: callers meanwhile wait for that run, and after a
   * failed run the next call tries again. The value is shared by all tasks, and frozen in a sealed context.
   */
  once<T>(init: () => AioResult<T>): () => Promise<T>;

  /** Calls `fn(callback)`, and is what it calls back with first. */
  fromCallback<A>(fn: (callback: AioCallback<A>) => unknown): Promise<A>;
  /** A chain: each further step is called with the value of the one before and a callback. The first error ends it. */
  fromCallback<A, B>(fn: (callback: AioCallback<A>) => unknown, step: (value: A, callback: AioCallback<B>) => unknown): Promise<B>;
  fromCallback<A, B, C>(
    fn: (callback: AioCallback<A>) => unknown,
    step2: (value: A, callback: AioCallback<B>) => unknown,
    step3: (value: B, callback: AioCallback<C>) => unknown,
  ): Promise<C>;
  fromCallback(
    fn: (callback: AioCallback<any>) => unknown,
    ...steps: ((value: any, callback: AioCallback<any>) => unknown)[]
  ): Promise<any>;

  /** The function that takes a callback last, as one that returns a promise. `this` is passed on. */
  promisify<This, Args extends unknown[], T>(
    fn: (this: This, ...args: [...Args, AioCallback<T>]) => unknown,
  ): (this: This, ...args: Args) => Promise<T>;

  /** Runs the body with a scope. When the body ends, in whatever way, what is left in the scope is given up. */
  scope<T>(body: (scope: AioScope) => AioResult<T>): Promise<T>;

  readonly TimeoutError: typeof AioTimeoutError;
  readonly CancelledError: typeof AioCancelledError;
  readonly ClosedError: typeof AioClosedError;
}

declare const aio: Readonly<Aio>;
