// An async init that waits for itself after a wait
//! Stalled
//@ sealed
const get = aio.once(async () => { await aio.sleep(1); return get(); });
export async function main() {
  return get();
}
