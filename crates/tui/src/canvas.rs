//! Draws into cells: text that stays within its columns, bars, sparklines, and a few colours.
//! Everything that a colour says is also said by characters, for screens without colour.

use crate::text::width;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

/// From here on a figure is a warning, as a fraction of the capacity.
const WARM: f64 = 0.6;
/// From here on it is too much: the threshold of the verdict.
const HOT: f64 = 0.8;

/// The meaning of a text, which decides how it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// In the terminal's normal style.
    Plain,
    /// Less important.
    Dim,
    /// Worth a look.
    Bold,
    /// Fine.
    Good,
    /// A warning.
    Warm,
    /// Too much.
    Hot,
    /// A heading.
    Head,
}

/// The ink for a fraction of the capacity.
#[must_use]
pub fn heat(part: f64) -> TextRole {
    if part >= HOT {
        TextRole::Hot
    } else if part >= WARM {
        TextRole::Warm
    } else {
        TextRole::Good
    }
}

/// The area to draw in.
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    /// The area.
    pub area: Rect,
    colour: bool,
}

impl<'a> Canvas<'a> {
    /// A canvas over a whole buffer.
    pub fn new(buffer: &'a mut Buffer, colour: bool) -> Self {
        let area = buffer.area;
        Self { buffer, area, colour }
    }

    /// Writes at a position; returns the column after the text. Nothing is written outside the
    /// area.
    pub fn put(&mut self, x: u16, y: u16, text: &str, ink: TextRole) -> u16 {
        let Some(room) = self.area.right().checked_sub(x).filter(|_| y < self.area.bottom()) else { return x };
        let style = self.style(ink);
        self.buffer.set_stringn(x, y, text, usize::from(room), style).0
    }

    /// A bar `columns` wide.
    pub fn bar(&mut self, x: u16, y: u16, columns: u16, part: Option<f64>, ink: TextRole) -> u16 {
        self.put(x, y, &bar(usize::from(columns), part), if part.is_some() { ink } else { TextRole::Dim })
    }

    /// Shows a row in reverse video.
    pub fn select(&mut self, y: u16) {
        if y < self.area.bottom() {
            let row = Rect::new(self.area.x, y, self.area.width, 1);
            self.buffer.set_style(row, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Clears a part of the area, so that something can be drawn over it.
    pub fn clear(&mut self, part: Rect) {
        for y in part.top()..part.bottom().min(self.area.bottom()) {
            for x in part.left()..part.right().min(self.area.right()) {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
        }
    }

    fn style(&self, ink: TextRole) -> Style {
        let plain = Style::new();
        let coloured = |colour: Color| if self.colour { plain.fg(colour) } else { plain };
        match ink {
            TextRole::Plain => plain,
            TextRole::Dim if self.colour => plain.add_modifier(Modifier::DIM),
            TextRole::Dim => plain,
            TextRole::Bold | TextRole::Head => plain.add_modifier(Modifier::BOLD),
            TextRole::Good => coloured(Color::Green),
            TextRole::Warm => coloured(Color::Yellow),
            TextRole::Hot => coloured(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}

/// `█████···`, in half columns; an unknown value is `--------`.
#[must_use]
pub fn bar(columns: usize, part: Option<f64>) -> String {
    let Some(part) = part else { return "-".repeat(columns) };
    let halves = isobar_model::num::round(part.clamp(0.0, 1.0) * 2.0 * isobar_model::num::float_len(columns));
    let halves = usize::try_from(halves).unwrap_or(0);
    let (full, half) = (halves / 2, halves % 2);
    let rest = columns.saturating_sub(full + half);
    "█".repeat(full) + &"▌".repeat(half) + &"·".repeat(rest)
}

/// The last figures, on a scale from the low end to the high end; a gap is a dot.
#[must_use]
pub fn sparkline(figures: &[Option<f64>], columns: usize, (low, high): (f64, f64)) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let from = figures.len().saturating_sub(columns);
    let step = |figure: &Option<f64>| {
        let Some(figure) = figure else { return '·' };
        let part = (figure - low) / (high - low).max(1e-9);
        let step = isobar_model::num::round(part.clamp(0.0, 1.0) * 7.0);
        STEPS[usize::try_from(step).unwrap_or(0).min(7)]
    };
    let drawn: String = figures[from..].iter().map(step).collect();
    " ".repeat(columns.saturating_sub(width(&drawn))) + &drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_sparklines() {
        assert_eq!(
            (bar(4, Some(0.5)), bar(4, Some(0.63)), bar(4, Some(7.0)), bar(4, None)),
            ("██··".into(), "██▌·".into(), "████".into(), "----".into())
        );
        let figures = [Some(0.0), None, Some(0.5), Some(1.0)];
        assert_eq!(sparkline(&figures, 6, (0.0, 1.0)), "  ▁·▅█");
        assert_eq!(sparkline(&figures, 2, (0.0, 1.0)), "▅█");
        assert_eq!((heat(0.59), heat(0.6), heat(0.8)), (TextRole::Good, TextRole::Warm, TextRole::Hot));
    }

    #[test]
    fn nothing_is_drawn_beyond_the_area() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        let mut canvas = Canvas::new(&mut buffer, false);
        assert_eq!(canvas.put(2, 0, "abcdef", TextRole::Plain), 4);
        assert_eq!((canvas.put(9, 0, "x", TextRole::Plain), canvas.put(0, 9, "x", TextRole::Plain)), (9, 0));
        canvas.select(9);
        assert_eq!(buffer.content().iter().map(ratatui_core::buffer::Cell::symbol).collect::<String>(), "  ab");
    }
}
