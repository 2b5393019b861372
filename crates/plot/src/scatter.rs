//! Scatter plots: small pale markers for the points of a series, and a large marker for their mean.
//! Each series has its own marker.

use crate::frame::{Area, FONT, Fault, LEFT, clean, colour, figure, position, range, tick};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    BLACK, Cartesian2d, Circle, Color, Cross, Polygon, Rectangle, SVGBackend, ShapeStyle, TriangleMarker,
};

/// A series of points: its name and (x, y).
pub type Points = (String, Vec<(f64, f64)>);

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const SMALL: i32 = 3;
const LARGE: i32 = 8;
const PALE: f64 = 0.35;

/// Points as an SVG document, with the mean of each series as a large marker. Points that are not
/// finite are left out.
#[must_use]
pub fn scatter(title: &str, series: &[Points], x_label: &str, y_label: &str) -> String {
    let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    let shown: Vec<Vec<(f64, f64)>> =
        series.iter().map(|(_, points)| points.iter().copied().filter(finite).collect()).collect();
    figure(title, series, |area| plot(area, &shown, (x_label, y_label)))
}

fn plot(area: &Area<'_>, series: &[Vec<(f64, f64)>], labels: (&str, &str)) -> Result<(), Fault> {
    let all = || series.iter().flatten();
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(16)
        .x_label_area_size(44)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(range(all().map(|(x, _)| *x), false), range(all().map(|(_, y)| *y), false))?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(BLACK.mix(0.0))
        .bold_line_style(BLACK.mix(0.1))
        .x_desc(clean(labels.0))
        .y_desc(clean(labels.1));
    mesh.label_style((FONT, 13)).axis_desc_style((FONT, 14));
    mesh.x_label_formatter(&|x| tick(*x)).y_label_formatter(&|y| tick(*y)).draw()?;
    for (index, points) in series.iter().enumerate() {
        points.iter().try_for_each(|at| mark(&mut chart, index, *at, SMALL, colour(index).mix(PALE).filled()))?;
    }
    for (index, points) in series.iter().enumerate().filter(|(_, points)| !points.is_empty()) {
        mark(&mut chart, index, mean(points), LARGE + 2, BLACK.filled())?;
        mark(&mut chart, index, mean(points), LARGE, colour(index).filled())?;
    }
    Ok(())
}

/// The marker of a series at a point.
fn mark(chart: &mut Chart<'_, '_>, index: usize, at: (f64, f64), size: i32, style: ShapeStyle) -> Result<(), Fault> {
    let from = |corners: &[(i32, i32)]| corners.iter().map(|(x, y)| (x * size, y * size)).collect::<Vec<_>>();
    match index % 5 {
        0 => chart.draw_series([Circle::new(at, size, style)]).map(|_| ()),
        1 => chart.draw_series([TriangleMarker::new(at, size + 2, style)]).map(|_| ()),
        2 => {
            let square =
                plotters::element::EmptyElement::at(at) + Rectangle::new([(-size, -size), (size, size)], style);
            chart.draw_series([square]).map(|_| ())
        }
        3 => {
            let diamond = from(&[(0, -1), (1, 0), (0, 1), (-1, 0)]);
            chart.draw_series([plotters::element::EmptyElement::at(at) + Polygon::new(diamond, style)]).map(|_| ())
        }
        _ => chart
            .draw_series([Cross::new(at, size, style.stroke_width(u32::try_from(size / 2).unwrap_or(1)))])
            .map(|_| ()),
    }
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let count = position(points.len().max(1));
    (x / count, y / count)
}
