//! What all figures share: size, colours, title, legend, ranges. A figure has two stacked parts: a
//! head with title and legend, so that a legend never covers data, and the plot below it.

use isobar_model::num;
use plotters::coord::Shift;
use plotters::prelude::{
    Color, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, IntoFont, RGBColor, Rectangle, SVGBackend, Text, WHITE,
};
use plotters::style::TextStyle;
use std::fmt::Write;
use std::ops::Range;

/// The area of the figure to draw on.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Why drawing failed; drawing into a string never does.
pub(super) type Fault = DrawingAreaErrorKind<std::io::Error>;

/// Width and height in pixels.
pub(super) const SIZE: (u32, u32) = (800, 500);
/// A generic font family, which every viewer replaces by one that it has.
pub(super) const FONT: &str = "sans-serif";
/// Pixels from the left edge to the axis.
pub(super) const LEFT: u32 = 70;
const LEGEND_LINE: i32 = 18;
/// Width of an average character of the legend, in pixels.
const CHARACTER: usize = 7;

/// Colours that colour-blind readers can distinguish (Okabe and Ito, 2008), without the yellow,
/// which is hard to see on white paper.
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(80, 80, 80),
];

/// The colour of the series at `index`. The second seven colours are the first seven, paler, and so
/// on.
pub(super) fn colour(index: usize) -> RGBColor {
    let RGBColor(red, green, blue) = PALETTE[index % PALETTE.len()];
    let pale = |part: u8| part / 2 + 127;
    if (index / PALETTE.len()).is_multiple_of(2) {
        RGBColor(red, green, blue)
    } else {
        RGBColor(pale(red), pale(green), pale(blue))
    }
}

/// A figure with its title and the legend of its series; `plot` draws everything else.
pub(super) fn figure<T>(
    title: &str,
    series: &[(String, T)],
    plot: impl FnOnce(&Area<'_>) -> Result<(), Fault>,
) -> String {
    let mut text = String::new();
    let names: Vec<&str> = series.iter().map(|(name, _)| name.as_str()).collect();
    match draw(&mut text, title, &names, plot) {
        Ok(()) => text,
        // Writing to a string does not fail. If plotters ever reports an error, the figure shows
        // the error.
        Err(fault) => fallback(&format!("{title}: {fault}")),
    }
}

fn draw(
    text: &mut String,
    title: &str,
    names: &[&str],
    plot: impl FnOnce(&Area<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let rows = legend_rows(names);
    let lines = i32::try_from(rows.len()).unwrap_or(1);
    let (head, body) = root.split_vertically(36 + lines * LEGEND_LINE);
    let style: TextStyle<'_> = (FONT, 17).into_font().into();
    head.draw(&Text::new(clean(title), (10, 8), style))?;
    rows.iter().flatten().try_for_each(|entry| entry.draw(&head))?;
    plot(&body)?;
    root.present()
}

/// One name in the legend, with its place.
struct Entry {
    name: String,
    index: usize,
    at: (i32, i32),
}

impl Entry {
    fn draw(&self, head: &Area<'_>) -> Result<(), Fault> {
        let (x, y) = self.at;
        head.draw(&Rectangle::new([(x, y + 2), (x + 11, y + 12)], colour(self.index).filled()))?;
        head.draw(&Text::new(self.name.clone(), (x + 16, y), (FONT, 13)))
    }
}

/// The legend in as many rows as it needs; a single series without a name needs none.
fn legend_rows(names: &[&str]) -> Vec<Vec<Entry>> {
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let (mut x, mut y) = (10_i32, 32);
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let name = clean(name);
        let width = i32::try_from(32 + name.chars().count() * CHARACTER).unwrap_or(i32::MAX);
        if rows.is_empty() || x.saturating_add(width) > 790 {
            y += if rows.is_empty() { 0 } else { LEGEND_LINE };
            x = 10;
            rows.push(Vec::new());
        }
        if let Some(row) = rows.last_mut() {
            row.push(Entry { name, index, at: (x, y) });
        }
        x = x.saturating_add(width);
    }
    rows
}

/// The range of finite values, widened by a twentieth. With `zero`, the range starts or ends at 0
/// if all values are on one side of 0.
pub(super) fn range(values: impl Iterator<Item = f64>, zero: bool) -> Range<f64> {
    let seen = values.filter(|value| value.is_finite());
    let (low, high) = seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return 0.0..1.0;
    }
    let (low, high) = if zero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
    let pad = if high > low { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.05 };
    let open = |bound: f64| !zero || bound != 0.0;
    (if open(low) { low - pad } else { low })..(if open(high) || high <= low { high + pad } else { high })
}

/// A number on an axis: no more digits than needed, and powers of ten instead of many zeros.
pub(super) fn tick(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && size < 1e-3 {
        return format!("{value:.0e}");
    }
    if size >= 1e7 {
        return format!("{value:e}");
    }
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// Text that XML can hold: control characters, which no XML 1.0 document may contain, become `?`.
pub(super) fn clean(text: &str) -> String {
    let forbidden = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if forbidden(c) { '?' } else { c }).collect()
}

fn fallback(message: &str) -> String {
    let mut text = String::new();
    let (width, height) = SIZE;
    let _ = write!(
        text,
        r#"<svg width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg"><text x="10" y="20">"#
    );
    let escaped = clean(message).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = write!(text, "{escaped}</text></svg>");
    text
}

/// An index as a number on an axis.
pub(super) fn position(index: usize) -> f64 {
    num::float_len(index)
}
