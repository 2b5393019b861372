//! Runs long work on a thread of its own, without Python's lock. The calling thread waits for the
//! work, shows its progress, and handles signals, which Python delivers only to its main thread.

use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often signals are handled: a person does not notice the delay.
const BEAT: Duration = Duration::from_millis(50);

/// Whether work that is under way should end, and its progress.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    all: Arc<AtomicUsize>,
}

impl Standing {
    /// Whether the work should end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reports the progress.
    pub fn notify(&self, done: usize, all: usize) {
        self.all.store(all, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    fn told(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }
}

/// Does the work. `progress` is called with how much is done and of how much. `interrupt` is called
/// repeatedly if a signal's handler raised an exception and work in Python has to end.
pub fn apart<R: Send>(
    py: Python<'_>,
    standing: &Standing,
    progress: Option<&Py<PyAny>>,
    interrupt: &dyn Fn(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    let (send, done) = channel();
    let mut raised = None;
    let mut shown = (0, 0);
    let result = thread::scope(|scope| {
        scope.spawn(move || send.send(work()));
        let mut done = done;
        loop {
            let waiting = &mut done;
            match py.detach(move || waiting.recv_timeout(BEAT)) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let looked = py.check_signals().and_then(|()| show(py, progress, standing.told(), &mut shown));
            if let Err(error) = looked {
                standing.stop.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
            if raised.is_some()
                && let Err(error) = interrupt(py)
            {
                raised.get_or_insert(error);
            }
        }
    });
    if let Some(raised) = raised {
        return Err(raised);
    }
    show(py, progress, standing.told(), &mut shown)?;
    #[expect(clippy::expect_used, reason = "a panic of the work has ended the scope with a panic")]
    Ok(result.expect("the work has ended"))
}

/// Calls `progress` if something has changed.
fn show(py: Python<'_>, progress: Option<&Py<PyAny>>, now: (usize, usize), shown: &mut (usize, usize)) -> PyResult<()> {
    if let Some(progress) = progress.filter(|_| now != *shown) {
        *shown = now;
        progress.call1(py, now)?;
    }
    Ok(())
}
