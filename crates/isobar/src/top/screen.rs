//! The terminal: takes it, draws on it, and gives it back however the program ends. It knows
//! crossterm's events; what they do is up to the application.

use super::daemon_link::DaemonLink;
use super::{News, Order};
use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, terminal};
use isobar_tui::{App, Key, Reply};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::{Terminal, TerminalOptions, Viewport};
use ratatui_crossterm::CrosstermBackend;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

/// How long to wait for a key before looking for new epochs.
const TURN: Duration = Duration::from_millis(50);

/// Columns and rows of a terminal that does not report its size.
const VT100: (u16, u16) = (80, 24);

/// Whether we have taken the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Standard output by a descriptor of our own. The command holds the lock of the shared one from
/// beginning to end, and a panic may be reported in any thread.
fn tty() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Gives the terminal back, if we have taken it. May be called from any thread, any number of
/// times.
pub fn leave_the_screen() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // If this fails now, nothing else can be done.
        let _ = terminal::disable_raw_mode();
        let _ = tty().and_then(|mut tty| execute!(tty, terminal::LeaveAlternateScreen, cursor::Show));
    }
}

/// The terminal while we have it.
struct Taken(Terminal<CrosstermBackend<BufWriter<File>>>);

impl Taken {
    fn take() -> anyhow::Result<Self> {
        terminal::enable_raw_mode().context("the terminal cannot be used")?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(tty()?, terminal::EnterAlternateScreen, cursor::Hide)?;
        give_back_before_a_panic_is_told();
        let known = terminal::size().is_ok_and(|(columns, rows)| columns > 0 && rows > 0);
        let viewport = if known { Viewport::Fullscreen } else { Viewport::Fixed(Rect::new(0, 0, VT100.0, VT100.1)) };
        let options = TerminalOptions { viewport };
        Ok(Self(Terminal::with_options(CrosstermBackend::new(BufWriter::new(tty()?)), options)?))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        leave_the_screen();
    }
}

fn give_back_before_a_panic_is_told() {
    let notify = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave_the_screen();
        notify(panic);
    }));
}

/// Shows news until the user quits. After a source has ended by itself, its epochs can still be
/// looked at.
///
/// # Errors
/// The error that ended the source, or an error of the terminal.
pub fn show(app: &mut App, news: &Receiver<News>, orders: &Sender<Order>, daemon: &DaemonLink) -> anyhow::Result<()> {
    // Bad input is reported on an ordinary terminal.
    match news.recv() {
        Ok(News::Ended(done)) => return done,
        Ok(News::Stopped) | Err(_) => return Ok(()),
        Ok(_) => {}
    }
    let mut screen = Taken::take()?;
    loop {
        let fresh = match hear(app, news) {
            Heard::End(done) => return done,
            Heard::Something => true,
            Heard::Nothing => false,
        };
        if fresh {
            draw(&mut screen, app)?;
        }
        match obey(app, orders, daemon)? {
            Obeyed::Quit => return Ok(()),
            Obeyed::Something => draw(&mut screen, app)?,
            Obeyed::Nothing => {}
        }
        // Another thread gives the terminal back when it reports a panic or a stop that took too
        // long.
        if !TAKEN.load(Ordering::SeqCst) {
            return ended_elsewhere(news);
        }
    }
}

enum Obeyed {
    Nothing,
    Something,
    Quit,
}

/// Waits for a key, and handles it and all keys that wait behind it.
fn obey(app: &mut App, orders: &Sender<Order>, daemon: &DaemonLink) -> anyhow::Result<Obeyed> {
    let (mut obeyed, mut turn) = (Obeyed::Nothing, TURN);
    while event::poll(turn)? {
        (obeyed, turn) = (Obeyed::Something, Duration::ZERO);
        match pressed(&event::read()?).map(|key| app.press(key)) {
            Some(Reply::Quit) => return Ok(Obeyed::Quit),
            Some(Reply::FindUndo(pid)) => daemon.find(pid),
            Some(Reply::Undo) => match app.agreed() {
                Some(question) if question.of_daemon => daemon.undo(question),
                Some(question) => drop(orders.send(Order::Undo(question.ids))),
                None => {}
            },
            Some(reply) => answer(reply, orders),
            None => {}
        }
    }
    Ok(obeyed)
}

/// Another thread has given the terminal back: returns that thread's last report.
fn ended_elsewhere(news: &Receiver<News>) -> anyhow::Result<()> {
    let last = news.iter().find_map(|one| if let News::Ended(done) = one { Some(done) } else { None });
    last.unwrap_or(Ok(()))
}

enum Heard {
    Nothing,
    Something,
    End(anyhow::Result<()>),
}

/// Takes all news that has arrived.
fn hear(app: &mut App, news: &Receiver<News>) -> Heard {
    let mut heard = Heard::Nothing;
    loop {
        match news.try_recv() {
            Ok(News::View(view)) => app.take(view),
            Ok(News::Status(status)) => app.notify(status),
            Ok(News::Recording(file)) => app.recording(file),
            Ok(News::Question(question)) => app.ask(question),
            Ok(News::Ended(Err(why))) => return Heard::End(Err(why)),
            Ok(News::Stopped) => return Heard::End(Ok(())),
            Ok(News::Ended(Ok(()))) => app.notify("ended: arrows go back, q quits".to_owned()),
            Ok(News::Ready) => {}
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return heard,
        }
        heard = Heard::Something;
    }
}

fn draw(screen: &mut Taken, app: &mut App) -> anyhow::Result<()> {
    if !TAKEN.load(Ordering::SeqCst) {
        return Ok(());
    }
    screen.0.draw(|frame| isobar_tui::draw(app, frame.buffer_mut()))?;
    Ok(())
}

/// Passes a reply on as an order. If the source is gone, it needs no orders.
fn answer(reply: Reply, orders: &Sender<Order>) {
    let order = match reply {
        Reply::Stay | Reply::Quit | Reply::FindUndo(_) | Reply::Undo => return,
        Reply::Record => Order::Record,
        Reply::Pause(still) => Order::Pause(still),
        Reply::Step => Order::Step,
        Reply::Speed(factor) => Order::Speed(factor),
    };
    let _ = orders.send(order);
}

/// The key of an event; `None` for other events, such as a window that changed its size.
fn pressed(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    if modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(code, KeyCode::Char('c' | 'd')).then_some(Key::Interrupt);
    }
    Some(match code {
        KeyCode::Char(letter) => Key::Char(*letter),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
