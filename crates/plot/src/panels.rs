//! Panels below each other over one x axis: related figures with different units.

use crate::frame::{Area, FONT, Fault, LEFT, clean, colour, figure, position, range, tick};
use plotters::chart::ChartBuilder;
use plotters::prelude::{BLACK, Color, LineSeries, PathElement};
use std::ops::Range;

/// A panel: values of one unit.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Label of its y axis, with the unit.
    pub y_label: String,
    /// Range of its y axis; `None` for 0 to the greatest value.
    pub y_range: Option<Range<f64>>,
    /// Points, ascending by x; a point that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// Whether points are drawn as columns from 0 up instead of a line.
    pub columns: bool,
}

/// Panels as an SVG document. All have the same height, and the last carries the x axis.
#[must_use]
pub fn panels(title: &str, panels: &[Panel], x_label: &str) -> String {
    let unnamed: [(String, ()); 0] = [];
    figure(title, &unnamed, |area| plot(area, panels, x_label))
}

fn plot(area: &Area<'_>, panels: &[Panel], x_label: &str) -> Result<(), Fault> {
    let across = range(panels.iter().flat_map(|panel| panel.points.iter().map(|(x, _)| *x)), false);
    let parts = area.split_evenly((panels.len().max(1), 1));
    for (index, (part, panel)) in parts.iter().zip(panels).enumerate() {
        let last = index + 1 == panels.len();
        one(part, panel, index, across.clone(), last.then_some(x_label))?;
    }
    Ok(())
}

fn one(area: &Area<'_>, panel: &Panel, index: usize, across: Range<f64>, x_label: Option<&str>) -> Result<(), Fault> {
    let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    let up = panel.y_range.clone();
    let up = up.unwrap_or_else(|| range(panel.points.iter().filter(|at| finite(at)).map(|(_, y)| *y), true));
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(16)
        .x_label_area_size(if x_label.is_some() { 44 } else { 8 })
        .y_label_area_size(LEFT)
        .build_cartesian_2d(across, up)?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(BLACK.mix(0.0)).bold_line_style(BLACK.mix(0.1)).y_desc(clean(&panel.y_label));
    mesh.label_style((FONT, 13)).axis_desc_style((FONT, 14)).y_labels(6);
    mesh.x_label_formatter(&|x| tick(*x)).y_label_formatter(&|y| tick(*y));
    match x_label {
        Some(label) => mesh.x_labels(12).x_desc(clean(label)),
        None => mesh.x_labels(0),
    };
    mesh.draw()?;
    let style = colour(index).stroke_width(2);
    if panel.columns {
        let column = |(x, y): &(f64, f64)| PathElement::new([(*x, 0.0), (*x, *y)], style);
        return chart.draw_series(panel.points.iter().filter(|at| finite(at)).map(column)).map(|_| ());
    }
    // Gaps stay gaps. A point between two gaps is drawn as a short line.
    for run in panel.points.split(|at| !finite(at)).filter(|run| !run.is_empty()) {
        chart.draw_series(LineSeries::new(run.iter().copied(), style))?;
        if let [(x, y)] = run {
            let short = position(1) * 1e-9;
            chart.draw_series([PathElement::new([(*x, *y), (*x + short, *y)], style)])?;
        }
    }
    Ok(())
}
