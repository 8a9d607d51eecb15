//! The demand: hours of a year of real bicycle hires, each with what is usual for such an hour.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// How many hours before an hour its request tells of.
const RECENT: usize = 3;

/// How many days of a year of 365 days lie before each month.
const MONTHS_BEGIN: [u16; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// A line of the data.
#[derive(Deserialize)]
struct Row {
    season: u8,
    mnth: String,
    day: u16,
    hr: u8,
    weekday: u8,
    weathersit: String,
    temp: f64,
    windspeed: f64,
    bikers: f64,
}

/// An hour as the script sees it.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    pub demand: f64,
    pub supply: f64,
    /// Demand and supply of the hours before, the oldest first.
    pub recent: Vec<(f64, f64)>,
    pub weather: String,
    pub celsius: f64,
    pub wind: f64,
}

/// An hour of the year.
#[derive(Clone, Debug)]
pub struct Hour {
    pub month: String,
    /// Of the year, from 1.
    pub day: u16,
    pub hour: u8,
    pub weekday: u8,
    pub request: Request,
}

impl Hour {
    /// The number of the hour in the year.
    pub fn number(&self) -> u32 {
        u32::from(self.day - 1) * 24 + u32::from(self.hour)
    }

    /// As in `Tue 23 Aug`.
    pub fn date(&self) -> String {
        let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][usize::from(self.weekday) % 7];
        format!(
            "{weekday} {:>2} {}",
            self.day - MONTHS_BEGIN.iter().rfind(|&&begin| begin < self.day).unwrap_or(&0),
            self.month
        )
    }
}

/// Reads the hours. The supply of one is the mean demand of the other hours of the same season, weekday and time.
pub fn read(path: &Path) -> Result<Vec<Hour>, Box<dyn std::error::Error>> {
    let rows = csv::Reader::from_path(path)?.into_deserialize().collect::<Result<Vec<Row>, _>>()?;
    let group = |row: &Row| (row.season, row.weekday, row.hr);
    let mut groups = HashMap::<_, (f64, f64)>::new();
    for row in &rows {
        let (sum, count) = groups.entry(group(row)).or_default();
        *sum += row.bikers;
        *count += 1.0;
    }
    let mut hours = Vec::<Hour>::with_capacity(rows.len());
    for row in rows {
        let (sum, count) = groups[&group(&row)];
        let supply = if count > 1.0 { (sum - row.bikers) / (count - 1.0) } else { row.bikers };
        let before = hours.iter().rev().take(RECENT).rev();
        let recent = before.map(|hour| (hour.request.demand, hour.request.supply)).collect();
        let request = Request {
            demand: row.bikers,
            supply,
            recent,
            weather: row.weathersit,
            // The data has both scaled to their range.
            celsius: row.temp * 47.0 - 8.0,
            wind: row.windspeed * 67.0,
        };
        hours.push(Hour { month: row.mnth, day: row.day, hour: row.hr, weekday: row.weekday, request });
    }
    if hours.is_empty() {
        return Err(format!("{} holds no hours", path.display()).into());
    }
    Ok(hours)
}
