//! What the service prints: a table of the versions, and the hottest hours with their reasons.

use std::time::Duration;

use crate::demand::Hour;
use crate::pricing::{Answer, RULES, Zone};
use crate::replay::Tally;

fn micros(nanos: u64) -> String {
    let micros = nanos as f64 / 1_000.0;
    if micros < 10_000.0 { format!("{micros:.0} µs") } else { format!("{:.1} ms", micros / 1_000.0) }
}

/// One line for each version.
pub fn versions(tally: &Tally) {
    println!("{:<12} {:>10} {:>10} {:>10} {:>18}", "version", "calls", "p50", "p99", "mean coefficient");
    for (name, rule) in RULES.iter().zip(&tally.rules) {
        let quantile = |q| micros(rule.latency.value_at_quantile(q));
        let mean = if rule.calls == 0 { 0.0 } else { rule.coefficients / rule.calls as f64 };
        println!("{name:<12} {:>10} {:>10} {:>10} {mean:>18.3}", rule.calls, quantile(0.5), quantile(0.99));
    }
}

/// What a call took with a kept context and with a new one.
pub fn contexts(cached: Duration, fresh: Duration) {
    println!("a call with the cached context: {:>9}", micros(cached.as_nanos() as u64));
    println!("a call with a context of its own: {:>7}", micros(fresh.as_nanos() as u64));
}

/// The hours with the highest coefficients; of equal ones, those that would have gone highest.
pub fn hottest(hours: &[Hour], answers: &[Answer], zone: &Zone, count: usize) {
    let mut order: Vec<_> = hours.iter().zip(answers).collect();
    order.sort_by(|(_, a), (_, b)| {
        b.coefficient.total_cmp(&a.coefficient).then(b.factors.raw.total_cmp(&a.factors.raw))
    });
    for (hour, answer) in order.into_iter().take(count) {
        println!("{}", explain(hour, answer, zone));
    }
}

fn explain(hour: &Hour, answer: &Answer, zone: &Zone) -> String {
    let (date, request) = (hour.date(), &hour.request);
    let factors = &answer.factors;
    let bound = if factors.raw > zone.highest {
        format!("capped at {:.2}", zone.highest)
    } else {
        format!("rounded to {:.2}", answer.coefficient)
    };
    format!(
        "x{:.2}  {date:<11} {:>2} h  {:>3} hires, {:>3.0} usual: balance {:.2}, smoothed {:.2}, {} x{:.2}, raw {:.2}, {bound}",
        answer.coefficient,
        hour.hour,
        request.demand,
        request.supply,
        factors.balance,
        factors.smoothed,
        request.weather,
        factors.weather,
        factors.raw,
    )
}
