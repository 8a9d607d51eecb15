// The price of an item in a zone, in cents: a generator, which yields what it needs to know, and is resumed with the answer.
const VERSION = 1;
const STEPS = 400_000;

function* main({ item, zone }) {
    const left = yield* patiently({ service: 'stock', key: item });
    const rate = yield* patiently({ service: 'rates', key: zone });
    if (left === undefined || rate === undefined) return { version: VERSION, value: 9900, degraded: true };
    return { version: VERSION, value: Math.round(100 * best(left, rate)) + VERSION, degraded: false };
}

/** Upstream services fail now and then: three attempts. */
function* patiently(request) {
    for (let attempt = 1; attempt <= 3; attempt++) {
        try {
            return yield request;
        } catch (error) {
            console.debug(`attempt ${attempt}: ${error.message}`);
        }
    }
}

/** The price with the largest income, where fewer buy at a higher one. */
function best(left, rate) {
    const highest = 40 * rate;
    let best = 0;
    let most = 0;
    for (let step = 1; step < STEPS; step++) {
        const price = (highest * step) / STEPS;
        const share = 1 - price / highest;
        const income = price * left * share * share;
        if (income > most) {
            most = income;
            best = price;
        }
    }
    return best;
}
