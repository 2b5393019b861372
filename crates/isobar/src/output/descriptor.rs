//! Access to file descriptors 1 and 2 without the locks of the standard library: a thread that is
//! stuck in a write must not hold a lock that another thread needs.

use isobar_linux::machine::stop::hold_writers_signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A second descriptor for an open file. Writing to it blocks, even if another program made the
/// file non-blocking. (A terminal is shared with the shell and all programs that run there.)
pub struct Descriptor(File);

impl Descriptor {
    /// Duplicates the descriptor of an open file.
    ///
    /// # Errors
    /// If the kernel gives no more descriptors.
    pub fn of(open: &impl AsFd) -> io::Result<Self> {
        Ok(Self(open.as_fd().try_clone_to_owned()?.into()))
    }

    /// Waits until something can be written, or the time is over.
    fn is_writable_within(&self, limit: Option<Duration>) -> io::Result<bool> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut fds = [PollFd::new(&self.0, PollFlags::OUT)];
        Ok(poll(&mut fds, limit.as_ref())? > 0)
    }
}

impl Write for Descriptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => match self.is_writable_within(None) {
                    Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                    _ => {}
                },
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes a line to stderr, and waits no longer than `limit` for that. A stderr that is gone or
/// stuck is no reason to fail.
pub fn stderr_within(line: String, limit: Duration) {
    let Ok(mut stderr) = Descriptor::of(&io::stderr()) else { return };
    if !stderr.is_writable_within(Some(limit)).unwrap_or(true) {
        return;
    }
    // A terminal that can take one byte counts as writable, and may block in the middle of a line.
    let (done, written) = mpsc::channel();
    let write = move || {
        hold_writers_signals();
        drop(stderr.write_all(line.as_bytes()));
        // The waiting thread may have gone on.
        let _ = done.send(());
    };
    if thread::Builder::new().name("stderr".into()).spawn(write).is_ok() {
        let _ = written.recv_timeout(limit);
    }
}
