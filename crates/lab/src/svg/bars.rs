//! Grouped bars: one group a category, in each group one bar a series.

use super::frame::{Area, FONT, Fault, LEFT, clean, colour, figure, position, range, tick};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{BLACK, Cartesian2d, Color, FontTransform, IntoFont, PathElement, Rectangle, SVGBackend, Text};
use plotters::style::TextStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Part of the width of a group that its bars fill.
const FILLED: f64 = 0.8;
/// Below this many pixels a character, category names stand upright.
const CHARACTER: usize = 7;
const PLOT_WIDTH: usize = 700;
/// Longest name of a category, in characters.
const LONGEST: usize = 22;

/// Grouped bars as an SVG document. Each series has one value a category, in the same order; `None` (not measured) leaves a
/// gap. The axis always shows 0, since the length of a bar is its meaning.
#[must_use]
pub fn bars(title: &str, categories: &[String], series: &[(String, Vec<Option<f64>>)], y_label: &str) -> String {
    let names: Vec<&str> = series.iter().map(|(name, _)| name.as_str()).collect();
    figure(title, &names, |area| plot(area, categories, series, y_label))
}

fn plot(
    area: &Area<'_>,
    categories: &[String],
    series: &[(String, Vec<Option<f64>>)],
    y_label: &str,
) -> Result<(), Fault> {
    let names: Vec<String> = categories.iter().map(|name| clean(name).chars().take(LONGEST).collect()).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let upright = names.len() * (longest + 1) * CHARACTER > PLOT_WIDTH;
    let room = if upright { 20 + u32::try_from(longest * CHARACTER).unwrap_or(0) } else { 30 };
    let values = series.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(room)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(-0.5..position(names.len().max(1)) - 0.5, range(values, true))?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().x_labels(0).light_line_style(BLACK.mix(0.0)).y_desc(clean(y_label));
    mesh.label_style((FONT, 13)).axis_desc_style((FONT, 14)).y_label_formatter(&|y| tick(*y)).draw()?;
    series.iter().enumerate().try_for_each(|(index, (_, values))| row(&mut chart, index, series.len(), values))?;
    chart.draw_series([PathElement::new([(-0.5, 0.0), (position(names.len().max(1)) - 0.5, 0.0)], BLACK)])?;
    label(area, &chart, &names, upright)
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

/// Names below their groups.
fn label(area: &Area<'_>, chart: &Chart<'_, '_>, names: &[String], upright: bool) -> Result<(), Fault> {
    let bottom = chart.plotting_area().get_pixel_range().1.end;
    let (left, top) = area.get_base_pixel();
    let style: TextStyle<'_> = (FONT, 13).into_font().into();
    let style = if upright {
        style.transform(FontTransform::Rotate270).pos(Pos::new(HPos::Right, VPos::Center))
    } else {
        style.pos(Pos::new(HPos::Center, VPos::Top))
    };
    names.iter().enumerate().try_for_each(|(index, name)| {
        let (x, _) = chart.backend_coord(&(position(index), 0.0));
        area.draw(&Text::new(name.clone(), (x - left, bottom - top + 7), style.clone()))
    })
}
