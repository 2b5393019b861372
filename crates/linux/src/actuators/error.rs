//! What can go wrong with the actuators as a whole: the state file and its lock. If the kernel
//! refuses an action on one thread or one page, that is not an error but an
//! [`isobar_model::ActionOutcome`].

use crate::kernel::identity;
use std::io;
use std::path::{Path, PathBuf};

/// Why nothing can be changed, or why not everything could be put back. Every message is one line
/// and names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ActuatorError {
    /// the state file, its folder or its lock cannot be read or written
    #[error("{path}: cannot {what}: {source}; nothing is changed without it: name another file with \
             `manage.state_file` (manage) or `--state` (restore)", path = path.display())]
    State {
        /// the file or folder
        path: PathBuf,
        /// what was tried
        what: &'static str,
        /// what the kernel said
        source: io::Error,
    },
    /// the kernel's NUMA balancing cannot be switched off
    #[error(
        "cannot switch NUMA balancing off (manage.numa_balancing = \"off\"): /proc/sys/kernel/numa_balancing: {0}: \
         only root may write to it: run as root, or leave that setting out"
    )]
    Balancing(#[source] io::Error),
    /// another isobar holds the lock of the state file's folder
    #[error("{path}: another isobar is running ({holder}) and may have changed affinities: stop it first; it restores \
             them when it ends", path = path.display())]
    Locked {
        /// the state file
        path: PathBuf,
        /// its process
        holder: String,
    },
    /// something that is no isobar holds the lock of the state file's folder
    #[error("{path}: the folder is locked by {holder}, which is not isobar: end that process, or name a file in a \
             folder that only you may enter (mode 0700)", path = path.display())]
    Squatted {
        /// the folder
        path: PathBuf,
        /// who
        holder: String,
    },
    /// another isobar manages this machine, perhaps with another state file
    #[error(
        "another isobar manages this machine ({other}): stop it first (`kill {pid}`; it then puts back what it \
         changed), or run with `--dry-run`, which changes nothing"
    )]
    Managed {
        /// who, escaped
        other: String,
        /// its process
        pid: u32,
    },
    /// the state file is damaged, or of a version that this isobar does not know
    #[error("{path}: not a state file of isobar: {problem}; name another file, or, if isobar wrote it, delete it (the \
             changes that it records are then not put back)", path = path.display())]
    Broken {
        /// the file
        path: PathBuf,
        /// where and what, in one line
        problem: String,
    },
    /// what is there is no regular file
    #[error("{path}: is {is}, not a state file of isobar: name the file itself", path = path.display())]
    NotAFile {
        /// the path
        path: PathBuf,
        /// what it is
        is: &'static str,
    },
    /// the state file belongs to another user, who could make isobar change anything
    #[error("{path}: belongs to uid {found}, not to uid {expected}: run as its owner, or delete it", path = path.display())]
    Foreign {
        /// the file
        path: PathBuf,
        /// its owner
        found: u32,
        /// who we are
        expected: u32,
    },
    /// others could change the state file, and so make isobar change anything
    #[error("{path}: {problem}: a state file there is not trusted, and nothing is changed; name one in a \
             folder that only you may write to", path = path.display())]
    Unsafe {
        /// the file or folder
        path: PathBuf,
        /// why
        problem: String,
    },
    /// everything is put back, but the file that records it cannot be deleted
    #[error("{path}: everything is put back, but the file cannot be deleted: {source}; delete it", path = path.display())]
    Undeleted {
        /// the file
        path: PathBuf,
        /// what the kernel said
        source: io::Error,
    },
    /// the kernel does not provide what isobar needs to recognise threads again
    #[error("{path}: {source}; isobar needs it to recognise threads: mount procfs on /proc", path = path.display())]
    Proc {
        /// the file
        path: PathBuf,
        /// what the kernel said
        source: io::Error,
    },
    /// not everything could be put back
    #[error("{path}: {refused} threads or resctrl groups could not be put back ({why}); the file is kept: \
             run `isobar restore` with the privilege that isobar had", path = path.display())]
    NotRestored {
        /// the state file
        path: PathBuf,
        /// how many threads and groups
        refused: usize,
        /// the first refusal
        why: String,
    },
}

/// The `what` of a [`ActuatorError::State`] for a look at a file or folder.
pub(super) const LOOK: &str = "look at";

/// The id of this boot; see [`identity::boot_id`].
pub(super) fn boot_id() -> Result<String, ActuatorError> {
    identity::boot_id().map_err(|source| ActuatorError::Proc { path: identity::BOOT_ID.into(), source })
}

/// Turns the kernel's error about a file or folder into an [`ActuatorError`], for `map_err`.
pub(super) fn failed<'a>(path: &'a Path, what: &'static str) -> impl FnOnce(io::Error) -> ActuatorError + 'a {
    move |source| ActuatorError::State { path: path.to_owned(), what, source }
}
