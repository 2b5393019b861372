//! A shell that makes processes on request: its children inherit its mask, and its control group.

use super::Kept;
use isobar_linux::kernel::affinity;
use isobar_model::{CpuSet, Tid};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};

/// A line that makes a child.
pub const CHILD: &str = "sleep 30 >/dev/null & echo $!";

/// A shell that runs each line that it is given, and ends with the test.
pub struct Shell {
    pub process: Kept,
    lines: BufReader<ChildStdout>,
}

impl Shell {
    pub fn start() -> Self {
        let script = "while read line; do eval \"$line\"; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Kept(shell.spawn().unwrap());
        let lines = BufReader::new(process.0.stdout.take().unwrap());
        Self { process, lines }
    }

    /// Runs a line.
    pub fn run(&mut self, line: &str) {
        writeln!(self.process.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Runs a line that prints the id of a process, which ends with the test.
    pub fn makes(&mut self, line: &str) -> Orphan {
        self.run(line);
        let mut answer = String::new();
        self.lines.read_line(&mut answer).unwrap();
        Orphan(Tid(answer.trim().parse().unwrap_or_else(|_| panic!("no process id: {answer}"))))
    }
}

/// A process that is no child of ours; ended with the test, and by itself after 30 seconds.
pub struct Orphan(pub Tid);

impl Orphan {
    pub fn mask(&self) -> CpuSet {
        affinity::get(self.0).unwrap()
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.0).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
