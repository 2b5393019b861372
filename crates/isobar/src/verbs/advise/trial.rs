//! A command that is run in order to be watched, and ended afterwards.

use crate::failure::Ended;
use crate::failure::tell;
use crate::machines::launch;
use isobar_model::Pid;
use rustix::process::{Pid as Id, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// How many pauses the command has to end in order.
const PATIENCE: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// The command while it runs. Dropping this ends it.
pub struct Trial(Child);

impl Trial {
    /// Starts a command, if there is one. Its output goes to stderr, because stdout is for the
    /// advice.
    ///
    /// # Errors
    /// The command cannot be started: ends with the exit code that shells use for that.
    pub fn start(command: &[OsString]) -> anyhow::Result<Option<Self>> {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        match Command::new(program).args(arguments).stdout(Stdio::from(stderr)).spawn() {
            Ok(child) => Ok(Some(Self(child))),
            Err(error) => {
                tell(&format!("{}: {error}", program.to_string_lossy()));
                Err(Ended::of(launch::exit_code(&error)).into())
            }
        }
    }

    /// The id of its process.
    pub fn pid(&self) -> Pid {
        Pid(self.0.id())
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Id::from_raw) {
            // The command may have ended since. Its id is not reused, because we have not waited
            // for it yet.
            let _ = kill_process(pid, Signal::TERM);
        }
        for _ in 0..PATIENCE {
            if self.has_ended() {
                return;
            }
            thread::sleep(PAUSE);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
