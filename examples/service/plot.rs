//! The self-test as a picture: above, what became of the requests; below, how long the right answers took.

use std::path::Path;
use std::time::Duration;

use plotters::coord::Shift;
use plotters::prelude::*;
use tokio::time::Instant;

use crate::load::Record;
use crate::report::{Phase, is_good, quantile};
use crate::right::Outcome;

type Area<'p> = DrawingArea<SVGBackend<'p>, Shift>;
/// Its name, its points, its colour.
type Line = (&'static str, Vec<(f64, f64)>, RGBColor);
type Fallible = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The width of a point, in seconds.
const BIN: f64 = 0.2;
const RIGHT: RGBColor = RGBColor(31, 95, 153);
const REFUSED: RGBColor = RGBColor(216, 133, 34);
const LIMIT: RGBColor = RGBColor(176, 42, 60);
const ASKED: RGBColor = RGBColor(120, 120, 120);
const GRID: RGBColor = RGBColor(225, 225, 225);
const FAINT: RGBColor = RGBColor(242, 242, 242);
const TEXT: RGBColor = RGBColor(60, 60, 60);

/// What happened in each bin, by the time at which requests were due.
struct Bins<'a> {
    bins: Vec<Vec<&'a Record>>,
}

impl<'a> Bins<'a> {
    fn new(phases: &'a [Phase]) -> Self {
        let mut bins: Vec<Vec<&Record>> = Vec::new();
        for record in phases.iter().flat_map(|phase| &phase.records) {
            let bin = (record.at.as_secs_f64() / BIN) as usize;
            bins.resize_with(bins.len().max(bin + 1), Vec::new);
            bins[bin].push(record);
        }
        Bins { bins }
    }

    fn end(&self) -> f64 {
        self.bins.len().max(1) as f64 * BIN
    }

    /// How many a second are of some kind, over time.
    fn rate(&self, which: impl Fn(&Record) -> bool) -> Vec<(f64, f64)> {
        let count = |bin: &Vec<&Record>| bin.iter().filter(|record| which(record)).count() as f64 / BIN;
        self.bins.iter().enumerate().map(|(at, bin)| ((at as f64 + 0.5) * BIN, count(bin))).collect()
    }

    /// The times of right answers over time; nothing where there are none.
    fn latency(&self, share: f64) -> Vec<(f64, f64)> {
        let times = |bin: &Vec<&Record>| -> Vec<Duration> {
            bin.iter().filter(|record| is_good(record)).map(|record| record.latency).collect()
        };
        let bins = self.bins.iter().enumerate().map(|(at, bin)| ((at as f64 + 0.5) * BIN, times(bin)));
        bins.filter(|(_, times)| !times.is_empty())
            .map(|(at, times)| (at, quantile(times.into_iter(), share)))
            .collect()
    }
}

/// Draws all phases.
pub fn draw(path: &Path, start: Instant, phases: &[Phase]) -> Fallible {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bins = Bins::new(phases);
    let root = SVGBackend::new(path, (1_200, 720)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = "A service under full, half and twice its load, with swaps, and with a hostile script";
    let root = root.titled(title, ("sans-serif", 22).into_font().color(&TEXT))?;
    let (upper, lower) = root.split_vertically(360);
    let rates = [
        ("asked", bins.rate(|_| true), ASKED),
        ("right", bins.rate(is_good), RIGHT),
        ("refused (503)", bins.rate(|record| record.outcome == Outcome::Refused), REFUSED),
        ("limit (500)", bins.rate(|record| matches!(record.outcome, Outcome::Limit(_))), LIMIT),
    ];
    let times = [("p50", bins.latency(0.5), RIGHT), ("p99", bins.latency(0.99), REFUSED)];
    let marks: Vec<_> = phases.iter().map(|phase| (phase.name, (phase.start - start).as_secs_f64())).collect();
    panel(&upper, bins.end(), "requests a second", &rates, &marks)?;
    panel(&lower, bins.end(), "ms to the right answer", &times, &marks)?;
    root.present()?;
    Ok(())
}

fn panel(area: &Area<'_>, end: f64, what: &str, lines: &[Line], marks: &[(&str, f64)]) -> Fallible {
    let values = lines.iter().flat_map(|(_, points, _)| points.iter().map(|&(_, value)| value));
    let top = 1.25 * values.fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin_left(16)
        .margin_right(24)
        .margin_top(8)
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..1.12 * end, 0.0..top)?;
    // The legend has a place of its own, on the right.
    chart
        .configure_mesh()
        .y_desc(what)
        .x_label_formatter(&|second| format!("{second:.0} s"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .label_style(("sans-serif", 14).into_font().color(&TEXT))
        .bold_line_style(GRID)
        .light_line_style(FAINT)
        .max_light_lines(1)
        .draw()?;
    for &(name, at) in marks {
        chart.draw_series(LineSeries::new([(at, 0.0), (at, top)], TEXT.stroke_width(1)))?;
        let style = ("sans-serif", 14).into_font().color(&TEXT);
        chart.draw_series([Text::new(name.to_owned(), (at + 0.1, 0.98 * top), style)])?;
    }
    for (name, points, colour) in lines {
        let colour = *colour;
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 1), (x + 18, y + 1)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font(("sans-serif", 14).into_font().color(&TEXT))
        .draw()?;
    Ok(())
}
