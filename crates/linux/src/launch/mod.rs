//! Starts a command under a placement: CPUs, a memory policy, and the allocation shim.
//!
//! CPUs and memory policy are attributes of a thread that its children inherit through `fork(2)`
//! and `execve(2)`. So a thread of isobar's adopts them, starts the command, and ends. Nothing else
//! of isobar is changed.

mod bound;
mod group;
pub mod program;

pub use bound::bound;
pub use group::{end_group, has_ended, kill_group};

use crate::kernel::{affinity, mempolicy};
use isobar_allocation::Mode;
use isobar_model::{CpuSet, Tid};
use std::ffi::OsString;
use std::io;
use std::process::{Child, Command};
use std::thread;

/// A command, and how it is started.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The command.
    pub command: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The CPUs that it may run on; `None`: those of isobar.
    pub cpus: Option<CpuSet>,
    /// Its memory policy; `None`: that of isobar.
    pub policy: Option<Mode>,
    /// Variables to set in its environment.
    pub environment: Vec<(&'static str, OsString)>,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Isobar may use none of the CPUs, or the kernel refuses them.
    #[error("cannot bind to cpus {cpus}: {source}; see /proc/self/status (Cpus_allowed_list)")]
    Cpus {
        /// The CPUs requested.
        cpus: CpuSet,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not accept the memory policy.
    #[error("the kernel refuses the memory policy: {source}; do all the nodes have memory that this cpuset allows?")]
    Policy {
        /// The kernel's error.
        source: io::Error,
    },
    /// The command itself cannot be started.
    #[error("{command}: {source}")]
    Command {
        /// As it was typed.
        command: String,
        /// `NotFound`, or another reason.
        source: io::Error,
    },
}

/// Starts a command; it inherits our standard streams.
///
/// # Errors
/// [`LaunchError`]: in that case nothing runs.
pub fn start(launch: &Launch) -> Result<Child, LaunchError> {
    let starter = || {
        if let Some(cpus) = &launch.cpus {
            affinity::set(own_thread(), cpus).map_err(|source| LaunchError::Cpus { cpus: cpus.clone(), source })?;
        }
        if let Some(policy) = launch.policy {
            mempolicy::set(policy).map_err(|source| LaunchError::Policy { source })?;
        }
        let mut command = Command::new(&launch.command);
        command.args(&launch.arguments).envs(launch.environment.iter().map(|(key, value)| (key, value)));
        command.spawn().map_err(|source| failed(launch, source))
    };
    let joined = thread::scope(|scope| scope.spawn(starter).join());
    joined.unwrap_or_else(|_| Err(failed(launch, io::Error::other("the thread that was to start it failed"))))
}

/// The calling thread.
fn own_thread() -> Tid {
    Tid(u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0))
}

fn failed(launch: &Launch, source: io::Error) -> LaunchError {
    LaunchError::Command { command: launch.command.to_string_lossy().into_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_on_its_cpus_and_we_stay_where_we_were() {
        let before = affinity::get(own_thread()).unwrap();
        let one: CpuSet = before.first().into_iter().collect();
        let script = format!("test \"$(sed -n 's/Cpus_allowed_list:\t//p' /proc/self/status)\" = {one}");
        let launch = Launch {
            command: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            cpus: Some(one),
            ..Launch::default()
        };
        assert!(start(&launch).unwrap().wait().unwrap().success());
        assert_eq!(affinity::get(own_thread()).unwrap(), before);
        let gone = start(&Launch { command: "/no/such".into(), ..Launch::default() }).unwrap_err();
        assert!(matches!(gone, LaunchError::Command { source, .. } if source.kind() == io::ErrorKind::NotFound));
    }
}
