// A yielded value that is no promise, inside a driven generator
//= "aio.timeout: the generator yielded 5, which is no promise: yield a promise, or use yield* to run another generator"
//@ sealed
export async function main() {
  return (await aio.timeout(50, function* () { yield 5; }).catch((error) => error)).message;
}
