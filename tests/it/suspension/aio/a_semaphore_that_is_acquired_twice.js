// A semaphore that is acquired twice
//! Stalled
//@ sealed
export async function main() {
  const one = aio.semaphore(1);
  await one.acquire();
  await one.acquire();
}
