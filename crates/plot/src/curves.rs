//! Curves: one line per series, with a marker at each point so that series can be distinguished
//! without colour.

use crate::frame::{Area, FONT, Fault, LEFT, clean, colour, figure, range, tick};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    BLACK, Cartesian2d, Circle, Color, Cross, IntoLogRange, LineSeries, SVGBackend, TriangleMarker,
};

/// Curves as an SVG document. Points that are not finite are left out, and with `log_x` also points
/// whose x is not above 0.
#[must_use]
pub fn curves(title: &str, series: &[(String, Vec<(f64, f64)>)], x_label: &str, y_label: &str, log_x: bool) -> String {
    let shown = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && (!log_x || *x > 0.0);
    let lines: Vec<Vec<(f64, f64)>> =
        series.iter().map(|(_, points)| points.iter().copied().filter(shown).collect()).collect();
    let labels = (x_label, y_label);
    figure(title, series, |area| if log_x { logarithmic(area, &lines, labels) } else { linear(area, &lines, labels) })
}

fn linear(area: &Area<'_>, lines: &[Vec<(f64, f64)>], labels: (&str, &str)) -> Result<(), Fault> {
    let across = range(lines.iter().flatten().map(|(x, _)| *x), false);
    plot(area, lines, across, labels)
}

/// Draws with a logarithmic x axis. A margin of a tenth of a power of two on both sides keeps
/// markers off the frame.
fn logarithmic(area: &Area<'_>, lines: &[Vec<(f64, f64)>], labels: (&str, &str)) -> Result<(), Fault> {
    let values = || lines.iter().flatten().map(|(x, _)| *x);
    let (low, high) = values().fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
    let across = (low / 1.2..high * 1.2).log_scale();
    let across = if decimal(values()) { across } else { across.base(2.0) };
    plot(area, lines, across, labels)
}

/// Whether powers of ten suit the values better than powers of two.
fn decimal(mut values: impl Iterator<Item = f64>) -> bool {
    !values.all(|x| x >= 1.0 && x.fract() == 0.0)
}

fn plot<X>(area: &Area<'_>, lines: &[Vec<(f64, f64)>], across: X, labels: (&str, &str)) -> Result<(), Fault>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let up = range(lines.iter().flatten().map(|(_, y)| *y), true);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(16)
        .x_label_area_size(44)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(across, up)?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(BLACK.mix(0.0))
        .bold_line_style(BLACK.mix(0.1))
        .x_desc(clean(labels.0))
        .y_desc(clean(labels.1));
    mesh.x_labels(16).label_style((FONT, 13)).axis_desc_style((FONT, 14));
    mesh.x_label_formatter(&|x| tick(*x)).y_label_formatter(&|y| tick(*y)).draw()?;
    lines.iter().enumerate().try_for_each(|(index, line)| curve(&mut chart, index, line))
}

fn curve<X: Ranged<ValueType = f64>>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, RangedCoordf64>>,
    index: usize,
    line: &[(f64, f64)],
) -> Result<(), Fault> {
    let style = colour(index).stroke_width(2);
    chart.draw_series(LineSeries::new(line.iter().copied(), style))?;
    match index % 3 {
        0 => chart.draw_series(line.iter().map(|at| Circle::new(*at, 4, colour(index).filled())))?,
        1 => chart.draw_series(line.iter().map(|at| TriangleMarker::new(*at, 6, colour(index).filled())))?,
        _ => chart.draw_series(line.iter().map(|at| Cross::new(*at, 5, style)))?,
    };
    Ok(())
}
