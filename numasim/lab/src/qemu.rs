//! A QEMU process that never outlives us: in a process group of its own, bounded in time, killed
//! and waited for on Ctrl-C, on an error and when its handle is dropped; should we be killed
//! ourselves, the kernel ends it (`PR_SET_PDEATHSIG`, through setpriv where there is one).

use crate::ending::Stop;
use crate::error::LabError;
use crate::fetch;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often we look whether it has ended.
const TICK: Duration = Duration::from_millis(50);

/// What to start.
pub struct Start<'a> {
    /// The emulator.
    pub binary: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// A library that is loaded into it, and into nothing else.
    pub preload: Option<&'a Path>,
    /// Where its errors go.
    pub errors: &'a Path,
    /// How long it may run.
    pub limit: Duration,
}

/// Runs it to its end.
///
/// # Errors
/// It cannot be started at all.
pub fn run(start: &Start<'_>, interrupted: &AtomicBool) -> Result<Stop, LabError> {
    let mut guard = Guard(spawn(start)?);
    let until = Instant::now() + start.limit;
    loop {
        if let Some(status) = guard.0.try_wait().map_err(|error| LabError::io(start.binary, error))? {
            return Ok(stop(status));
        }
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Stop::Interrupted);
        }
        if Instant::now() >= until {
            return Ok(Stop::OutOfTime);
        }
        std::thread::sleep(TICK);
    }
}

fn stop(status: ExitStatus) -> Stop {
    match (status.code(), status.signal()) {
        (Some(code), _) => Stop::Exit(code),
        (None, signal) => Stop::Signal(signal.unwrap_or(0)),
    }
}

fn spawn(start: &Start<'_>) -> Result<Child, LabError> {
    let errors = File::create(start.errors).map_err(|error| LabError::io(start.errors, error))?;
    let again = errors.try_clone().map_err(|error| LabError::io(start.errors, error))?;
    let mut words: Vec<std::ffi::OsString> = Vec::new();
    if fetch::program("setpriv", "util-linux").is_ok() {
        words.extend(["setpriv", "--pdeathsig", "KILL"].map(Into::into));
    }
    if let Some(library) = start.preload {
        // `env` sets it for QEMU alone: setpriv itself must not load the plugin.
        let mut preload = std::ffi::OsString::from("LD_PRELOAD=");
        preload.push(library);
        words.extend(["env".into(), preload]);
    }
    words.push(start.binary.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(start.arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(errors).stderr(again);
    command.spawn().map_err(|error| LabError::io(start.binary, error))
}

/// Kills the process group and waits, whatever happens.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // Where it has ended and was waited for, its group is gone, or what is left of it is
            // ours to end.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[path = "qemu_tests.rs"]
mod tests;
