// A job that needs the processor and nothing else: how many primes there are below a number, by trial division.
function primes(limit) {
    let count = 0;
    for (let n = 2; n < limit; n++) {
        let prime = true;
        for (let d = 2; d * d <= n; d++) {
            if (n % d === 0) {
                prime = false;
                break;
            }
        }
        if (prime) count++;
    }
    return count;
}
