// Sleep sort
//= [10, 20, 30]
//@ sealed
export async function main() {
  const sorted = [];
  await aio.all([30, 10, 20].map(async (n) => { await aio.sleep(n); sorted.push(n); }));
  return sorted;
}
