//! What the keys do. This module knows keys by their labels, not how a terminal sends them.

use crate::app::{App, Overlay};
use crate::reply::{Key, Reply};
use crate::rows::Kind;
use crate::undo;

/// Number of epochs in a page of time.
const LEAP: i64 = 10;

impl App {
    /// Does what a key asks for.
    pub fn press(&mut self, key: Key) -> Reply {
        press(self, key)
    }
}

fn press(app: &mut App, key: Key) -> Reply {
    if key == Key::Interrupt {
        return Reply::Quit;
    }
    if app.typing {
        typed(app, key);
        return Reply::Stay;
    }
    if app.question.is_some() {
        return undo::answered(app, key);
    }
    if app.overlay.is_some() {
        return over(app, key);
    }
    match key {
        Key::Char('q') => return Reply::Quit,
        Key::Char('?' | 'h') => app.overlay = Some(Overlay::Help),
        Key::Char('e') => app.overlay = Some(Overlay::Explain),
        Key::Char('d') => app.overlay = Some(Overlay::Try),
        Key::Char('u') => return undo::begin(app),
        Key::Char('r') => return Reply::Record,
        Key::Char('s') => app.sort = app.sort.next(),
        Key::Char('S') => app.sort = app.sort.before(),
        Key::Char('c') => app.columns = app.columns.next(),
        Key::Char('t') => turn(app, app.kind.next()),
        Key::Char('/') => app.typing = true,
        Key::Char(' ') => return freeze(app),
        Key::Char('+' | '=') => return Reply::Speed(2.0),
        Key::Char('-') => return Reply::Speed(0.5),
        Key::Escape => return escape(app),
        Key::Enter => app.expand(),
        Key::Left => return travel(app, -1),
        Key::Right => return travel(app, 1),
        Key::Char('[' | '<') => return travel(app, -LEAP),
        Key::Char(']' | '>') => return travel(app, LEAP),
        Key::Up | Key::Char('k') => app.go(-1),
        Key::Down | Key::Char('j') => app.go(1),
        Key::PageUp => app.go(-app.page),
        Key::PageDown => app.go(app.page),
        Key::Home => app.go(isize::MIN),
        Key::End => app.go(isize::MAX),
        _ => {}
    }
    Reply::Stay
}

fn typed(app: &mut App, key: Key) {
    match key {
        Key::Enter => app.typing = false,
        Key::Escape => {
            app.typing = false;
            app.filter.clear();
        }
        Key::Backspace => drop(app.filter.pop()),
        Key::Char(letter) if !letter.is_control() && app.filter.chars().count() < 64 => app.filter.push(letter),
        _ => {}
    }
}

fn over(app: &mut App, key: Key) -> Reply {
    match key {
        Key::Char('q') => return Reply::Quit,
        // An explanation follows the selection.
        Key::Up | Key::Char('k') => app.go(-1),
        Key::Down | Key::Char('j') => app.go(1),
        Key::Left => return travel(app, -1),
        Key::Right => return travel(app, 1),
        Key::Char('e') => app.overlay = other(app.overlay, Overlay::Explain),
        Key::Char('d') => app.overlay = other(app.overlay, Overlay::Try),
        Key::Char('?') => app.overlay = other(app.overlay, Overlay::Help),
        _ => app.overlay = None,
    }
    Reply::Stay
}

fn other(open: Option<Overlay>, asked: Overlay) -> Option<Overlay> {
    (open != Some(asked)).then_some(asked)
}

fn turn(app: &mut App, kind: Kind) {
    app.kind = kind;
    app.selected = None;
}

/// Leaves a special mode: first the filter, then the past.
fn escape(app: &mut App) -> Reply {
    if !app.filter.is_empty() {
        app.filter.clear();
        return Reply::Stay;
    }
    if app.past.is_frozen() {
        app.past.freeze(false);
        return Reply::Pause(false);
    }
    app.selected = None;
    Reply::Stay
}

fn freeze(app: &mut App) -> Reply {
    let frozen = !app.past.is_frozen();
    app.past.freeze(frozen);
    Reply::Pause(frozen)
}

/// Travelling beyond the newest view makes a machine that is paused advance by an epoch.
fn travel(app: &mut App, epochs: i64) -> Reply {
    let frozen = app.past.is_frozen();
    if epochs > 0 && !frozen {
        return Reply::Stay;
    }
    if app.past.travel(epochs) {
        app.past.freeze(false);
        app.refreeze = true;
        return Reply::Step;
    }
    if frozen { Reply::Stay } else { Reply::Pause(true) }
}
