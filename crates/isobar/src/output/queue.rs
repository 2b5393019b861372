//! The queue and the thread that empties it. A caller that queues a chunk never waits for the
//! reader, unless [`Queue::wait_for_the_reader`] allows it. A simulated machine has nothing to put
//! back, so its complete output is worth waiting for.

use super::descriptor::Descriptor;
use super::state::{Bounds, Chunk, State};
use isobar_linux::machine::stop::hold_writers_signals;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// At the end of a run, a reader that reads nothing for this long is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a wait checks conditions that no condition variable reports, such as a signal.
const TICK: Duration = Duration::from_millis(50);

/// Bytes of one write. It is small, so that a slow reader is seen to make progress; a terminal
/// takes about as much at once.
const PIECE: usize = 2048;

/// Whether to stop waiting for the reader.
type Stop = Box<dyn Fn() -> bool + Send + Sync>;

/// A bounded queue of chunks, with the thread that writes them.
pub struct Queue {
    shared: Arc<Shared>,
    bounds: Bounds,
    notice: fn(u64) -> String,
    patient_until: OnceLock<Stop>,
    patience: Duration,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change of the state is complete before anything that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Queue {
    /// A queue to standard output. `notice` says in one line how many lines were dropped.
    ///
    /// # Errors
    /// If the kernel gives no second descriptor, or no thread.
    pub fn to_stdout(notice: fn(u64) -> String) -> io::Result<Self> {
        Self::start(Descriptor::of(&io::stdout())?, Bounds::LOG, notice)
    }

    /// A queue to any writer.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(to: impl Write + Send + 'static, bounds: Bounds, notice: fn(u64) -> String) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let write = move || {
            hold_writers_signals();
            write_all(&theirs, to, bounds, notice);
        };
        thread::Builder::new().name("output".into()).spawn(write)?;
        Ok(Self { shared, bounds, notice, patient_until: OnceLock::new(), patience: PATIENCE })
    }

    /// From now on, if the queue is full, callers wait for the reader and nothing is dropped, until
    /// `stop` returns true.
    pub fn wait_for_the_reader(&self, stop: impl Fn() -> bool + Send + Sync + 'static) {
        drop(self.patient_until.set(Box::new(stop)));
    }

    /// Queues a chunk, or drops it if the queue is full.
    ///
    /// # Errors
    /// The error that stopped the writer. A reader that went away is [`io::ErrorKind::BrokenPipe`].
    pub(super) fn commit(&self, chunk: Chunk) -> io::Result<()> {
        let mut state = self.shared.lock();
        while !state.has_room(&chunk, self.bounds) && self.is_patient() && state.check().is_ok() {
            state = self.shared.wait(state);
        }
        state.check()?;
        if state.has_room(&chunk, self.bounds) {
            state.push_notice(self.notice);
            state.push(chunk);
            self.shared.changed.notify_all();
        } else {
            state.drop_chunk(&chunk);
        }
        Ok(())
    }

    fn is_patient(&self) -> bool {
        self.patient_until.get().is_some_and(|stop| !stop())
    }

    pub(super) fn keep_the_rest(&self) {
        self.shared.lock().keep = true;
    }

    /// Number of lines dropped so far.
    pub fn dropped_lines(&self) -> u64 {
        self.shared.lock().dropped
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.shared.lock().is_idle()
    }

    /// Waits until everything is written, as long as the reader reads. Returns how many lines the
    /// reader did not get.
    ///
    /// # Errors
    /// As [`Queue::commit`].
    pub fn finish(self) -> io::Result<u64> {
        let mut state = self.shared.lock();
        state.closed = true;
        self.shared.changed.notify_all();
        let (mut progress, mut since) = (state.progress, Instant::now());
        while !state.is_idle() && state.check().is_ok() && since.elapsed() < self.patience {
            if progress != state.progress || self.is_patient() {
                (progress, since) = (state.progress, Instant::now());
            }
            state = self.shared.wait(state);
        }
        state.check().map(|()| state.lines_left())
    }

    /// Whether the writer has taken all chunks; it may still be writing the last one.
    #[cfg(test)]
    pub fn has_taken_all(&self) -> bool {
        self.shared.lock().queued() == 0
    }

    /// The same queue with less patience at the end.
    #[cfg(test)]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// The writer's thread: writes chunk by chunk until there are no more, or nothing more can be
/// written.
fn write_all(shared: &Shared, mut to: impl Write, bounds: Bounds, notice: fn(u64) -> String) {
    while let Some(chunk) = next(shared, bounds, notice) {
        for piece in chunk.bytes.chunks(PIECE) {
            let written = to.write_all(piece).and_then(|()| to.flush());
            let mut state = shared.lock();
            state.progress += 1;
            if let Err(error) = written {
                state.fail(&error);
                return shared.changed.notify_all();
            }
        }
    }
}

/// Waits for the next chunk; `None` at the end.
fn next(shared: &Shared, bounds: Bounds, notice: fn(u64) -> String) -> Option<Chunk> {
    let mut state = shared.lock();
    loop {
        if state.is_half_free(bounds) {
            state.push_notice(notice);
        }
        let chunk = state.pop();
        shared.changed.notify_all();
        if chunk.is_some() || state.closed {
            return chunk;
        }
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}
