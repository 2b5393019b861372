//! The destination of isobar's output: a reader that keeps up, or one that does not.

use crate::family::{Family, pid};
use crate::kinds::Kind;
use crate::random::{Random, one_in};
use crate::terminal::Terminal;
use crate::words::Words;
use anyhow::{Context, Result};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::Signal;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

/// The size of the smallest pipe that the kernel makes.
const PIPE_BYTES: usize = 4096;

/// The outputs of one run.
pub struct Outlet {
    words: Vec<Words>,
    held: Held,
}

enum Held {
    Nothing,
    Pipe(OwnedFd),
    Reader(i32),
    Terminal(Terminal),
}

impl Outlet {
    /// Outputs that are read completely.
    pub fn drained(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { words: Vec::new(), held: Held::Nothing }
    }

    /// The outputs that a kind of end needs, apart from terminals.
    pub fn of(kind: Kind, command: &mut Command, family: &mut Family, random: &mut Random) -> Result<Self> {
        let mut outlet = Self::drained(command);
        match kind {
            Kind::OutputFull => drop(command.stdout(OpenOptions::new().write(true).open("/dev/full")?)),
            Kind::Stalled | Kind::ReaderLeft => outlet.pipe(command, kind == Kind::Stalled && one_in(random, 2))?,
            Kind::StoppedReader => outlet.reader(command, family)?,
            _ => {}
        }
        Ok(outlet)
    }

    /// A terminal; the command opens it by its path.
    pub fn terminal() -> Result<Self> {
        let terminal = Terminal::open()?;
        Ok(Self { words: vec![terminal.words.clone()], held: Held::Terminal(terminal) })
    }

    /// The device of the terminal.
    pub fn path(&self) -> &str {
        if let Held::Terminal(terminal) = &self.held { &terminal.path } else { "" }
    }

    /// The smallest pipe, without a reader; stderr may go to it, too.
    fn pipe(&mut self, command: &mut Command, both: bool) -> Result<()> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setpipe_size(&write, PIPE_BYTES)?;
        if both {
            command.stderr(write.try_clone()?);
        }
        command.stdout(write);
        self.held = Held::Pipe(read);
        Ok(())
    }

    fn reader(&mut self, command: &mut Command, family: &mut Family) -> Result<()> {
        let mut cat = family.start(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        command.stdout(cat.stdin.take().context("cat has no stdin")?);
        self.attach(&mut cat);
        self.held = Held::Reader(pid(&cat));
        Ok(())
    }

    /// Reads the pipes of a child that was started.
    pub fn attach(&mut self, child: &mut Child) {
        self.words.extend(child.stdout.take().map(Words::from));
        self.words.extend(child.stderr.take().map(Words::from));
    }

    /// Stops the reader, or the terminal.
    pub fn stop(&self, family: &Family) {
        match &self.held {
            Held::Reader(cat) => drop(family.signal(*cat, Signal::STOP)),
            Held::Terminal(terminal) => terminal.stop(),
            Held::Nothing | Held::Pipe(_) => {}
        }
    }

    /// Makes the reader leave: closes the pipe or the terminal.
    pub fn close(&mut self) {
        if let Held::Terminal(terminal) = &self.held {
            terminal.close();
        } else {
            self.held = Held::Nothing;
        }
    }

    /// Makes everything readable again, so that all output of isobar is available.
    pub fn release(&mut self, family: &Family) {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Pipe(read) => self.words.push(Words::from(File::from(read))),
            Held::Reader(cat) => drop(family.signal(cat, Signal::CONT)),
            Held::Terminal(terminal) => {
                terminal.go_on();
                self.held = Held::Terminal(terminal);
            }
            Held::Nothing => {}
        }
    }

    /// Number of bytes on each output so far.
    pub fn marks(&self) -> Vec<usize> {
        self.words.iter().map(Words::len).collect()
    }

    /// The output after the marks; for an output without a mark, all of it.
    pub fn since(&self, marks: &[usize]) -> String {
        let after = |(index, words): (usize, &Words)| words.since(marks.get(index).copied().unwrap_or(0));
        self.words.iter().enumerate().map(after).collect::<Vec<_>>().join("\n")
    }
}
