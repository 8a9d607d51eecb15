// The cost of a delivery to a zone, in cents: an async function, which asks both services at once by a function of the host.
const VERSION = 1;
const STEPS = 400_000;

async function main({ item, zone }) {
    const [left, rate] = await Promise.all([patiently('stock', item), patiently('rates', zone)]);
    if (left === undefined || rate === undefined) return { version: VERSION, value: 900, degraded: true };
    return { version: VERSION, value: Math.round(100 * cheapest(left, rate)) + VERSION, degraded: false };
}

/** Upstream services fail now and then: three attempts. */
async function patiently(service, key) {
    for (let attempt = 1; attempt <= 3; attempt++) {
        try {
            return await ask(service, key);
        } catch (error) {
            console.debug(`attempt ${attempt}: ${error.message}`);
        }
    }
}

/** By the best place for a depot on the road between the store and the zone. */
function cheapest(left, rate) {
    const road = 100 * rate;
    let least = Infinity;
    for (let step = 0; step <= STEPS; step++) {
        const at = (road * step) / STEPS;
        const cost = at * at + (road - at) * (road - at) * rate + left;
        if (cost < least) least = cost;
    }
    return Math.sqrt(least);
}
