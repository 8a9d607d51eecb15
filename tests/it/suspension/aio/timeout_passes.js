// Timeout passes
//= [true, "TimeoutError", 10, "not done within 10 ms"]
//@ sealed
export async function main() {
  try {
    await aio.timeout(10, aio.sleep(60000));
  } catch (error) {
    return [error instanceof aio.TimeoutError, error.name, error.ms, error.message];
  }
}
