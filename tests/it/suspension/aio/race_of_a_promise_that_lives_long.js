// Race of a promise that lives long (look at the heap before and after: it must not grow)
//= 200000
//@ sealed
export async function main() {
  const long = new Promise(() => {});
  let sum = 0;
  for (let round = 0; round < 200000; round++) sum += await aio.race([long, Promise.resolve(1)]);
  return sum;
}
