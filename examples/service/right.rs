//! What the scripts must answer, computed here once more, and what an answer of the service is worth.

use axum::http::{StatusCode, header};

use crate::client::Answer;
use crate::refusal;
use crate::routes::Quote;
use crate::upstream;

/// Items and zones that are asked for.
pub const ITEMS: u32 = 8;
pub const ZONES: u32 = 4;
/// As in the scripts.
const STEPS: u32 = 400_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    Price,
    Delivery,
}

impl Route {
    pub fn name(self) -> &'static str {
        match self {
            Route::Price => "price",
            Route::Delivery => "delivery",
        }
    }
}

/// What became of a request.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// The right answer.
    Right,
    /// A right answer without an upstream service that has failed three times.
    Degraded,
    /// Refused as documented: 503, with the time after which to come back.
    Refused,
    /// The script ran into a limit, whose kind the answer says. Right for the hostile version only.
    Limit(String),
    /// Anything else.
    Failed(String),
}

/// The values of both routes for each order, but for what depends on the version.
pub struct Right {
    values: [Vec<u64>; 2],
}

impl Right {
    pub fn new() -> Self {
        let orders = || (0..ITEMS).flat_map(|item| (0..ZONES).map(move |zone| (item, zone)));
        let of = |value: fn(f64, f64) -> f64| {
            let cents = |(item, zone)| (100.0 * value(upstream::stock(item), upstream::rate(zone))).round() as u64;
            orders().map(cents).collect()
        };
        Right { values: [of(price), of(delivery)] }
    }

    /// Judges an answer to this request.
    pub fn judge(&self, route: Route, item: u32, zone: u32, answer: &Answer) -> Outcome {
        match answer.head.status {
            StatusCode::OK => match answer.json::<Quote>() {
                Ok(quote) => self.judge_quote(route, item, zone, &quote),
                Err(trouble) => Outcome::Failed(trouble.to_string()),
            },
            StatusCode::SERVICE_UNAVAILABLE if answer.head.headers.contains_key(header::RETRY_AFTER) => {
                Outcome::Refused
            }
            status => match answer.json::<refusal::Body>() {
                Ok(body) if status == StatusCode::INTERNAL_SERVER_ERROR && body.kind == "CpuBudget" => {
                    Outcome::Limit(body.kind)
                }
                Ok(body) => Outcome::Failed(format!("{status}: {}: {}", body.kind, body.error)),
                Err(_) => Outcome::Failed(status.to_string()),
            },
        }
    }

    fn judge_quote(&self, route: Route, item: u32, zone: u32, quote: &Quote) -> Outcome {
        let value = self.values[route as usize][(item * ZONES + zone) as usize] + quote.version;
        let list = match route {
            Route::Price => 9900,
            Route::Delivery => 900,
        };
        match quote.degraded {
            true if quote.value == list => Outcome::Degraded,
            false if quote.value == value => Outcome::Right,
            _ => Outcome::Failed(format!("{route:?} {item} {zone}: {} in place of {value}", quote.value)),
        }
    }
}

/// As `best` in `price.js`, operation by operation.
fn price(left: f64, rate: f64) -> f64 {
    let highest = 40.0 * rate;
    let (mut best, mut most) = (0.0, 0.0);
    for step in 1..STEPS {
        let price = (highest * f64::from(step)) / f64::from(STEPS);
        let share = 1.0 - price / highest;
        let income = price * left * share * share;
        if income > most {
            (most, best) = (income, price);
        }
    }
    best
}

/// As `cheapest` in `delivery.js`.
fn delivery(left: f64, rate: f64) -> f64 {
    let road = 100.0 * rate;
    let costs = (0..=STEPS).map(|step| {
        let at = (road * f64::from(step)) / f64::from(STEPS);
        at * at + (road - at) * (road - at) * rate + left
    });
    costs.fold(f64::INFINITY, f64::min).sqrt()
}
