//! Stacked bars: one bar per category, and in each bar one part per series, the first at the
//! bottom.

use crate::categories::{Categories, Chart, FILLED};
use crate::frame::{Area, Fault, colour, figure, position, range};
use plotters::prelude::{BLACK, Color, Rectangle, WHITE};

/// Stacked bars as an SVG document. Each series has one value per category, in the same order.
/// Values that are not above 0 take no room.
#[must_use]
pub fn parts(title: &str, categories: &[String], series: &[(String, Vec<f64>)], y_label: &str) -> String {
    figure(title, series, |area| plot(area, categories, series, y_label))
}

fn plot(area: &Area<'_>, categories: &[String], series: &[(String, Vec<f64>)], y_label: &str) -> Result<(), Fault> {
    let names = Categories::of(categories);
    let parts = |category: usize| series.iter().map(move |(_, values)| value(values, category));
    let sums = (0..categories.len()).map(|category| parts(category).sum());
    let mut chart = names.chart(area, range(sums, true), y_label)?;
    (0..categories.len()).try_for_each(|category| stack(&mut chart, category, parts(category)))?;
    names.label(area, &chart)
}

fn value(values: &[f64], category: usize) -> f64 {
    values.get(category).copied().filter(|value| value.is_finite() && *value > 0.0).unwrap_or(0.0)
}

fn stack(chart: &mut Chart<'_, '_>, category: usize, parts: impl Iterator<Item = f64>) -> Result<(), Fault> {
    let (left, right) = (position(category) - FILLED / 2.0, position(category) + FILLED / 2.0);
    let mut bottom = 0.0;
    for (index, part) in parts.enumerate().filter(|(_, part)| *part > 0.0) {
        let corners = [(left, bottom), (right, bottom + part)];
        chart.draw_series([Rectangle::new(corners, colour(index).filled())])?;
        chart.draw_series([Rectangle::new(corners, WHITE.stroke_width(1))])?;
        bottom += part;
    }
    let floor = [(left, 0.0), (right, 0.0)];
    chart.draw_series([Rectangle::new(floor, BLACK.mix(0.2))]).map(|_| ())
}
