//! Runs QEMU as a process that never outlives numasim. It has a process group of its own and
//! limited time, and is killed and waited for on Ctrl-C, on an error and when its handle is
//! dropped. If numasim itself is killed, the kernel ends QEMU (`PR_SET_PDEATHSIG`, through setpriv
//! if this is installed).

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

/// Interval at which numasim checks whether QEMU has ended.
const TICK: Duration = Duration::from_millis(50);

/// What to start.
pub struct Start<'a> {
    /// The emulator.
    pub binary: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// A library that is loaded into the emulator, and into nothing else.
    pub preload: Option<&'a Path>,
    /// The file for its output and errors.
    pub errors: &'a Path,
    /// How long it may run.
    pub limit: Duration,
}

/// Runs the emulator to its end.
///
/// # Errors
/// The emulator cannot be started at all.
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
        // `env` sets the variable for QEMU alone: setpriv itself must not load the plugin.
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
            // If it has ended and was waited for, either its group is gone, or what is left of the
            // group has to be ended, too.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[path = "qemu_tests.rs"]
mod tests;
