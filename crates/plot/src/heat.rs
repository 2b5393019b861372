//! Heat maps: a grid of cells, darker for higher counts, on a logarithmic scale with a key beside
//! it.

use crate::frame::{Area, FONT, Fault, LEFT, clean, figure, position, tick};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{BLACK, Cartesian2d, Color, RGBColor, Rectangle, SVGBackend, Text};

/// Shades from least to most.
const SHADES: usize = 12;
/// Width in pixels of the key, to the right of the plot.
const KEY: u32 = 110;
/// The palest and the darkest shade.
const ENDS: [RGBColor; 2] = [RGBColor(222, 235, 247), RGBColor(8, 29, 88)];

/// A grid of counts.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Columns from left to right, each from the bottom up.
    pub columns: Vec<Vec<u64>>,
    /// The value of x at the right end; x begins at 0.
    pub x_end: f64,
    /// Label of the x axis.
    pub x_label: String,
    /// Label of the y axis.
    pub y_label: String,
    /// Tick labels of the y axis: the row and its text.
    pub rows: Vec<(usize, String)>,
    /// What a cell counts.
    pub key: String,
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A heat map as an SVG document. Cells that count 0 stay white.
#[must_use]
pub fn heat(title: &str, grid: &Grid) -> String {
    let unnamed: [(String, ()); 0] = [];
    figure(title, &unnamed, |area| plot(area, grid))
}

fn plot(area: &Area<'_>, grid: &Grid) -> Result<(), Fault> {
    let (width, _) = area.dim_in_pixel();
    let (map, key) = area.split_horizontally(width.saturating_sub(KEY));
    let rows = grid.columns.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let most = grid.columns.iter().flatten().copied().max().unwrap_or(0);
    let x_end = if grid.x_end > 0.0 { grid.x_end } else { 1.0 };
    let mut chart = ChartBuilder::on(&map)
        .margin(8)
        .x_label_area_size(44)
        .y_label_area_size(LEFT + 60)
        .build_cartesian_2d(0.0..x_end, 0.0..position(rows))?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().y_labels(0).x_labels(10).x_desc(clean(&grid.x_label)).y_desc(clean(&grid.y_label));
    mesh.label_style((FONT, 13)).axis_desc_style((FONT, 14)).x_label_formatter(&|x| tick(*x)).draw()?;
    let step = x_end / position(grid.columns.len().max(1));
    for (at, column) in grid.columns.iter().enumerate() {
        let across = (position(at) * step, position(at + 1) * step);
        runs(column, most).try_for_each(|run| cell(&mut chart, across, run))?;
    }
    labels(&map, &chart, grid)?;
    legend(&key, &grid.key, most)
}

/// A run of rows of one shade: first row, row after the last, shade.
type Run = (usize, usize, usize);

/// The runs of equal shade in a column, without cells that count 0.
fn runs(column: &[u64], most: u64) -> impl Iterator<Item = Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (row, shade) in column.iter().map(|count| shade(*count, most)).enumerate() {
        match (shade, runs.last_mut()) {
            (Some(shade), Some((_, end, before))) if *end == row && *before == shade => *end = row + 1,
            (Some(shade), _) => runs.push((row, row + 1, shade)),
            (None, _) => {}
        }
    }
    runs.into_iter()
}

fn cell(chart: &mut Chart<'_, '_>, (left, right): (f64, f64), (from, to, shade): Run) -> Result<(), Fault> {
    let corners = [(left, position(from)), (right, position(to))];
    chart.draw_series([Rectangle::new(corners, colour(shade).filled())]).map(|_| ())
}

/// The shade of a count, by its logarithm; `None` for 0.
fn shade(count: u64, most: u64) -> Option<usize> {
    let log = |count: u64| isobar_model::num::float(count).ln();
    let part = if most > 1 { log(count.max(1)) / log(most) } else { 1.0 };
    (count > 0).then(|| isobar_model::num::split(part * position(SHADES - 1) + 0.5).0.min(SHADES - 1))
}

fn colour(shade: usize) -> RGBColor {
    let part = position(shade) / position(SHADES - 1);
    let [RGBColor(r, g, b), RGBColor(to_r, to_g, to_b)] = ENDS;
    let mix = |from: u8, to: u8| {
        let mixed = isobar_model::num::round(f64::from(from) + (f64::from(to) - f64::from(from)) * part);
        u8::try_from(mixed).unwrap_or(u8::MAX)
    };
    RGBColor(mix(r, to_r), mix(g, to_g), mix(b, to_b))
}

fn labels(area: &Area<'_>, chart: &Chart<'_, '_>, grid: &Grid) -> Result<(), Fault> {
    use plotters::prelude::IntoFont;
    use plotters::style::TextStyle;
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    let (left, top) = area.get_base_pixel();
    let style: TextStyle<'_> = ("monospace", 11).into_font().into();
    let style = style.pos(Pos::new(HPos::Right, VPos::Center));
    grid.rows.iter().try_for_each(|(row, text)| {
        let (x, y) = chart.backend_coord(&(0.0, position(*row)));
        area.draw(&Text::new(clean(text), (x - left - 6, y - top), style.clone()))
    })
}

fn legend(area: &Area<'_>, title: &str, most: u64) -> Result<(), Fault> {
    area.draw(&Text::new(clean(title), (6, 14), (FONT, 13)))?;
    for (line, shade) in (0..).zip((0..SHADES).rev()) {
        let top = 36 + line * 18;
        area.draw(&Rectangle::new([(6, top), (24, top + 18)], colour(shade).filled()))?;
        if shade % 3 == 2 || shade == 0 {
            let log = isobar_model::num::float(most.max(1)).ln() * position(shade) / position(SHADES - 1);
            area.draw(&Text::new(short(log.exp()), (30, top + 3), (FONT, 12)))?;
        }
    }
    area.draw(&Rectangle::new([(6, 36), (24, 36 + 18 * 12)], BLACK.mix(0.4)))
}

/// `1`, `35`, `1.2 k`, `45 M`.
fn short(value: f64) -> String {
    const UNITS: [&str; 6] = ["", " k", " M", " G", " T", " P"];
    let step = (0..UNITS.len() - 1).take_while(|step| value >= 1000_f64.powf(position(step + 1)) * 0.9995).count();
    let value = value / 1000_f64.powf(position(step));
    let decimals = usize::from(value < 9.95 && step > 0);
    format!("{value:.decimals$}{}", UNITS[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_one_run_and_zero_is_none() {
        // The logarithms of 1, 1, 0 and 100 of 100: shades 0, 0, none, 11.
        assert_eq!(runs(&[1, 1, 0, 100], 100).collect::<Vec<_>>(), [(0, 2, 0), (3, 4, 11)]);
        assert_eq!((shade(10, 100), shade(1, 1), shade(0, 0)), (Some(6), Some(11), None));
    }

    #[test]
    fn numbers_at_the_key_are_short() {
        let cases = [(1.0, "1"), (35.4, "35"), (1234.0, "1.2 k"), (999.6, "1.0 k"), (45.2e6, "45 M")];
        cases.iter().for_each(|(value, text)| assert_eq!(short(*value), *text));
    }
}
