//! Causes each kind of end. This module does not know what must be true afterwards.

use crate::disk::Disk;
use crate::family::{Family, until};
use crate::kinds::{Kind, SIGNALS, signal};
use crate::manage::Manage;
use crate::random::{Random, below, millis, one_in};
use crate::setup::Setup;
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use std::thread::sleep;
use std::time::Duration;

/// What is needed to cause an end.
pub struct Ender<'a> {
    pub setup: &'a Setup,
    pub family: &'a mut Family,
    pub random: &'a mut Random,
    pub manage: &'a mut Manage,
    pub disk: Option<&'a Disk>,
}

impl Ender<'_> {
    /// Causes the end; returns what was done.
    pub fn end(&mut self, kind: Kind) -> Result<String> {
        match kind {
            Kind::Single => Ok(self.signals(1)),
            Kind::Double => Ok(self.signals(2)),
            Kind::Burst => Ok(self.burst()),
            Kind::Kill => Ok(self.send(Signal::KILL)),
            Kind::KillPutback => Ok(self.kill_putback()),
            Kind::Group => self.group(),
            Kind::Terminal => Ok(self.close()),
            Kind::ReaderLeft => Ok(self.leave()),
            Kind::DiskFull => self.fill(),
            Kind::DiskLimit => self.no_more_files(),
            Kind::OutputFull | Kind::Stalled => Ok(self.later()),
            Kind::StoppedReader | Kind::StoppedTerminal => Ok(self.stop()),
            Kind::Timeout | Kind::For => Ok(String::new()),
        }
    }

    fn send(&mut self, signal: Signal) -> String {
        self.family.signal(self.manage.isobar, signal);
        String::new()
    }

    /// Sends one signal of any kind, several times at once.
    fn signals(&mut self, times: usize) -> String {
        // If it is sent twice, it is usually one of the first signals, which terminals and managers
        // send twice.
        let first = if times > 1 && !one_in(self.random, 3) { 3 } else { SIGNALS.len() };
        let (name, signal) = signal(self.random, first);
        (0..times).for_each(|_| drop(self.send(signal)));
        if signal == Signal::PIPE { self.after_pipe(name) } else { name.to_owned() }
    }

    /// SIGPIPE is ignored by a process that does not handle it yet, as is usual. Then another
    /// signal must end it.
    fn after_pipe(&mut self, name: &str) -> String {
        let (setup, family, manage) = (self.setup, &mut *self.family, &mut *self.manage);
        if until(Duration::from_secs(3), || manage.is_over(setup, family)) {
            return name.to_owned();
        }
        self.send(Signal::TERM);
        format!("{name}, which was ignored, then TERM")
    }

    fn burst(&mut self) -> String {
        let count = 2 + below(self.random, 19);
        let pause = Duration::from_micros(u64::try_from(below(self.random, 50_000 / count)).unwrap_or(0));
        let mut names = Vec::new();
        for _ in 0..count {
            let (name, signal) = signal(self.random, SIGNALS.len());
            self.send(signal);
            names.push(name);
            sleep(pause);
        }
        if names.iter().all(|name| *name == "PIPE") {
            return self.after_pipe("PIPE");
        }
        format!("{} every {} us", names.join(" "), pause.as_micros())
    }

    fn kill_putback(&mut self) -> String {
        let delay = millis(self.random, 0, 25);
        self.send(Signal::TERM);
        sleep(delay);
        self.send(Signal::KILL);
        format!("{} ms after TERM", delay.as_millis())
    }

    fn group(&mut self) -> Result<String> {
        let (name, signal) = signal(self.random, 3);
        let group = Pid::from_raw(self.manage.isobar).context("no process group")?;
        self.send(signal);
        if self.family.end_of(self.manage.child).is_none() {
            kill_process_group(group, signal)?;
        }
        Ok(name.to_owned())
    }

    fn close(&mut self) -> String {
        self.manage.outlet.close();
        String::new()
    }

    /// isobar notices when it writes its next output. If there is none, it gets a signal.
    fn leave(&mut self) -> String {
        self.manage.outlet.close();
        let (setup, family, manage) = (self.setup, &mut *self.family, &mut *self.manage);
        if until(Duration::from_secs(5), || manage.is_over(setup, family)) {
            return String::new();
        }
        self.send(Signal::TERM);
        "then TERM".to_owned()
    }

    fn fill(&mut self) -> Result<String> {
        self.disk.context("no disk")?.fill()?;
        Ok(self.later())
    }

    fn no_more_files(&mut self) -> Result<String> {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        match prlimit(Pid::from_raw(self.manage.isobar), Resource::Fsize, none) {
            Err(Errno::SRCH) => Ok("after its end".to_owned()),
            other => other.context("RLIMIT_FSIZE").map(|_| self.later()),
        }
    }

    fn stop(&mut self) -> String {
        self.manage.outlet.stop(self.family);
        self.later()
    }

    /// After a while, sends SIGTERM once or, half as often, twice.
    fn later(&mut self) -> String {
        sleep(millis(self.random, 200, 1500));
        self.send(Signal::TERM);
        if one_in(self.random, 3) {
            sleep(millis(self.random, 0, 30));
            self.send(Signal::TERM);
            return "then TERM twice".to_owned();
        }
        "then TERM".to_owned()
    }
}
