//! Box plots: one group per category, and in each group one box per series: median, middle half,
//! least and greatest.

use crate::categories::{Categories, Chart, FILLED};
use crate::frame::{Area, Fault, colour, figure, position, range};
use isobar_model::num;
use plotters::prelude::{Color, PathElement, Rectangle, ShapeStyle};

/// A series of boxes: its name, and the values of each category.
pub type Boxes = (String, Vec<Vec<f64>>);

/// Fraction of its place that a box fills.
const BOX: f64 = 0.8;

/// Box plots as an SVG document. Each series has one list of values per category, in the same
/// order; an empty list leaves a gap. Boxes span the middle half of the values, whiskers all of
/// them.
#[must_use]
pub fn boxes(title: &str, categories: &[String], series: &[Boxes], y_label: &str) -> String {
    figure(title, series, |area| plot(area, categories, series, y_label))
}

fn plot(area: &Area<'_>, categories: &[String], series: &[Boxes], y_label: &str) -> Result<(), Fault> {
    let names = Categories::of(categories);
    let values = series.iter().flat_map(|(_, lists)| lists.iter().flatten().copied());
    let mut chart = names.chart(area, range(values, false), y_label)?;
    for (index, (_, lists)) in series.iter().enumerate() {
        let place = Place { index, width: FILLED / position(series.len().max(1)) };
        lists.iter().enumerate().try_for_each(|(group, values)| place.one(&mut chart, group, values))?;
    }
    names.label(area, &chart)
}

/// Where the boxes of a series stand in their groups.
struct Place {
    index: usize,
    width: f64,
}

impl Place {
    fn one(&self, chart: &mut Chart<'_, '_>, group: usize, values: &[f64]) -> Result<(), Fault> {
        let Some([least, low, median, high, greatest]) = summary(values) else { return Ok(()) };
        let middle = position(group) - FILLED / 2.0 + self.width * (position(self.index) + 0.5);
        let (left, right) = (middle - self.width * BOX / 2.0, middle + self.width * BOX / 2.0);
        let line = ShapeStyle::from(colour(self.index)).stroke_width(2);
        chart.draw_series(
            [[(middle, least), (middle, low)], [(middle, high), (middle, greatest)]]
                .map(|whisker| PathElement::new(whisker, line)),
        )?;
        chart.draw_series([Rectangle::new([(left, low), (right, high)], colour(self.index).mix(0.3).filled())])?;
        chart.draw_series([Rectangle::new([(left, low), (right, high)], line)])?;
        chart.draw_series([PathElement::new([(left, median), (right, median)], line)]).map(|_| ())
    }
}

/// Least value, lower quartile, median, upper quartile and greatest value of the finite values.
/// Quartiles are interpolated linearly between neighbours. `None` if there are no finite values.
pub(super) fn summary(values: &[f64]) -> Option<[f64; 5]> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let last = num::float_len(sorted.len().checked_sub(1)?);
    let at = |part: f64| {
        let (whole, rest) = num::split(part * last);
        let (here, next) = (sorted[whole], sorted[(whole + 1).min(sorted.len() - 1)]);
        here + (next - here) * rest
    };
    Some([0.0, 0.25, 0.5, 0.75, 1.0].map(at))
}
