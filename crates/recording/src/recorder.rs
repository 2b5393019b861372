//! Records in parallel to the loop: moments pass through a short queue to a thread that writes
//! them, so that a slow disk delays no decision. If the queue is full, the epoch is left out and
//! counted. If nothing can be written any more, recording ends and reports why, and the loop
//! continues.

use crate::error::RecordingError;
use crate::moment::Moment;
use crate::writer::Writer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// Maximum number of epochs that wait to be written.
const WAITING: usize = 16;

/// The loop's end of the queue.
pub struct Recorder {
    path: PathBuf,
    queue: SyncSender<Box<Moment>>,
    /// `None` once the thread has ended early.
    thread: Option<JoinHandle<Result<Writer, RecordingError>>>,
    may_wait: bool,
    left_out: u64,
    ended: Option<RecordingError>,
}

impl Recorder {
    /// Starts the thread. With `may_wait`, the loop waits for the disk instead of leaving out an
    /// epoch; this is for machines that stand still meanwhile.
    ///
    /// # Errors
    /// An error if the thread cannot be started.
    pub fn start(path: &Path, writer: Writer, may_wait: bool) -> Result<Self, RecordingError> {
        let (queue, moments) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("isobar-record".to_owned());
        let thread = thread
            .spawn(move || write_all(writer, &moments))
            .map_err(|error| RecordingError::File { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), queue, thread: Some(thread), may_wait, left_out: 0, ended: None })
    }

    /// Passes a moment to the thread. [`Recorder::why_ended`] says whether nothing can be written
    /// any more.
    pub fn record(&mut self, moment: Moment) {
        let moment = Box::new(moment);
        let sent = if self.may_wait {
            self.queue.send(moment).map_err(|error| TrySendError::Disconnected(error.0))
        } else {
            self.queue.try_send(moment)
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.left_out += 1,
            Err(TrySendError::Disconnected(_)) => {
                // The thread has dropped its end of the queue, so it has ended or is about to.
                let result = self.thread.take().map(JoinHandle::join);
                self.ended = match result {
                    Some(Ok(Err(error))) => Some(error),
                    Some(_) => Some(RecordingError::Ended(self.path.clone())),
                    None => self.ended.take(),
                };
            }
        }
    }

    /// Why recording ended early, if it did.
    #[must_use]
    pub const fn why_ended(&self) -> Option<&RecordingError> {
        self.ended.as_ref()
    }

    /// Waits until everything is written. Returns how many epochs were left out because the disk
    /// did not keep up.
    ///
    /// # Errors
    /// Why recording ended early, if it did.
    pub fn finish(self, mut facts: BTreeMap<String, String>) -> Result<u64, RecordingError> {
        drop(self.queue);
        if let Some(error) = self.ended {
            return Err(error);
        }
        let result = self.thread.map(JoinHandle::join);
        let writer = result.and_then(Result::ok).ok_or(RecordingError::Ended(self.path))??;
        if self.left_out > 0 {
            facts.insert("epochs_left_out".to_owned(), self.left_out.to_string());
        }
        writer.finish(&facts)?;
        Ok(self.left_out)
    }
}

fn write_all(mut writer: Writer, moments: &Receiver<Box<Moment>>) -> Result<Writer, RecordingError> {
    while let Ok(moment) = moments.recv() {
        writer.write(&moment)?;
    }
    Ok(writer)
}
