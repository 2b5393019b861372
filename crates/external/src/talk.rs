//! Sends lines to a program and receives lines from it, with a deadline, in one thread. This module
//! handles pipes and does not know the meaning of the lines.
//!
//! All three pipes are watched at once and none blocks. A program that does not read, does not
//! write, or floods its stderr costs the time until the deadline, but no memory. A request to stop
//! ends the wait early.

use crate::fault::Fault;
use crate::last_line::LastLine;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum length of a line in bytes: moving a thousand threads at once takes 200 KB.
pub const LONGEST: usize = 8 << 20;

/// Number of bytes read from a pipe at a time: the capacity of a pipe.
const CHUNK: usize = 64 << 10;

/// How often a wait checks whether isobar is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// The pipes of a program, and the data in transit.
#[derive(Debug)]
pub struct Talk {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    outbox: Vec<u8>,
    sent: usize,
    inbox: Vec<u8>,
    /// How much of the inbox is known to contain no end of a line.
    searched: usize,
    complaint: LastLine,
}

impl Talk {
    /// Takes the pipes of a program that has just been started.
    ///
    /// # Errors
    /// An error if the pipes cannot be made non-blocking.
    pub fn with(child: &mut Child) -> io::Result<Self> {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        stdin.as_ref().map_or(Ok(()), |pipe| ioctl_fionbio(pipe, true))?;
        stdout.as_ref().map_or(Ok(()), |pipe| ioctl_fionbio(pipe, true))?;
        stderr.as_ref().map_or(Ok(()), |pipe| ioctl_fionbio(pipe, true))?;
        let (outbox, inbox, complaint) = (Vec::new(), Vec::new(), LastLine::default());
        Ok(Self { stdin, stdout, stderr, outbox, sent: 0, inbox, searched: 0, complaint })
    }

    /// Queues a line; [`Talk::line`] writes it.
    pub fn send(&mut self, line: &str) {
        self.outbox.drain(..self.sent);
        self.sent = 0;
        self.outbox.extend_from_slice(line.as_bytes());
        self.outbox.push(b'\n');
    }

    /// Whether everything that was sent has been written.
    pub const fn has_sent_all(&self) -> bool {
        self.sent == self.outbox.len()
    }

    /// The next line, as soon as it arrives; `None` if it has not arrived by the deadline. If the
    /// deadline has passed already, the pipes are read once.
    ///
    /// # Errors
    /// [`Fault::LongLine`]; [`Fault::Ended`], without its reason, if the program has closed its
    /// output; [`Fault::Stopped`] if `stop` is raised before the line arrives.
    pub fn line(&mut self, until: Instant, stop: &AtomicBool) -> Result<Option<Vec<u8>>, Fault> {
        let mut looked = false;
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.inbox.len() > LONGEST {
                return Err(Fault::LongLine(LONGEST));
            }
            if self.stdout.is_none() {
                return Err(Fault::Ended(String::new()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if looked && left.is_zero() {
                return Ok(None);
            }
            if looked && stop.load(Ordering::SeqCst) {
                return Err(Fault::Stopped);
            }
            looked = true;
            self.turn(left.min(SLICE));
        }
    }

    /// The last line on stderr.
    pub fn complaint(&self) -> Option<String> {
        self.complaint.text()
    }

    /// Closes the program's input, and reads the rest of its stderr.
    pub fn close(&mut self, until: Instant) {
        self.stdin = None;
        self.outbox.clear();
        self.sent = 0;
        while (self.stdout.is_some() || self.stderr.is_some()) && Instant::now() < until {
            self.turn(until.saturating_duration_since(Instant::now()));
            self.inbox.clear();
            self.searched = 0;
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let found = self.inbox[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = found.map(|at| self.searched + at) else {
            self.searched = self.inbox.len();
            return None;
        };
        self.searched = 0;
        let mut line: Vec<u8> = self.inbox.drain(..=end).collect();
        line.pop();
        Some(line)
    }

    /// Waits until a pipe is ready, and reads and writes what is possible.
    fn turn(&mut self, wait: Duration) {
        let mut pipes = Vec::with_capacity(3);
        if let Some(pipe) = self.stdin.as_ref().filter(|_| self.sent < self.outbox.len()) {
            pipes.push(PollFd::new(pipe, PollFlags::OUT));
        }
        pipes.extend(self.stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        pipes.extend(self.stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let limit = Timespec::try_from(wait).ok();
        match poll(&mut pipes, limit.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            // The kernel has no memory for the call, so waiting is pointless.
            Err(_) => self.stdout = None,
            Ok(_) => self.move_all(),
        }
    }

    fn move_all(&mut self) {
        self.write();
        let mut bytes = [0; CHUNK];
        if let Some(read) = read(&mut self.stdout, &mut bytes) {
            self.inbox.extend_from_slice(&bytes[..read]);
        }
        if let Some(read) = read(&mut self.stderr, &mut bytes) {
            self.complaint.take(&bytes[..read]);
        }
    }

    fn write(&mut self) {
        let Some(pipe) = self.stdin.as_mut().filter(|_| self.sent < self.outbox.len()) else { return };
        match pipe.write(&self.outbox[self.sent..]) {
            Ok(written) => self.sent += written,
            Err(error) if is_for_later(&error) => {}
            // The program does not read any more. Whether it still answers will show on its stdout.
            Err(_) => {
                self.stdin = None;
                self.sent = self.outbox.len();
            }
        }
    }
}

/// Reads from a pipe; `None` if it has nothing now. A pipe at its end is removed.
fn read<P: Read>(pipe: &mut Option<P>, bytes: &mut [u8]) -> Option<usize> {
    match pipe.as_mut()?.read(bytes) {
        Err(error) if is_for_later(&error) => None,
        Ok(0) | Err(_) => {
            *pipe = None;
            None
        }
        Ok(read) => Some(read),
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
