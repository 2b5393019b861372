//! Grouped bars: one group per category, and in each group one bar per series.

use crate::categories::{Categories, Chart, FILLED};
use crate::frame::{Area, Fault, colour, figure, position, range};
use plotters::prelude::{BLACK, Color, PathElement, Rectangle};

/// Grouped bars as an SVG document. Each series has one value per category, in the same order;
/// `None` (not measured) leaves a gap. The axis always includes 0, because the length of a bar is
/// its meaning.
#[must_use]
pub fn bars(title: &str, categories: &[String], series: &[(String, Vec<Option<f64>>)], y_label: &str) -> String {
    figure(title, series, |area| plot(area, categories, series, y_label))
}

fn plot(
    area: &Area<'_>,
    categories: &[String],
    series: &[(String, Vec<Option<f64>>)],
    y_label: &str,
) -> Result<(), Fault> {
    let names = Categories::of(categories);
    let values = series.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let mut chart = names.chart(area, range(values, true), y_label)?;
    series.iter().enumerate().try_for_each(|(index, (_, values))| row(&mut chart, index, series.len(), values))?;
    chart.draw_series([PathElement::new([(names.across().start, 0.0), (names.across().end, 0.0)], BLACK)])?;
    names.label(area, &chart)
}

fn row(chart: &mut Chart<'_, '_>, index: usize, of: usize, values: &[Option<f64>]) -> Result<(), Fault> {
    let width = FILLED / position(of.max(1));
    let bar = |(group, value): (usize, &Option<f64>)| {
        let value = value.filter(|value| value.is_finite())?;
        let left = position(group) - FILLED / 2.0 + width * position(index);
        Some(Rectangle::new([(left, 0.0), (left + width, value)], colour(index).filled()))
    };
    chart.draw_series(values.iter().enumerate().filter_map(bar)).map(|_| ())
}
