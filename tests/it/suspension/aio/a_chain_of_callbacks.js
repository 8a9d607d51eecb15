// A chain of callbacks
//= [21, "told", 3]
//@ sealed
export async function main() {
  const later = (value, done) => { aio.sleep(2).then(() => done(null, value)); };
  const sum = await aio.fromCallback(
    (done) => later(2, done),
    (two, done) => later(two * 10, done),
    (twenty, done) => { done(null, twenty + 1); done(new Error('ignored')); },
  );
  const error = await aio.fromCallback((done) => done(new Error('told'))).catch((error) => error.message);
  const add = aio.promisify((a, b, done) => later(a + b, done));
  return [sum, error, await add(1, 2)];
}
