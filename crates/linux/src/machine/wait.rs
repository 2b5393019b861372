//! Waiting for the next epoch, or for a signal that asks to stop.
//!
//! A signal writes a byte to a socket that the wait reads from: none is lost between a check and a
//! sleep, and it does not matter which thread the kernel interrupts. Deadlines are on
//! `CLOCK_MONOTONIC`, and follow each other without drift as long as an epoch's work fits into its
//! interval.

use super::error::MachineError;
use super::stop;
use isobar_model::{Seconds, Wake};
use signal_hook::SigId;
use signal_hook::low_level;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Longer intervals are cut: a mistyped one must not sleep for years.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The kernel takes no read timeout of zero for "at once".
const SHORTEST: Duration = Duration::from_micros(1);

/// Waits until a deadline or a signal.
#[derive(Debug)]
pub struct Waiter {
    wakes: UnixStream,
    /// Its other end, which the signals write to, and which keeps it open where none is caught.
    waker: UnixStream,
    signals: Vec<SigId>,
    deadline: Option<Instant>,
    interrupted: bool,
}

impl Waiter {
    /// A waiter that catches the signals to stop, if so wanted.
    pub fn new(catch_signals: bool) -> Result<Self, MachineError> {
        let (wakes, waker) = UnixStream::pair().map_err(MachineError::Signals)?;
        let mut waiter = Self { wakes, waker, signals: Vec::new(), deadline: None, interrupted: false };
        if catch_signals {
            waiter.catch().map_err(MachineError::Signals)?;
        }
        Ok(waiter)
    }

    fn catch(&mut self) -> io::Result<()> {
        for signal in stop::signals() {
            let end = self.waker.try_clone()?;
            self.signals.push(low_level::pipe::register(signal, end)?);
        }
        Ok(())
    }

    /// Waits. Once interrupted, it stays so.
    pub fn wait(&mut self, interval: Seconds) -> Result<Wake, MachineError> {
        let deadline = next_deadline(self.deadline, Instant::now(), span(interval));
        self.deadline = Some(deadline);
        while !self.interrupted {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Wake::Elapsed);
            }
            self.interrupted = self.signalled_within(left).map_err(MachineError::Wait)?;
        }
        Ok(Wake::Interrupted)
    }

    /// Whether a signal to stop has come; does not wait.
    pub fn is_interrupted(&mut self) -> bool {
        // A signal that cannot be read now is met by the next wait, which says why.
        self.interrupted = self.interrupted || self.signalled_within(SHORTEST).unwrap_or(false);
        self.interrupted
    }

    fn signalled_within(&mut self, time: Duration) -> io::Result<bool> {
        self.wakes.set_read_timeout(Some(time))?;
        match self.wakes.read(&mut [0; 16]) {
            Ok(bytes) => Ok(bytes > 0),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        for signal in self.signals.drain(..) {
            low_level::unregister(signal);
        }
    }
}

fn span(interval: Seconds) -> Duration {
    Duration::try_from_secs_f64(interval.0.max(0.0)).unwrap_or(LONGEST).min(LONGEST)
}

/// One interval after the last deadline, unless that has passed: then one interval from now.
fn next_deadline(last: Option<Instant>, now: Instant, interval: Duration) -> Instant {
    last.map(|last| last + interval).filter(|next| *next > now).unwrap_or(now + interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::consts::SIGUSR1;

    #[test]
    fn deadlines_do_not_drift_and_do_not_pile_up() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        assert_eq!(next_deadline(None, start, second), at(1.0));
        assert_eq!(next_deadline(Some(at(1.0)), at(1.25), second), at(2.0), "0.25 s of work is not added");
        assert_eq!(next_deadline(Some(at(1.0)), at(5.5), second), at(6.5), "no burst after a long epoch");
    }

    #[test]
    fn nonsense_intervals_end() {
        assert_eq!(span(Seconds(-1.0)), Duration::ZERO);
        assert_eq!(span(Seconds(f64::NAN)), Duration::ZERO);
        assert_eq!(span(Seconds(f64::INFINITY)), LONGEST);
        assert_eq!(span(Seconds(0.5)), Duration::from_millis(500));
    }

    #[test]
    fn an_interval_elapses_and_a_signal_ends_the_wait_and_is_remembered() {
        let mut waiter = Waiter::new(true).unwrap();
        let start = Instant::now();
        assert_eq!(waiter.wait(Seconds(0.05)).unwrap(), Wake::Elapsed);
        assert!(start.elapsed() >= Duration::from_millis(50) && !waiter.is_interrupted());
        low_level::raise(SIGUSR1).unwrap();
        assert!(waiter.is_interrupted());
        assert_eq!(waiter.wait(Seconds(20.0)).unwrap(), Wake::Interrupted);
        assert_eq!(waiter.wait(Seconds(20.0)).unwrap(), Wake::Interrupted);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
