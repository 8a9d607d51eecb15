// Settled
//= {"x": {"status": "rejected", "reason": "no"}, "y": {"status": "fulfilled", "value": 2}}
//@ sealed
export async function main() {
  return await aio.settled({ x: Promise.reject('no'), y: aio.sleep(1, 2) });
}
