// Sleep refuses
//= ["TypeError: aio.sleep: ms must be a number of milliseconds, not \"1\"", "RangeError: aio.sleep: ms must be from 0 to 2147483648, not -1: give the milliseconds to wait from now", "RangeError: aio.sleep: ms must be from 0 to 2147483648, not NaN: give the milliseconds to wait from now", "RangeError: aio.sleep: ms must be from 0 to 2147483648, not 2147483649: give the milliseconds to wait from now"]
//@ sealed
export async function main() {
  const texts = [];
  for (const ms of ['1', -1, NaN, 2 ** 31 + 1]) {
    try { aio.sleep(ms); } catch (error) { texts.push(`${error.name}: ${error.message}`); }
  }
  return texts;
}
