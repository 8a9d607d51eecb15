// A take that nobody serves
//! Stalled
//@ sealed
export async function main() {
  await aio.queue().take();
}
