//! Handles signals that ask to stop. They raise a flag and do nothing else. The loop checks the
//! flag, puts back what was changed, and ends in order. More signals change nothing: only a time
//! limit can cut the put-back short.

use crate::failure::notify;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::ffi::c_int;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a wait checks the flag.
const SLICE: Duration = Duration::from_millis(50);

/// Whether a stop was requested. A flag is down until signals are made to raise it.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// For work that changes nothing outside the process: SIGINT, SIGTERM and SIGHUP raise the
    /// flag, and a second one ends the process at once.
    ///
    /// # Errors
    /// If the kernel refuses a handler.
    pub fn install() -> io::Result<Self> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first signal finds the flag down and only raises it.
            flag::register_conditional_default(signal, Arc::clone(&raised))?;
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(Self(raised))
    }

    /// For work that must be undone: from now on each of `signals` raises the flag, however often
    /// it comes. If the process still runs `patience` after the first signal, it prints what `left`
    /// returns and ends with exit code 1.
    ///
    /// # Errors
    /// If the kernel refuses a handler or a thread.
    pub fn raise_on(
        &self,
        signals: &[c_int],
        patience: Duration,
        left: impl FnOnce() -> String + Send + 'static,
    ) -> io::Result<()> {
        let (mut first, wake) = UnixStream::pair()?;
        for signal in signals {
            flag::register(*signal, Arc::clone(&self.0))?;
            low_level::pipe::register(*signal, wake.try_clone()?)?;
        }
        thread::Builder::new().name("stop".into()).spawn(move || {
            // The other end lives as long as the handlers do, so only a signal ends this read.
            if first.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
                thread::sleep(patience);
                notify(&format!("asked to stop {} s ago, and not finished: {}", patience.as_secs_f64(), left()));
                std::process::exit(1);
            }
        })?;
        Ok(())
    }

    /// The flag itself, for code that knows nothing of signals.
    pub fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Waits for some seconds, or until a signal comes. Returns true if it waited to the end.
    pub fn pause(&self, seconds: f64) -> bool {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        while !self.is_raised() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(SLICE));
        }
        false
    }

    /// Whether a signal came.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
