//! Records beside the loop: moments go through a short queue to a thread that writes them, so that
//! a slow disk delays no decision. Where the queue is full an epoch is left out, and counted; where
//! nothing can be written any more, recording ends and says why, and the loop goes on.

use crate::error::RecordingError;
use crate::moment::Moment;
use crate::writer::Writer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// Epochs that wait to be written at most.
const WAITING: usize = 16;

/// The end of the queue that the loop holds.
pub struct Recorder {
    path: PathBuf,
    queue: SyncSender<Box<Moment>>,
    /// `None` once it has ended early.
    thread: Option<JoinHandle<Result<Writer, RecordingError>>>,
    may_wait: bool,
    left_out: u64,
    ended: Option<RecordingError>,
}

impl Recorder {
    /// Starts the thread. With `may_wait` the loop waits for the disk rather than leave out an
    /// epoch: for machines that stand still meanwhile.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(path: &Path, writer: Writer, may_wait: bool) -> Result<Self, RecordingError> {
        let (queue, moments) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("isobar-record".to_owned());
        let thread = thread
            .spawn(move || write_all(writer, &moments))
            .map_err(|error| RecordingError::File { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), queue, thread: Some(thread), may_wait, left_out: 0, ended: None })
    }

    /// Hands a moment over; [`Recorder::why_ended`] says when nothing can be written any more.
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
                // The thread has dropped its end of the queue: it is at its own.
                let result = self.thread.take().map(JoinHandle::join);
                self.ended = match result {
                    Some(Ok(Err(error))) => Some(error),
                    Some(_) => Some(RecordingError::Ended(self.path.clone())),
                    None => self.ended.take(),
                };
            }
        }
    }

    /// Why recording ended early, where it did.
    #[must_use]
    pub const fn why_ended(&self) -> Option<&RecordingError> {
        self.ended.as_ref()
    }

    /// Waits until everything is written. How many epochs were left out, since the disk did not
    /// keep up.
    ///
    /// # Errors
    /// Why recording ended early, where it did.
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
