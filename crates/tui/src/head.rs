//! Draws the title and the verdict.

use crate::app::App;
use crate::canvas::{Canvas, TextRole};
use crate::text::{short, width, wrapped};
use isobar_view::{Answer, View};

/// Draws both; returns the row after them.
pub fn draw(app: &App, view: Option<&View>, canvas: &mut Canvas<'_>) -> u16 {
    title(app, view, canvas);
    let Some(view) = view else {
        let text = if app.status.is_empty() { "the first epoch is being watched" } else { &app.status };
        canvas.put(0, 1, &short(text, usize::from(canvas.area.width)), TextRole::Plain);
        return 2;
    };
    verdict(view, canvas)
}

fn title(app: &App, view: Option<&View>, canvas: &mut Canvas<'_>) {
    let columns = usize::from(canvas.area.width);
    let mut left = "isobar top".to_owned();
    // First, because the end of a line is cut if it does not fit.
    if let Some(file) = &app.recording {
        left.push_str(&format!("  REC {}", short(file, 40)));
    }
    left.push_str(&format!("  {}", short(&app.setup.source, 40)));
    if let Some(view) = view {
        left.push_str(&format!("  {}", clock(view.time_seconds)));
    }
    left.push_str(&format!("  {}", app.setup.mode));
    let mut right = short(&app.status, 30);
    if let (Some(view), Some(newest)) = (view, app.past.newest()) {
        let back = newest.time_seconds - view.time_seconds;
        if back > 0.0 {
            right = format!("{} AGO  {right}", clock(back));
        } else if app.past.is_frozen() {
            right = format!("FROZEN  {right}");
        }
    }
    let right = format!("{}  ? help", right.trim_end());
    let right = right.trim_start();
    let room = columns.saturating_sub(width(right) + 1);
    canvas.put(0, 0, &short(&left, room), TextRole::Head);
    let at = u16::try_from(columns.saturating_sub(width(right))).unwrap_or(0);
    canvas.put(at, 0, right, if app.past.is_frozen() { TextRole::Warm } else { TextRole::Dim });
}

/// `12.0 s`, `3:05 min`, `2:14:00 h`.
fn clock(seconds: f64) -> String {
    let whole = isobar_model::num::floor(seconds.max(0.0));
    match whole {
        0..120 => format!("{seconds:.1} s"),
        120..7200 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

/// The answer in a word, then the sentences, on as many lines as needed, at most four.
fn verdict(view: &View, canvas: &mut Canvas<'_>) -> u16 {
    let (word, ink) = match view.verdict.answer {
        Answer::Yes => ("CONTENTION", TextRole::Hot),
        Answer::No => ("QUIET", TextRole::Good),
        Answer::NotMeasurable => ("UNKNOWN", TextRole::Warm),
    };
    let columns = usize::from(canvas.area.width);
    let lines =
        wrapped(&format!("{word}: {}", view.verdict.line()), columns, if canvas.area.height < 20 { 2 } else { 4 });
    for (y, line) in (1..).zip(&lines) {
        canvas.put(0, y, line, TextRole::Bold);
    }
    canvas.put(0, 1, word, ink);
    1 + u16::try_from(lines.len()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(
            (clock(12.04), clock(185.0), clock(8040.0)),
            ("12.0 s".into(), "3:05 min".into(), "2:14:00 h".into())
        );
    }
}
