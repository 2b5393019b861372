//! The service manager: systemd's protocol (`sd_notify(3)`), where one started us. Without one
//! every call does nothing.

use sd_notify::NotifyState;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Between two lines of state at least.
const STATUS_EVERY: Duration = Duration::from_secs(5);

/// What is told to the service manager. It must be told so by the loop itself: one that hangs is
/// ended and started again.
#[derive(Debug, Default)]
pub struct Service {
    watchdog: Option<Duration>,
    alive: Option<Instant>,
    status: Option<Instant>,
    stops: bool,
}

impl Service {
    /// As the environment says.
    pub fn new() -> Self {
        Self { watchdog: sd_notify::watchdog_enabled(), ..Self::default() }
    }

    /// Has the loop come by often enough for the watchdog, however long its interval is.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn pulse(&self, wake: Arc<dyn Fn() + Send + Sync>) -> std::io::Result<()> {
        let Some(limit) = self.watchdog else { return Ok(()) };
        let work = move || {
            loop {
                thread::sleep(limit / 3);
                wake();
            }
        };
        thread::Builder::new().name("pulse".into()).spawn(work).map(drop)
    }

    /// The loop is at work.
    pub fn alive(&mut self) {
        let Some(limit) = self.watchdog else { return };
        if self.alive.is_none_or(|last| last.elapsed() >= limit / 4) {
            self.alive = Some(Instant::now());
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// It has begun, or goes on after a reload.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// A new configuration is read.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(_) => tell(&[NotifyState::Reloading]),
        }
    }

    /// It is about to end. Said once.
    pub fn stopping(&mut self) {
        if !std::mem::replace(&mut self.stops, true) {
            tell(&[NotifyState::Stopping]);
        }
    }

    /// How it is, in a line, now and then.
    pub fn status(&mut self, line: impl FnOnce() -> String) {
        if self.status.is_none_or(|last| last.elapsed() >= STATUS_EVERY) {
            self.status = Some(Instant::now());
            tell(&[NotifyState::Status(&line())]);
        }
    }
}

/// A service manager that does not listen is no reason to fail.
fn tell(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}
