// The value of an order, from two calls of a catalogue, in both styles.

/** Yields each request to its caller, who makes the call. */
function* byGenerator({ article, count }) {
    const price = yield `/price/${article}`;
    const stock = yield `/stock/${article}`;
    return value(price, stock, count);
}

/** Makes the calls itself, by a function of the host. */
async function byAwait({ article, count }) {
    const price = await get(`/price/${article}`);
    const stock = await get(`/stock/${article}`);
    return value(price, stock, count);
}

/** Of what is left; a dozen is cheaper. */
function value(price, stock, count) {
    const sold = Math.min(stock, count);
    return { sold, total: sold * price * (sold < 12 ? 1 : 0.9) };
}
