//! Draws the last lines: what is not measured and why, and the keys or what is being typed.

use crate::app::App;
use crate::canvas::{Canvas, TextRole};
use crate::text::short;
use isobar_view::View;

/// Number of lines for gaps on a low screen, and on a high one.
const GAPS: (usize, usize) = (1, 3);

/// Draws the last lines; returns the row at which they begin.
pub fn draw(app: &App, view: Option<&View>, canvas: &mut Canvas<'_>) -> u16 {
    let columns = usize::from(canvas.area.width);
    let last = canvas.area.bottom().saturating_sub(1);
    let most = if canvas.area.height < 30 { GAPS.0 } else { GAPS.1 };
    let gaps = view.map(|view| &view.gaps[..view.gaps.len().min(most)]).unwrap_or_default();
    let begin = last.saturating_sub(u16::try_from(gaps.len()).unwrap_or(0));
    for (y, gap) in (begin..).zip(gaps) {
        canvas.put(0, y, &short(&format!("- {}: {}", gap.what, gap.why), columns), TextRole::Warm);
    }
    let (text, ink) = if let Some(question) = &app.question {
        (question.line(), TextRole::Bold)
    } else if app.typing {
        (format!("filter by name or number: {}_   Enter keeps it, Esc clears it", app.filter), TextRole::Bold)
    } else {
        (keys(app), TextRole::Dim)
    };
    canvas.put(0, last, &short(&text, columns), ink);
    begin
}

fn keys(app: &App) -> String {
    let filter = if app.filter.is_empty() { "/ filter".to_owned() } else { format!("/ filter: {}", app.filter) };
    let (kind, sort, columns) = (app.kind.name(), app.sort.name(), app.columns.name());
    format!(
        "q quit  ? help  s {sort}  t {kind}  c {columns}  {filter}  d try  e explain  space freeze  <- -> time  u undo  r record"
    )
}
