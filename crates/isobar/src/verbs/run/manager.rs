//! A manager for one command: `isobar manage` as a child process, so that its changes are put back
//! by the same code as all others.

use crate::failure::notify;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command, Stdio};

/// The manager process. Dropping it makes it end in order.
pub struct Manager(Child);

impl Manager {
    /// Starts a manager for a process and all that it starts. The manager ends when this process
    /// ends, however that happens.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(policy: &str, command: u32) -> anyhow::Result<Self> {
        let mut manager = Command::new(std::env::current_exe()?);
        let (own, command) = (std::process::id().to_string(), format!("tree:{command}"));
        manager.args(["manage", "--quiet", "--policy", policy, "--only", &command, "--parent", &own]);
        Ok(Self(manager.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?))
    }
}

impl Manager {
    /// Whether it has ended, which happens only with an error that it has already reported.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let ended = self.0.try_wait().ok().flatten();
        let asked = match (ended, i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)) {
            (None, Some(pid)) => kill_process(pid, Signal::TERM),
            _ => Ok(()),
        };
        if let (Ok(()), Err(error)) = (asked, self.0.wait()) {
            notify(&format!("the manager of the command: {error}"));
        }
    }
}
