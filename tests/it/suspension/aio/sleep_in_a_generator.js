// Sleep in a generator
//= "v"
//@ sealed
export function* main() {
  const value = yield aio.sleep(5, 'v');
  return value;
}
