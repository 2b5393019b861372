//! Programs whose threads execute known numbers of instructions (`tests/arm/programs/worker.c`),
//! and the [`Hog`], which takes hardware counters away from other programs that count a thread.

use crate::talk::Talk;
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// The name by which isobar manages only workers.
pub const NAME: &str = "worker";

/// A running worker; it ends when this value is dropped.
pub struct Worker {
    talk: Talk,
    tids: Vec<u32>,
}

impl Worker {
    /// Starts a worker, as root, with threads that have computed for a while and wait for orders.
    pub fn start(threads: u32) -> Result<Self> {
        Self::start_by(&mut Command::new(NAME), threads)
    }

    /// Starts a worker as another user.
    pub fn start_as(uid: u32, threads: u32) -> Result<Self> {
        Self::start_by(Command::new("as").args([&uid.to_string(), "0", NAME]), threads)
    }

    fn start_by(command: &mut Command, threads: u32) -> Result<Self> {
        let mut talk = Talk::with(command)?;
        let answer = talk.ask(&format!("threads {threads}"))?;
        let tids: Vec<u32> = answer.split(' ').filter_map(|tid| tid.parse().ok()).collect();
        ensure!(tids.len() == usize::try_from(threads)?, "threads of the worker: {answer}");
        Ok(Self { talk, tids })
    }

    /// Its threads.
    pub fn tids(&self) -> &[u32] {
        &self.tids
    }

    /// Gives an order (see `worker.c`), which is then carried out in the background.
    pub fn order(&mut self, line: &str) -> Result<()> {
        self.talk.ask(line).map(drop)
    }

    /// Waits until all orders are done.
    pub fn finish(&mut self) -> Result<()> {
        self.order("wait")
    }

    /// How many instructions a thread had executed at which second of `CLOCK_MONOTONIC`, in its
    /// last order.
    pub fn log(&mut self, thread: u32) -> Result<Log> {
        let answer = self.talk.ask(&format!("log {thread}"))?;
        let mark = |word: &str| -> Option<(f64, f64)> {
            let (time, executed) = word.split_once(':')?;
            Some((time.parse::<f64>().ok()? / 1e9, executed.parse().ok()?))
        };
        let marks = answer.split(' ').map(mark).collect::<Option<Vec<_>>>().context("a log that is none")?;
        ensure!(marks.len() > 1, "the log is empty");
        Ok(Log { marks })
    }
}

/// Instructions executed over time: (second, instructions since the order), ascending.
pub struct Log {
    marks: Vec<(f64, f64)>,
}

impl Log {
    /// Instructions executed until a moment, by linear interpolation between two marks.
    pub fn executed_until(&self, time: f64) -> f64 {
        let after = self.marks.partition_point(|mark| mark.0 < time);
        match (after.checked_sub(1).map(|before| self.marks[before]), self.marks.get(after)) {
            (Some((t0, e0)), Some((t1, e1))) => e0 + (e1 - e0) * (time - t0) / (t1 - t0),
            (Some((_, all)), None) => all,
            (None, _) => 0.0,
        }
    }
}

/// A process with this number of counters of its own on a thread, so that these counters and those
/// of others share the hardware's.
pub struct Hog {
    talk: Talk,
}

impl Hog {
    /// Opens its counters.
    pub fn on(tid: u32, counters: u32) -> Result<Self> {
        let mut talk = Talk::with(Command::new("hog").args([tid.to_string(), counters.to_string()]))?;
        talk.hear()?;
        Ok(Self { talk })
    }

    /// Closes the counters; returns the fraction of the time in which the first of them had a
    /// hardware counter, in thousandths.
    pub fn leave(mut self) -> Result<u64> {
        Ok(self.talk.ask("")?.parse()?)
    }
}
