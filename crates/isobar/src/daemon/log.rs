//! The log of the daemon. If standard error is connected to the journal, entries go to journald
//! with fields or, if journald cannot be reached, as lines with priorities to standard error.
//! Otherwise they are plain lines on standard error, for a person. One thread writes. Threads that
//! log never wait, and entries that do not fit into the queue are counted.

use crate::failure;
use crate::report::{Fields, Priority, WallClock};
use crate::text::{brief, plain, plural};
use ::log::{Level, Record};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use systemd_journal_logger::{JournalLog, connected_to_journal};

/// Maximum number of entries that wait to be written.
const WAITING: usize = 1024;

/// How long to wait until the last entries are written.
const PATIENCE: Duration = Duration::from_secs(1);

enum Entry {
    Line(Priority, String, Fields),
    /// Answered once every entry before it is written.
    Flush(SyncSender<()>),
}

/// A handle to the log; clones write to the same log.
#[derive(Clone)]
pub struct Log {
    queue: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start() -> std::io::Result<Self> {
        let (queue, entries) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        thread::Builder::new().name("log".into()).spawn(move || write_all(&entries, &counted))?;
        Ok(Self { queue, lost })
    }

    /// Logs a line.
    pub fn say(&self, priority: Priority, message: impl Into<String>) {
        self.say_with(priority, message.into(), Fields::new());
    }

    /// Logs a line with fields.
    pub fn say_with(&self, priority: Priority, message: String, fields: Fields) {
        if self.queue.try_send(Entry::Line(priority, message, fields)).is_err() {
            self.lost.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Number of lines that were lost since the start because too many came at once.
    pub fn lost_lines(&self) -> u64 {
        self.lost.load(Ordering::SeqCst)
    }

    /// Waits until the entries logged so far are written, for a limited time.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.queue.send(Entry::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(PATIENCE);
        }
    }
}

fn write_all(entries: &Receiver<Entry>, lost: &AtomicU64) {
    let (to, mut reported) = (Target::find(), 0);
    while let Ok(entry) = entries.recv() {
        let count = lost.load(Ordering::SeqCst) - reported;
        if count > 0 {
            reported += count;
            to.write(
                Priority::Warning,
                &format!("{} of the log were lost: too many came at once", plural(count, "line")),
                &[],
            );
        }
        match entry {
            Entry::Line(priority, message, fields) => to.write(priority, &message, &fields),
            Entry::Flush(done) => drop(done.try_send(())),
        }
    }
}

/// Where the log goes.
enum Target {
    /// To journald, with fields.
    Journal(JournalLog),
    /// To a service manager, with priorities (`sd-daemon(3)`).
    Prefixed,
    /// To a person.
    Plain(WallClock),
}

impl Target {
    fn find() -> Self {
        if connected_to_journal() {
            return JournalLog::new().map_or(Self::Prefixed, Self::Journal);
        }
        Self::Plain(WallClock::system())
    }

    fn write(&self, priority: Priority, message: &str, fields: &[(&'static str, String)]) {
        let message = plain(&brief(message)).into_owned();
        match self {
            Self::Journal(journal) => {
                let fields: Vec<(&str, &str)> = fields.iter().map(|(key, value)| (*key, value.as_str())).collect();
                let source: &[(&str, &str)] = &fields;
                let mut record = Record::builder();
                record.level(level(priority)).target("isobar").key_values(&source);
                // If the journal is gone, the line is lost; a later line may find the journal
                // again.
                let _ = journal.journal_send(&record.args(format_args!("{message}")).build());
            }
            Self::Prefixed => failure::write_line(&format!("<{}>{message}\n", priority.number())),
            Self::Plain(clock) => {
                let stamp = clock.utc().unwrap_or_default();
                failure::write_line(&format!("{stamp} {}{message}\n", priority.word()));
            }
        }
    }
}

const fn level(priority: Priority) -> Level {
    match priority {
        Priority::Error => Level::Error,
        Priority::Warning => Level::Warn,
        Priority::Notice => Level::Info,
        Priority::Info => Level::Debug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_lines_are_counted() {
        let (queue, _entries) = sync_channel(1);
        let log = Log { queue, lost: Arc::default() };
        for _ in 0..3 {
            log.say(Priority::Notice, "a line");
        }
        assert_eq!(log.lost_lines(), 2);
    }
}
