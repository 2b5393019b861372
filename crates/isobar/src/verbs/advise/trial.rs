//! A command that is run in order to be watched, and ended afterwards.

use crate::failure::Ended;
use crate::failure::notify;
use crate::machines::launch::{self, end_group};
use isobar_model::Pid;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long the command has to end in order.
const PATIENCE: Duration = Duration::from_secs(5);

/// The command while it runs. Dropping this ends it, and what it started.
pub struct Trial(Child);

impl Trial {
    /// Starts a command, if there is one, in a process group of its own. Its output goes to stderr,
    /// because stdout is for the advice. It cannot read from a terminal, which serves one group at
    /// a time.
    ///
    /// # Errors
    /// The command cannot be started: ends with the exit code that shells use for that.
    pub fn start(command: &[OsString]) -> anyhow::Result<Option<Self>> {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::from(stderr)).process_group(0);
        if io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        match command.spawn() {
            Ok(child) => Ok(Some(Self(child))),
            Err(error) => {
                notify(&format!("{}: {error}", program.to_string_lossy()));
                Err(Ended::of(launch::exit_code(&error)).into())
            }
        }
    }

    /// The id of its process.
    pub fn pid(&self) -> Pid {
        Pid(self.0.id())
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if let Err(error) = end_group(&mut self.0, PATIENCE) {
            notify(&format!("the command was not ended: {error}"));
        }
    }
}
