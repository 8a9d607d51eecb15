//! The lateness of every beat as a picture.

use std::path::Path;

use plotters::prelude::*;

use crate::beat::{Beats, PERIOD};

const GRID: RGBColor = RGBColor(225, 225, 225);
const FAINT: RGBColor = RGBColor(242, 242, 242);
const TEXT: RGBColor = RGBColor(60, 60, 60);

/// Draws some runs over each other, with a line at what is wanted. The axis of lateness is logarithmic.
pub fn draw(path: &Path, wanted: f64, runs: &[(&str, &Beats, RGBColor)]) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let length = runs.iter().map(|(_, beats, _)| beats.lateness.len()).max().unwrap_or(0);
    let end = length as f64 * PERIOD.as_secs_f64();
    let root = SVGBackend::new(path, (1_200, 560)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = "A heartbeat of 10 ms on the caller's runtime: how late each beat is";
    let root = root.titled(title, ("sans-serif", 22).into_font().color(&TEXT))?;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..end.max(0.1), (0.1..10_000.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .y_desc("milliseconds late")
        .y_label_formatter(&|late| format!("{late}"))
        .label_style(("sans-serif", 14).into_font().color(&TEXT))
        .bold_line_style(GRID)
        .light_line_style(FAINT)
        .max_light_lines(2)
        .draw()?;
    chart.draw_series(LineSeries::new([(0.0, wanted), (end, wanted)], TEXT.stroke_width(1)))?;
    for &(name, beats, colour) in runs {
        let points = beats.lateness.iter().enumerate().map(|(at, lateness)| {
            let late = (lateness.as_secs_f64() * 1e3).clamp(0.1, 10_000.0);
            (at as f64 * PERIOD.as_secs_f64(), late)
        });
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 1), (x + 18, y + 1)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font(("sans-serif", 14).into_font().color(&TEXT))
        .draw()?;
    root.present()?;
    Ok(())
}
