//! Notifies the service manager by systemd's protocol (`sd_notify(3)`), if systemd started us.
//! Otherwise every call does nothing.

use sd_notify::NotifyState;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Minimum time between two status lines.
const STATUS_EVERY: Duration = Duration::from_secs(5);

/// The notifications to the service manager. The loop itself must send them, so that a daemon whose
/// loop hangs is ended and started again.
#[derive(Debug, Default)]
pub struct Service {
    watchdog: Option<Duration>,
    alive: Option<Instant>,
    status: Option<Instant>,
    stops: bool,
}

impl Service {
    /// Reads from the environment whether there is a watchdog.
    pub fn new() -> Self {
        Self { watchdog: sd_notify::watchdog_enabled(), ..Self::default() }
    }

    /// Wakes the loop often enough for the watchdog, however long the loop's interval is.
    ///
    /// # Errors
    /// If no thread can be started.
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

    /// Reports that the loop is at work.
    pub fn alive(&mut self) {
        let Some(limit) = self.watchdog else { return };
        if self.alive.is_none_or(|last| last.elapsed() >= limit / 4) {
            self.alive = Some(Instant::now());
            notify(&[NotifyState::Watchdog]);
        }
    }

    /// Reports that the daemon has started, or that a reload is done.
    pub fn ready(&self) {
        notify(&[NotifyState::Ready]);
    }

    /// Reports that a new configuration is being read.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => notify(&[NotifyState::Reloading, now]),
            Err(_) => notify(&[NotifyState::Reloading]),
        }
    }

    /// Reports once that the daemon is about to end.
    pub fn stopping(&mut self) {
        if !std::mem::replace(&mut self.stops, true) {
            notify(&[NotifyState::Stopping]);
        }
    }

    /// Reports the state in one line, if enough time has passed since the last one.
    pub fn status(&mut self, line: impl FnOnce() -> String) {
        if self.status.is_none_or(|last| last.elapsed() >= STATUS_EVERY) {
            self.status = Some(Instant::now());
            notify(&[NotifyState::Status(&line())]);
        }
    }
}

/// Sends a notification. A service manager that does not listen is no reason to fail.
fn notify(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}
