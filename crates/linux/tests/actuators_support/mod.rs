//! What the live tests share: processes of our own, bounded in time and ended with the test, and a
//! second life of the test program as a helper process (an ignored test, controlled by environment
//! variables).

#![allow(dead_code)] // each test program uses a part

pub mod watch;

use isobar_linux::actuators::{ActuatorError, Actuators, Intent, ThreadMove};
use isobar_linux::kernel::{affinity, identity};
use isobar_model::{ActionOutcome, CpuId, CpuSet, Pid, Tid};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that is ended with the test.
pub struct Kept(pub Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Kept {
    pub fn pid(&self) -> Pid {
        Pid(self.0.id())
    }

    pub fn tid(&self) -> Tid {
        Tid(self.0.id())
    }

    pub fn mask(&self) -> CpuSet {
        affinity::get(self.tid()).unwrap()
    }

    pub fn start(&self) -> u64 {
        identity::process(self.pid()).unwrap().start
    }

    /// The request to bind its main thread to a CPU.
    pub fn request(&self, cpu: CpuId) -> ThreadMove {
        request(self.pid(), self.tid(), cpu)
    }
}

pub fn request(pid: Pid, tid: Tid, cpu: CpuId) -> ThreadMove {
    let pid_start = identity::process(pid).unwrap().start;
    let tid_start = identity::task(pid, tid).unwrap().start;
    ThreadMove { pid, pid_start, tid, tid_start, cpu, pinned: false }
}

pub fn sleeper() -> Kept {
    Kept(Command::new("sleep").arg("60").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

/// A folder, and a state file in it that is not there yet.
pub fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("run/state.json");
    (folder, state)
}

/// The CPUs of this process, if there are two at least; else says that the test is skipped.
pub fn two_cpus() -> Option<(CpuId, CpuId)> {
    let cpus: Vec<_> = affinity::get(Tid(std::process::id())).unwrap().iter().collect();
    if cpus.len() < 2 {
        eprintln!("SKIPPED: needs two CPUs, this process may use {}", cpus.len());
        return None;
    }
    Some((cpus[0], cpus[1]))
}

pub fn only(cpu: CpuId) -> CpuSet {
    [cpu].into_iter().collect()
}

/// Moves one thread and expects that to succeed.
pub fn move_one(actuators: &mut Actuators, request: ThreadMove) {
    assert_eq!(try_move(actuators, request).unwrap(), ActionOutcome::Done);
}

pub fn try_move(actuators: &mut Actuators, request: ThreadMove) -> Result<ActionOutcome, ActuatorError> {
    let intent = actuators.intend(&[request])?.pop();
    Ok(actuators.carry_out(intent.unwrap_or(Intent::Settled(ActionOutcome::Vanished))))
}

/// A helper: this test program again, running one ignored test, with a pipe to it and from it.
pub struct Helper {
    pub process: Kept,
    lines: BufReader<ChildStdout>,
}

impl Helper {
    pub fn start(test: &str, variables: &[(&str, &str)]) -> Self {
        Self::start_as(&mut Command::new(std::env::current_exe().unwrap()), test, variables)
    }

    /// With a command that runs the test program, given its arguments.
    pub fn start_as(command: &mut Command, test: &str, variables: &[(&str, &str)]) -> Self {
        command.args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"]);
        command
            .env("ISOBAR_TEST_HELPER", "1")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Kept(command.spawn().unwrap());
        let lines = BufReader::new(process.0.stdout.take().unwrap());
        Self { process, lines }
    }

    /// The next line of the helper that starts with this word, without it.
    pub fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the helper ended before it said `{word}`");
            // libtest writes its own words before ours on the same line.
            if let Some(at) = line.find(word) {
                return line[at + word.len()..].trim().to_owned();
            }
        }
    }

    /// The next line with one of two words, and whether it has the first.
    pub fn hear_either(&mut self, first: &str, second: &str) -> (bool, String) {
        let mut line = String::new();
        while !line.contains(first) && !line.contains(second) {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the helper ended before it said `{first}`");
        }
        (line.contains(first), line)
    }

    pub fn tell(&mut self, line: &str) {
        writeln!(self.process.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

/// Copies this test program to where any user may run it.
pub fn public_copy(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = folder.join("test-program");
    copy_program(std::env::current_exe().unwrap(), &copy);
    for path in [folder, &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    copy
}

/// `setpriv` as nobody, in front of a program; `None`, said loudly, where we are not root or have
/// no `setpriv`.
pub fn as_nobody(program: &Path) -> Option<Command> {
    let root = std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).unwrap() == 0;
    let there = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !root || !there {
        eprintln!("SKIPPED: needs root and setpriv to become another user");
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]);
    command.arg(program);
    Some(command)
}

/// Waits for something to become true, for ten seconds at most.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what} did not come true");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether this is a helper, and not a run of all ignored tests.
pub fn is_helper() -> bool {
    std::env::var_os("ISOBAR_TEST_HELPER").is_some()
}

/// The value of an environment variable of this helper.
pub fn told(name: &str) -> String {
    std::env::var(name).unwrap()
}

/// Copies a program to be executed. By another process: what this one has open for writing, a
/// process that another test forks at that moment holds open too, and the copy could not be
/// executed (ETXTBSY).
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg("--").arg(from.as_ref()).arg(to.as_ref()).status().unwrap();
    assert!(copied.success(), "cp failed");
}
