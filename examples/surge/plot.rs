//! A week of demand and coefficients as a picture.

use std::path::Path;

use plotters::coord::combinators::WithKeyPoints;
use plotters::coord::types::{RangedCoordf64, RangedCoordu32};
use plotters::prelude::*;

use crate::demand::Hour;
use crate::pricing::{Answer, RULES};

const HOURS: u32 = 7 * 24;
const DEMAND: RGBColor = RGBColor(31, 95, 153);
const USUAL: RGBColor = RGBColor(120, 120, 120);
const COLOURS: [RGBColor; 2] = [RGBColor(216, 133, 34), RGBColor(176, 42, 60)];
const GRID: RGBColor = RGBColor(225, 225, 225);
const FAINT: RGBColor = RGBColor(242, 242, 242);
const TEXT: RGBColor = RGBColor(60, 60, 60);

/// Draws the week, from Monday to Sunday, with the hottest hour: above, demand and what is usual; below, the coefficients of both
/// versions.
pub fn week(path: &Path, hours: &[Hour], answers: &[Vec<Answer>; 2]) -> Result<(), Box<dyn std::error::Error>> {
    let first = first_hour(hours, &answers[1]);
    let shown: Vec<_> = (0..hours.len()).filter(|&at| (first..first + HOURS).contains(&hours[at].number())).collect();
    // Some hours are missing from the data: lines end there.
    let runs: Vec<_> = shown.chunk_by(|&a, &b| hours[b].number() - hours[a].number() == 1).collect();
    let x = |at: usize| hours[at].number() - first;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }

    let root = SVGBackend::new(path, (1_200, 720)).into_drawing_area();
    root.fill(&WHITE)?;
    let dates: Vec<_> = [shown.first(), shown.last()].into_iter().flatten().map(|&at| hours[at].date()).collect();
    let title = format!("A week of bicycle hires and their price: {}", dates.join(" to "));
    let root = root.titled(&title, ("sans-serif", 22).into_font().color(&TEXT))?;
    let (upper, lower) = root.split_vertically(380);

    let top = shown.iter().map(|&at| hours[at].request.demand.max(hours[at].request.supply)).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&upper)
        .margin_left(16)
        .margin_right(24)
        .margin_top(8)
        .x_label_area_size(8)
        .y_label_area_size(64)
        .build_cartesian_2d((0..HOURS).with_key_points(midnights()), 0.0..top * 1.08)?;
    chart
        .configure_mesh()
        .x_labels(8)
        .x_label_formatter(&|_| String::new())
        .y_desc("hires an hour")
        .y_label_formatter(&|hires| format!("{hires:.0}"))
        .label_style(("sans-serif", 14).into_font().color(&TEXT))
        .bold_line_style(GRID)
        .light_line_style(FAINT)
        .y_max_light_lines(2)
        .x_max_light_lines(0)
        .draw()?;
    for (at, run) in runs.iter().enumerate() {
        let demand = || run.iter().map(|&at| (x(at), hours[at].request.demand));
        let usual = run.iter().map(|&at| (x(at), hours[at].request.supply));
        chart.draw_series(AreaSeries::new(demand(), 0.0, DEMAND.mix(0.18)))?;
        let demand = chart.draw_series(LineSeries::new(demand(), DEMAND.stroke_width(2)))?;
        if at == 0 {
            demand.label("demand").legend(|at| swatch(at, DEMAND));
        }
        let usual = chart.draw_series(LineSeries::new(usual, USUAL.stroke_width(2)))?;
        if at == 0 {
            usual.label("usual for the hour").legend(|at| swatch(at, USUAL));
        }
    }
    legend(&mut chart)?;

    let coefficients = answers.iter().flat_map(|answers| shown.iter().map(|&at| answers[at].coefficient));
    let (low, high) = coefficients.fold((1.0_f64, 1.0_f64), |(low, high), it| (low.min(it), high.max(it)));
    let mut chart = ChartBuilder::on(&lower)
        .margin_left(16)
        .margin_right(24)
        .margin_top(8)
        .margin_bottom(8)
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d((0..HOURS).with_key_points(midnights()), low - 0.1..high + 0.25)?;
    let day = |hour: &u32| {
        DAYS.get((*hour / 24) as usize).filter(|_| hour.is_multiple_of(24)).copied().unwrap_or("").to_owned()
    };
    chart
        .configure_mesh()
        .x_labels(8)
        .x_label_formatter(&day)
        .y_desc("coefficient")
        .y_label_formatter(&|value| format!("{value:.1}"))
        .label_style(("sans-serif", 14).into_font().color(&TEXT))
        .bold_line_style(GRID)
        .light_line_style(FAINT)
        .y_max_light_lines(2)
        .x_max_light_lines(0)
        .draw()?;
    chart.draw_series(LineSeries::new([(0, 1.0), (HOURS, 1.0)], USUAL.stroke_width(1)))?;
    for ((rule, answers), colour) in RULES.iter().zip(answers).zip(COLOURS) {
        for (at, run) in runs.iter().enumerate() {
            // A coefficient holds for its hour: steps, not slopes.
            let steps =
                run.iter().flat_map(|&at| [(x(at), answers[at].coefficient), (x(at) + 1, answers[at].coefficient)]);
            let steps = chart.draw_series(LineSeries::new(steps, colour.stroke_width(2)))?;
            if at == 0 {
                steps.label(*rule).legend(move |at| swatch(at, colour));
            }
        }
    }
    legend(&mut chart)?;
    root.present()?;
    Ok(())
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

fn midnights() -> Vec<u32> {
    (0..HOURS).step_by(24).collect()
}

/// The first hour of the week with the highest coefficient.
fn first_hour(hours: &[Hour], answers: &[Answer]) -> u32 {
    let hottest = hours.iter().zip(answers).max_by(|(_, a), (_, b)| a.factors.raw.total_cmp(&b.factors.raw));
    let Some((hour, _)) = hottest else { return 0 };
    let since_monday = (u32::from(hour.weekday) + 6) % 7;
    (u32::from(hour.day - 1) * 24).saturating_sub(since_monday * 24)
}

fn swatch((x, y): (i32, i32), colour: RGBColor) -> Rectangle<(i32, i32)> {
    Rectangle::new([(x, y - 1), (x + 18, y + 1)], colour.filled())
}

type Plane = Cartesian2d<WithKeyPoints<RangedCoordu32>, RangedCoordf64>;

fn legend<'a, 'p: 'a>(chart: &mut ChartContext<'a, SVGBackend<'p>, Plane>) -> Result<(), Box<dyn std::error::Error>> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font(("sans-serif", 14).into_font().color(&TEXT))
        .draw()?;
    Ok(())
}
