// Select in a generator, by index
//= {"key": 1, "value": "b"}
//@ sealed
export function* main() {
  return yield aio.select([aio.sleep(60000), aio.sleep(5, 'b')]);
}
