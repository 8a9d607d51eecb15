// Semaphore
//= [2, [1, 2, 3, 4, 5], 2, 0]
//@ sealed
export async function main() {
  const two = aio.semaphore(2);
  let inside = 0;
  let most = 0;
  const order = [];
  await aio.all([1, 2, 3, 4, 5].map((n) => two.use(async () => {
    inside += 1;
    most = Math.max(most, inside);
    await aio.sleep(3);
    order.push(n);
    inside -= 1;
  })));
  return [most, order, two.available, two.waiting];
}
