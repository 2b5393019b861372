//! Draws the table of programs, threads or groups: its heading, the rows that there is room for,
//! and what is expanded below them.

use crate::app::App;
use crate::canvas::{Canvas, TextRole};
use crate::cells::cell;
use crate::columns::Column;
use crate::detail;
use crate::rows::{Kind, Row, Sort};
use crate::text::{left, right};
use isobar_view::View;
use std::ops::Range;

/// If at least this number of rows is left below the table, they show more of one program, and what
/// the policy would do.
const SPARE: u16 = 10;

/// Draws into these rows of the screen.
pub fn draw(app: &mut App, view: &View, canvas: &mut Canvas<'_>, rows: Range<u16>) {
    if rows.is_empty() {
        return;
    }
    let groups = app.kind.together(view);
    let list = app.rows(view, &groups);
    app.order = list.iter().map(Row::id).collect();
    let room = usize::from(rows.end - rows.start).saturating_sub(1);
    app.page = isize::try_from(room.max(2) - 1).unwrap_or(1);
    scroll(app, &list, room);
    let decided = view.programs.iter().any(|program| program.last.is_some());
    let columns =
        app.columns.fitting(usize::from(canvas.area.width), view.nodes.len(), decided, app.kind == Kind::Groups);
    heading(app, &columns, canvas, rows.start);
    let mut y = rows.start + 1;
    for row in list.iter().skip(app.first) {
        if y >= rows.end {
            break;
        }
        one(app, row, view, &columns, canvas, y);
        y += 1;
        if app.expanded.contains(&row.id()) {
            y = detail::draw(row.program, view, canvas, y..rows.end);
        }
    }
    if y + SPARE <= rows.end && !list.is_empty() {
        spare(app, &list, view, canvas, y + 1..rows.end);
    }
    if list.is_empty() {
        let why =
            if app.filter.is_empty() { "no program runs" } else { "no program matches the filter: Esc clears it" };
        canvas.put(2, y, why, TextRole::Dim);
    }
}

/// Uses the rows that are left to show more of the selected program (or of the first), and what the
/// policy would do.
fn spare(app: &App, list: &[Row<'_>], view: &View, canvas: &mut Canvas<'_>, rows: Range<u16>) {
    let Some(row) = app.selected.and_then(|id| list.iter().find(|row| row.id() == id)).or(list.first()) else { return };
    let title = format!("{} ({})", isobar_view::words::name(&row.program.name), row.program.pid);
    let mut y = rows.start;
    if !app.expanded.contains(&row.id()) {
        canvas.put(0, y, &title, TextRole::Head);
        y = detail::draw(row.program, view, canvas, y + 1..rows.end) + 1;
    }
    if y + 2 > rows.end {
        return;
    }
    canvas.put(0, y, "what would be done now", TextRole::Head);
    let columns = usize::from(canvas.area.width).saturating_sub(4);
    for (y, line) in (y + 1..rows.end).zip(crate::overlay::tried(view)) {
        canvas.put(4, y, &crate::text::short(&line, columns), TextRole::Dim);
    }
}

/// Keeps the selection on the screen, with its expanded lines if there is room.
fn scroll(app: &mut App, list: &[Row<'_>], room: usize) {
    let height = |row: &Row<'_>| if app.expanded.contains(&row.id()) { 1 + detail::height(row.program) } else { 1 };
    app.first = app.first.min(list.len().saturating_sub(1));
    let Some(at) = app.selected.and_then(|id| list.iter().position(|row| row.id() == id)) else {
        app.first = 0;
        return;
    };
    app.first = app.first.min(at);
    while app.first < at && list[app.first..=at].iter().map(height).sum::<usize>() > room.max(1) {
        app.first += 1;
    }
}

fn heading(app: &App, columns: &[(Column, usize)], canvas: &mut Canvas<'_>, y: u16) {
    let title = |column: Column| match column {
        Column::Pid if app.kind == Kind::Threads => "TID".to_owned(),
        column if Some(column) == sorted(app.sort) => format!("{}▾", column.title()),
        column => column.title().to_owned(),
    };
    let cells = columns.iter().map(|(column, width)| put(*column, &title(*column), *width));
    canvas.put(0, y, cells.collect::<Vec<_>>().join(" ").trim_end(), TextRole::Head);
}

const fn sorted(sort: Sort) -> Option<Column> {
    Some(match sort {
        Sort::Slowdown => Column::Slowdown,
        Sort::Cpu => Column::Cpu,
        Sort::Mpki => Column::Mpki,
        Sort::Bandwidth => Column::Bandwidth,
        Sort::Remote => Column::Far,
        Sort::Harms => Column::Harms,
        Sort::Action => Column::Last,
        Sort::Pid => Column::Pid,
        Sort::Name => Column::Name,
    })
}

fn put(column: Column, text: &str, width: usize) -> String {
    if column.is_left() { left(text, width) } else { right(text, width) }
}

fn one(app: &App, row: &Row<'_>, view: &View, columns: &[(Column, usize)], canvas: &mut Canvas<'_>, y: u16) {
    let mut x = 0;
    for (column, width) in columns {
        let (text, ink) = cell(*column, row, view);
        x = canvas.put(x, y, &put(*column, &text, *width), ink) + 1;
    }
    if app.selected == Some(row.id()) {
        canvas.select(y);
    }
}
