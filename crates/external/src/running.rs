//! A process that decides. It is asked line by line, and ended together with everything that it
//! started.

use crate::cost::{Begun, Costs, Meter};
use crate::fault::Fault;
use crate::program::Program;
use crate::talk::Talk;
use isobar_linux::launch::{bound, has_ended, kill_group};
use serde::Deserialize;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

/// The version of the contract, which covers observations, plans, and the line that a program may
/// begin with.
pub const CONTRACT: u64 = 1;

/// Number of decisions without an answer after which a program is ended.
const SILENCE: u32 = 10;

/// How long a program may take to end after it is asked to.
const GRACE: Duration = Duration::from_millis(300);

/// The line that a program may write first: `{"isobar": 1}`.
#[derive(Deserialize)]
struct Hello {
    isobar: u64,
}

/// A program at work.
#[derive(Debug)]
pub struct Running {
    child: Child,
    talk: Talk,
    meter: Meter,
    /// Number of answers that are still to come.
    owed: u32,
    /// Number of consecutive decisions that it has not answered.
    silent: u32,
    /// Whether it has not written a line yet.
    is_new: bool,
}

impl Running {
    /// Starts a program.
    ///
    /// # Errors
    /// [`Fault::Start`].
    pub fn start(program: &Program, costs: Costs) -> Result<Self, Fault> {
        let mut command = program.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = bound(&mut command).spawn().map_err(|error| Fault::Start(error.to_string()))?;
        let talk = Talk::with(&mut child);
        let meter = Meter::of(child.id(), costs);
        match talk {
            Ok(talk) => Ok(Self { child, talk, meter, owed: 0, silent: 0, is_new: true }),
            Err(error) => {
                kill_group(&child);
                let _ = child.wait();
                Err(Fault::Start(error.to_string()))
            }
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Counts a decision that was made.
    pub fn decided(&mut self, begun: Begun) {
        self.meter.add(begun);
    }

    /// The answer to a line. The wait ends early when `stop` is raised.
    ///
    /// # Errors
    /// [`Fault`]: why there is no answer.
    pub fn ask(&mut self, line: &str, timeout: Duration, stop: &AtomicBool) -> Result<Vec<u8>, Fault> {
        let begin = Instant::now();
        let until = begin + timeout;
        self.catch_up(begin, stop)?;
        self.talk.send(line);
        self.owed += 1;
        let answer = self.next(until, stop)?;
        let Some(answer) = answer else {
            self.silent += 1;
            return Err(Fault::Late(timeout));
        };
        self.owed -= 1;
        self.silent = 0;
        Ok(answer)
    }

    /// Ends the process; returns why it is of no more use, as some reasons are known only now, and
    /// its last line on stderr.
    pub fn end(mut self, fault: Fault) -> (Fault, Option<String>) {
        self.talk.close(Instant::now() + GRACE);
        let fault = match fault {
            Fault::Ended(_) => Fault::Ended(self.status_in_words()),
            other => other,
        };
        let words = self.talk.complaint();
        (fault, words)
    }

    /// The last line on its stderr.
    pub fn last_words(&self) -> Option<String> {
        self.talk.complaint()
    }

    /// Reads late answers, which belong to observations of earlier epochs.
    fn catch_up(&mut self, now: Instant, stop: &AtomicBool) -> Result<(), Fault> {
        while self.next(now, stop)?.is_some() {
            self.owed = self.owed.checked_sub(1).ok_or(Fault::Unasked)?;
        }
        if self.owed == 0 && self.talk.has_sent_all() {
            return Ok(());
        }
        self.silent += 1;
        Err(if self.silent < SILENCE { Fault::Busy } else { Fault::Silent(self.silent) })
    }

    /// The next line, without the line that the program may begin with.
    fn next(&mut self, until: Instant, stop: &AtomicBool) -> Result<Option<Vec<u8>>, Fault> {
        let Some(line) = self.talk.line(until, stop)? else { return Ok(None) };
        let hello = if self.is_new { serde_json::from_slice::<Hello>(&line).ok() } else { None };
        self.is_new = false;
        match hello {
            Some(Hello { isobar: CONTRACT }) => self.talk.line(until, stop),
            Some(Hello { isobar }) => Err(Fault::Contract(isobar, CONTRACT)),
            None => Ok(Some(line)),
        }
    }

    /// Waits a little for the process to end, because its pipes close before it is gone.
    fn status_in_words(&mut self) -> String {
        let until = Instant::now() + GRACE;
        while !has_ended(&self.child) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        if !has_ended(&self.child) {
            return "it closed its standard output".to_owned();
        }
        self.child.try_wait().ok().flatten().map_or_else(|| "for unknown reasons".to_owned(), in_words)
    }
}

impl Drop for Running {
    /// Closes its standard input, waits a little, and kills what is left of it and of the processes
    /// that it started.
    fn drop(&mut self) {
        self.meter.end();
        let until = Instant::now() + GRACE;
        self.talk.close(until);
        while !has_ended(&self.child) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        kill_group(&self.child);
        let _ = self.child.wait();
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "for unknown reasons".to_owned(),
    }
}
