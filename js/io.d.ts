// The global `io` of scripts: files and sockets that the host grants. See the page `jsmill::files`.

/** Files and sockets. Frozen. Each method gives a promise, for `await` in async functions and for `yield` in generators. */
declare const io: {
  /**
   * Opens a file beneath the directory that was granted.
   *
   * `path` is relative, without `..`. `mode`: `'r'` reads (the default); `'w'` writes, makes the file, and empties it; `'a'` writes at the end, and
   * makes the file; `'r+'` reads and writes a file that there is; `'x'` makes a file, and fails where there is one. All but `'r'` want
   * `Io::writable_files`.
   */
  open(path: string, mode?: 'r' | 'w' | 'a' | 'r+' | 'x'): Promise<io.File>;

  /** Listens at an address: `127.0.0.1:8080`, `[::1]:8080`. Port 0 lets the system choose one: see `listener.address`. */
  listen(address: string): Promise<io.Listener>;

  /** Connects to an address: `10.0.0.7:5432`, `example.org:443`. */
  connect(address: string): Promise<io.Socket>;

  /** For `instanceof`; they cannot be constructed. */
  readonly File: { readonly prototype: io.File };
  readonly Listener: { readonly prototype: io.Listener };
  readonly Socket: { readonly prototype: io.Socket };
};

declare namespace io {
  /** What the promises are rejected with: an `Error`, whose `code` is the system's name of the failure where there is one. */
  interface Failure extends Error {
    /** `ENOENT`, `EPIPE` and their like; `EACCES` for what was not granted, `EBADF` for a handle that is closed or serves for something else. */
    readonly code?: string;
  }

  /** What files and sockets have in common. One read and one write may be pending at a time. */
  interface Stream {
    /**
     * Up to `size` bytes, as soon as there are some; `null` at the end. Without a size up to 64 KiB.
     */
    read(size?: number): Promise<Uint8Array | null>;

    /** All that is left, as UTF-8, up to `Io::read_limit`. Of a socket: until the other side has ended. */
    readText(): Promise<string>;

    /**
     * The lines that are left, without their ends (`\n` or `\r\n`): for `for await`, or by `yield lines.next()` in a generator. What follows the last
     * line can be read by `read` when the iteration stops before the end.
     */
    lines(): Lines;

    /** Writes a string as UTF-8, or bytes. Resolves to the number of bytes when the system has taken all of them. */
    write(data: string | ArrayBufferView): Promise<number>;

    /** Closes it. What is pending on it is rejected. Does nothing the second time. */
    close(): Promise<void>;
  }

  /** An iterator of lines. Leaving a loop early does not close the file. */
  interface Lines extends AsyncIterableIterator<string> {
    next(): Promise<IteratorResult<string, undefined>>;
    return(value?: undefined): Promise<IteratorResult<string, undefined>>;
  }

  /** An open file. */
  interface File extends Stream {}

  /** A connection. */
  interface Socket extends Stream {
    /** The address of the other side: `127.0.0.1:40312`. */
    readonly peer: string;
  }

  /** A socket that listens. */
  interface Listener {
    /** Where it listens, with the port that the system has chosen. */
    readonly address: string;

    /** The next client. One accept may be pending at a time. */
    accept(): Promise<Socket>;

    /** Listens no longer. Clients that were accepted stay. */
    close(): Promise<void>;
  }
}
