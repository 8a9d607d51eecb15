// An SSH tarpit: whoever connects gets a line of the banner that comes before the version of the protocol, again and again, and never
// that version. RFC 4253, 4.2, lets a server send such lines; a client that tries passwords waits for the end of them.
//
// The host grants the listening, defines `ready(address)` and `log(line)`, and calls `main`, which never returns.

// A line of hexadecimal digits: it never begins with `SSH-`, which would end the banner.
function line() {
  const digits = 3 + Math.floor(Math.random() * 10);
  return Math.random().toString(16).slice(2, 2 + digits) + '\r\n';
}

// Holds one client until it leaves. `pit` is what the clients of one run have in common.
async function hold(socket, pit) {
  const since = pit.now();
  let bytes = 0;
  try {
    for (;;) {
      await aio.sleep(pit.interval);
      bytes += await socket.write(line());
    }
  } catch (error) {
    log(`${socket.peer} held for ${(pit.now() - since) / 1000} s, got ${bytes} bytes, left: ${error.code ?? error.message}`);
  }
  pit.held--;
  pit.left?.();
  await socket.close();
}

// `address` to listen at, `interval` between two lines in ms, `most` clients at a time; further ones wait in the system's queue.
async function main(address, interval, most) {
  const start = Date.now();
  // Milliseconds since the start are small integers, which cost a client nothing.
  const pit = { interval, held: 0, left: undefined, now: () => Date.now() - start };
  const listener = await io.listen(address);
  ready(listener.address);
  for (;;) {
    while (pit.held >= most) await new Promise((resolve) => { pit.left = resolve; });
    try {
      const socket = await listener.accept();
      pit.held++;
      // Not awaited: it goes on beside this loop.
      hold(socket, pit);
    } catch (error) {
      log(`no client: ${error.message}`);
      await aio.sleep(interval);
    }
  }
}
