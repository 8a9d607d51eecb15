//! What passes between the service and its script: settings in, an answer with its reasons out.

use std::collections::BTreeMap;
use std::sync::Arc;

use jsmill::Script;
use serde::{Deserialize, Serialize};

/// The settings of a zone.
#[derive(Debug, Serialize)]
pub struct Zone {
    /// Hires that are added to demand and supply alike.
    pub prior: f64,
    /// How much of a change the next hour believes.
    pub weight: f64,
    /// How strongly the coefficient follows the balance.
    pub slope: f64,
    pub lowest: f64,
    pub highest: f64,
    /// Coefficients are multiples of this.
    pub step: f64,
    /// Below how many °C it is cold, and above how many km/h it is windy.
    pub cold: f64,
    pub windy: f64,
    /// A factor for each kind of weather that has one.
    pub weather: BTreeMap<&'static str, f64>,
}

impl Zone {
    pub fn centre() -> Self {
        Zone {
            prior: 40.0,
            weight: 0.6,
            slope: 0.8,
            lowest: 0.75,
            highest: 2.5,
            step: 0.05,
            cold: 5.0,
            windy: 25.0,
            weather: BTreeMap::from([("cloudy/misty", 1.02), ("light rain/snow", 1.1), ("heavy rain/snow", 1.25)]),
        }
    }
}

/// What the script answers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Answer {
    pub revision: u64,
    pub coefficient: f64,
    pub factors: Factors,
}

/// Why.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Factors {
    pub rule: String,
    pub revision: u64,
    pub balance: f64,
    pub smoothed: f64,
    pub weather: f64,
    pub raw: f64,
}

/// The names of the two versions of the algorithm, which take turns.
pub const RULES: [&str; 2] = ["linear", "saturating"];

const SOURCES: [&str; 2] = [include_str!("linear.js"), include_str!("saturating.js")];

/// Which of the two versions a revision is.
pub fn rule(revision: u64) -> usize {
    (revision % 2) as usize
}

/// A revision of the script: one of the two versions, with the number of the revision written into its text. So every swap brings
/// a text that the engine has never seen, and every answer tells which text it comes from.
pub fn revision(number: u64) -> jsmill::Result<Arc<Script>> {
    let rule = rule(number);
    let source = SOURCES[rule].replace(&format!("const REVISION = {rule};"), &format!("const REVISION = {number};"));
    Script::builder("surge.js").source(source).version(format!("{}-{number}", RULES[rule])).build()
}
