// Leaving a scope ends what is left, nested scopes too
//= ["left", ["the scope was left"]]
//@ sealed
export function* main() {
  const log = [];
  const value = yield aio.scope(function* (s) {
    s.scope(async (inner) => { try { await inner.sleep(60000); } catch (error) { log.push(error.message); } });
    s.run(aio.sleep(60000));
    yield s.sleep(2);
    return 'left';
  });
  yield aio.sleep(0);
  return [value, log];
}
