//! Waits for the next epoch, or for a signal that asks to stop.
//!
//! A signal writes a byte to a socket that the wait reads from. So no signal is lost between a
//! check and a sleep, and it does not matter which thread the kernel interrupts. Deadlines are on
//! `CLOCK_MONOTONIC`, and follow each other without drift as long as an epoch's work fits into its
//! interval.

use super::error::MachineError;
use super::stop;
use isobar_model::{Seconds, Wake};
use signal_hook::SigId;
use signal_hook::consts::SIGHUP;
use signal_hook::low_level;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Longer intervals are cut, so that a mistyped one does not sleep for years.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The kernel does not accept a read timeout of zero for "at once".
const SHORTEST: Duration = Duration::from_micros(1);

/// Waits until a deadline or a signal.
#[derive(Debug)]
pub struct Waiter {
    wakes: UnixStream,
    /// The other end, which the signals write to. It keeps the socket open if no signal is caught.
    waker: UnixStream,
    signals: Vec<SigId>,
    deadline: Option<Instant>,
    interrupted: bool,
    /// Whether a call ended the last wait early. If so, the next wait continues it.
    called: bool,
}

/// The byte that a caller writes; signals write another byte.
const CALL: u8 = b'c';

/// What ended a wait early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    signal: bool,
    call: bool,
}

impl Waiter {
    /// A waiter that catches the signals to stop, if `catch_signals` is set.
    pub fn new(catch_signals: bool, spare_hangup: bool) -> Result<Self, MachineError> {
        let (wakes, waker) = UnixStream::pair().map_err(MachineError::Signals)?;
        let mut waiter = Self { wakes, waker, signals: Vec::new(), deadline: None, interrupted: false, called: false };
        if catch_signals {
            waiter.catch(spare_hangup).map_err(MachineError::Signals)?;
        }
        Ok(waiter)
    }

    fn catch(&mut self, spare_hangup: bool) -> io::Result<()> {
        for signal in stop::signals().into_iter().filter(|signal| !(spare_hangup && *signal == SIGHUP)) {
            let end = self.waker.try_clone()?;
            self.signals.push(low_level::pipe::register(signal, end)?);
        }
        Ok(())
    }

    /// A function that makes the present wait, or the next one, return; `None` if it cannot be
    /// provided.
    pub fn caller(&self) -> Option<Box<dyn Fn() + Send + Sync>> {
        let end = self.waker.try_clone().ok()?;
        end.set_nonblocking(true).ok()?;
        // A full socket holds enough calls already.
        Some(Box::new(move || drop((&end).write(&[CALL]))))
    }

    /// Waits. Once interrupted, the waiter stays so. After a call, the next wait continues to the
    /// same deadline.
    pub fn wait(&mut self, interval: Seconds) -> Result<Wake, MachineError> {
        let now = Instant::now();
        let deadline = match self.deadline.filter(|_| std::mem::take(&mut self.called)) {
            Some(same) => same.min(now + span(interval)),
            None => next_deadline(self.deadline, now, span(interval)),
        };
        self.deadline = Some(deadline);
        while !self.interrupted {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Wake::Elapsed);
            }
            let heard = self.heard_within(left).map_err(MachineError::Wait)?;
            self.interrupted = heard.signal;
            if heard.call && !heard.signal {
                self.called = true;
                return Ok(Wake::Called);
            }
        }
        Ok(Wake::Interrupted)
    }

    /// Whether a signal to stop has arrived; does not wait.
    pub fn is_interrupted(&mut self) -> bool {
        // A signal that cannot be read now reaches the next wait, which reports the error.
        let heard = if self.interrupted { Heard::default() } else { self.heard_within(SHORTEST).unwrap_or_default() };
        self.interrupted |= heard.signal;
        if heard.call
            && let Some(call) = self.caller()
        {
            // The call is for the next wait, so it is written back.
            call();
        }
        self.interrupted
    }

    fn heard_within(&mut self, time: Duration) -> io::Result<Heard> {
        self.wakes.set_read_timeout(Some(time))?;
        let mut bytes = [0; 64];
        match self.wakes.read(&mut bytes) {
            Ok(count) => {
                let bytes = &bytes[..count];
                Ok(Heard { signal: bytes.iter().any(|byte| *byte != CALL), call: bytes.contains(&CALL) })
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(Heard::default())
            }
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

/// One interval after the last deadline. If that has passed, one interval from now.
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
    fn a_call_ends_a_wait_and_the_next_one_goes_on_to_the_same_end() {
        let mut waiter = Waiter::new(false, false).unwrap();
        let start = Instant::now();
        let call = waiter.caller().unwrap();
        call();
        call();
        assert!(!waiter.is_interrupted());
        assert_eq!(waiter.wait(Seconds(0.2)).unwrap(), Wake::Called);
        assert!(start.elapsed() < Duration::from_millis(150), "{:?}", start.elapsed());
        assert_eq!(waiter.wait(Seconds(0.2)).unwrap(), Wake::Elapsed);
        assert!((200..10_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    }

    #[test]
    fn an_interval_elapses_and_a_signal_ends_the_wait_and_is_remembered() {
        let mut waiter = Waiter::new(true, false).unwrap();
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
