//! Draws what lies over the screen: the keys, an explanation, what the policy would do now.

use crate::app::{App, Overlay};
use crate::canvas::{Canvas, TextRole};
use crate::detail::decision;
use crate::text::{short, wrapped};
use isobar_view::words::{gain, name};
use isobar_view::{ProgramView, View};
use ratatui_core::layout::Rect;

const KEYS: [&str; 18] = [
    "up down j k     select a row; page up, page down, home, end",
    "Enter           pages, harm, last decision and threads of that row",
    "left right      travel in time by an epoch; [ ] by ten; Esc: to now",
    "space           freeze; a simulated machine stands still, too",
    "+ -             a simulated machine faster, slower",
    "s S             sort by the next column, by the one before",
    "/               filter by a part of the name, or a pid",
    "t               programs, threads, by name, by group",
    "c               columns: overview, memory, decisions",
    "e               explain the last decision about the selected row",
    "d               dry run: show what would be done now",
    "u               undo the last decision about the selected row (asks first)",
    "r               record into a new file; again: end the recording",
    "?  q            this help; quit",
    "SLOW 1.41x      takes 1.41 times as long as alone with near pages",
    "HARMED BY b 20% would be 20 % faster without b (isobar's model)",
    "PAGES 00001111  where pages are, in eighths, by node",
    "FAR %           pages on nodes where it does not run",
];

/// Draws the open overlay over everything.
pub fn draw(app: &App, view: Option<&View>, canvas: &mut Canvas<'_>) {
    let (Some(overlay), area) = (app.overlay, canvas.area) else { return };
    let columns = usize::from(area.width.saturating_sub(8).min(110));
    let (title, lines) = match overlay {
        Overlay::Help => ("keys", help(view)),
        Overlay::Explain => ("the last decision", view.map(|view| explained(app, view)).unwrap_or_default()),
        Overlay::Try => ("what would be done now; nothing is changed", view.map(tried).unwrap_or_default()),
    };
    let most = usize::from(area.height.saturating_sub(4));
    let mut wide: Vec<String> = lines.iter().flat_map(|line| indented(line, columns)).collect();
    if wide.len() > most {
        wide.truncate(most.saturating_sub(1));
        wide.push("…".to_owned());
    }
    framed(title, &wide, columns, canvas);
}

/// A line with its continuation indented below its text.
fn indented(line: &str, columns: usize) -> Vec<String> {
    if crate::text::width(&crate::text::plain(line)) <= columns {
        return vec![crate::text::plain(line).into_owned()];
    }
    let indent = line.len() - line.trim_start().len();
    let space = " ".repeat(indent);
    wrapped(line, columns.saturating_sub(indent + 1), 12).into_iter().map(|part| format!("{space}{part}")).collect()
}

fn framed(title: &str, lines: &[String], columns: usize, canvas: &mut Canvas<'_>) {
    let (width, height) = (columns + 4, lines.len() + 2);
    let x = u16::try_from(usize::from(canvas.area.width).saturating_sub(width) / 2).unwrap_or(0);
    let y = u16::try_from(usize::from(canvas.area.height).saturating_sub(height) / 2).unwrap_or(0);
    let (w, h) = (u16::try_from(width).unwrap_or(u16::MAX), u16::try_from(height).unwrap_or(u16::MAX));
    canvas.clear(Rect::new(x, y, w, h));
    let title = short(&format!(" {title} "), columns);
    let rest = columns.saturating_sub(crate::text::width(&title) + 1) + 2;
    canvas.put(x, y, &format!("┌─{title}{}┐", "─".repeat(rest)), TextRole::Head);
    for (row, line) in (y + 1..).zip(lines) {
        let text = crate::text::left(line, columns);
        canvas.put(x, row, &format!("│ {text} │"), TextRole::Plain);
    }
    let last = y + h.saturating_sub(1);
    canvas.put(x, last, &format!("└{}┘", "─".repeat(columns + 2)), TextRole::Head);
}

fn help(view: Option<&View>) -> Vec<String> {
    let mut lines: Vec<String> = KEYS.iter().map(|line| (*line).to_owned()).collect();
    if let Some(view) = view {
        lines.extend(view.gaps.iter().map(|gap| format!("not measured: {}: {}", gap.what, gap.why)));
        lines.extend(view.remarks.iter().map(|remark| format!("remark: {remark}")));
    }
    lines
}

fn explained(app: &App, view: &View) -> Vec<String> {
    let wanted = |program: &&ProgramView| app.selected.is_some_and(|(pid, _)| pid == program.pid.0);
    let Some(program) = view.programs.iter().find(wanted) else {
        return vec!["No program is selected: choose one with the arrows, then e.".to_owned()];
    };
    let who = format!("{} (pid {})", name(&program.name), program.pid);
    let Some(last) = &program.last else {
        let what = proposal(view, program).unwrap_or_else(|| "nothing about it would be changed now".to_owned());
        return vec![format!("{who}: nothing was decided about it so far; {what}.")];
    };
    let [what, why] = decision(last, view);
    vec![who, what, why]
}

fn proposal(view: &View, program: &ProgramView) -> Option<String> {
    let planned = view.proposed.as_ref()?.moves.iter().find(|one| one.pid == program.pid)?;
    Some(format!("isobar would move it {}, predicted {}", planned.words, gain(planned.gain)))
}

/// What the policy would do now, line by line.
pub fn tried(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    if !view.actions.is_empty() {
        lines.push(format!("{} decided in this epoch:", view.policy));
        for action in &view.actions {
            let who = action.programs.iter().filter_map(|pid| view.programs.iter().find(|one| one.pid == *pid));
            let who: Vec<String> = who.map(|program| format!("{} ({})", name(&program.name), program.pid)).collect();
            lines.push(format!("  {}: {}: {}", who.join(", "), action.words, action.became));
            lines.push(format!("    {}", action.reason));
        }
    }
    match &view.proposed {
        None => lines.push("What isobar would do is not known: see what is not measured (?).".to_owned()),
        Some(proposed) if proposed.moves.is_empty() => {
            lines.push("isobar would do nothing: it finds no change worth making.".to_owned());
        }
        Some(proposed) => {
            lines.push(format!("isobar would now, for {} summed over all programs:", gain(proposed.gain)));
            let one = |planned: &isobar_view::PlannedMove| {
                format!(
                    "  move {} ({}) {}: {} for it",
                    name(&planned.name),
                    planned.pid,
                    planned.words,
                    gain(planned.gain)
                )
            };
            lines.extend(proposed.moves.iter().map(one));
            lines.push(
                "To do it: isobar manage --policy isobar (every change is measured, and taken back if it did harm)."
                    .to_owned(),
            );
        }
    }
    lines.extend(view.notes.iter().map(|note| format!("note: {note}")));
    lines
}
