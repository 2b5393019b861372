//! Shared by the live tests: processes of the tests, limited in time and ended with the test, and
//! the scene of most tests.

#![allow(dead_code)] // each test program uses a part

pub mod helper;
pub mod shell;
pub mod watch;

use isobar_linux::actuators::{ActuatorError, Actuators, Intent, ThreadMove};
use isobar_linux::kernel::{affinity, identity};
use isobar_model::{ActionOutcome, CpuId, CpuSet, Pid, Tid};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process that is ended with the test.
pub struct Kept(pub Child);

impl Drop for Kept {
    fn drop(&mut self) {
        self.end();
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

    /// Binds it as its owner would, without isobar.
    pub fn pin(&self, cpu: CpuId) {
        affinity::set(self.tid(), &only(cpu)).unwrap();
    }

    /// Ends it by SIGKILL, and waits until it is gone.
    pub fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn request(pid: Pid, tid: Tid, cpu: CpuId) -> ThreadMove {
    let pid_start = identity::process(pid).unwrap().start;
    let tid_start = identity::task(pid, tid).unwrap().start;
    ThreadMove { pid, pid_start, tid, tid_start, cpu, cpus: None, pinned: false }
}

pub fn sleeper() -> Kept {
    Kept(Command::new("sleep").arg("60").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

/// A folder, and the path of a state file in it that does not exist yet.
pub fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("run/state.json");
    (folder, state)
}

/// Two CPUs, a process with the mask that it had, and a place for the state file.
pub struct Scene {
    pub first: CpuId,
    pub second: CpuId,
    pub process: Kept,
    pub before: CpuSet,
    pub state: PathBuf,
    pub folder: TempDir,
}

impl Scene {
    /// `None`, with the reason on stderr, if this process may use only one CPU.
    pub fn set() -> Option<Self> {
        let cpus: Vec<_> = affinity::get(Tid(std::process::id())).unwrap().iter().collect();
        let [first, second, ..] = cpus[..] else {
            eprintln!("SKIPPED: needs two CPUs, this process may use {}", cpus.len());
            return None;
        };
        let ((folder, state), process) = (place(), sleeper());
        Some(Self { first, second, before: process.mask(), process, state, folder })
    }

    pub fn actuators(&self) -> Actuators {
        Actuators::open(&self.state).unwrap().0
    }
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

/// Waits for something to become true, for half a minute at most.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what} did not come true");
        std::thread::sleep(Duration::from_millis(10));
    }
}
