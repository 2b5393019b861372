//! Refusals of resctrl, in one line with the path, the kernel's error, its own explanation
//! (`info/last_cmd_status`) and the remedy.

use crate::kernel::schemata::SchemataError;
use isobar_model::ActionOutcome;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why something could not be done with resctrl.
#[derive(Debug, thiserror::Error)]
pub enum ResctrlError {
    /// the file system is not there, or not any more
    #[error("{root}: resctrl is not mounted: `mount -t resctrl resctrl {root}`, with the mount options that other \
             tools need", root = root.display())]
    NotMounted {
        /// where it was looked for
        root: PathBuf,
    },
    /// the kernel refused
    #[error("{path}: cannot {what}: {source}{explained}; {remedy}", path = path.display())]
    Refused {
        /// the file or folder
        path: PathBuf,
        /// what was tried
        what: String,
        /// what the kernel said
        source: io::Error,
        /// `last_cmd_status`, as a half sentence; empty if it says nothing
        explained: String,
        /// what can be done
        remedy: String,
    },
    /// the content of a file is not what the kernel documents
    #[error("{path}: {source}: this is not resctrl, or not as \
             `Documentation/filesystems/resctrl.rst` describes it", path = path.display())]
    Malformed {
        /// the file
        path: PathBuf,
        /// what is wrong with its content
        source: SchemataError,
    },
    /// another tool holds the lock
    #[error("{root}: another tool has held the lock of resctrl for {} ms (`lsof {root}` names it): nothing \
             was changed", waited.as_millis(), root = root.display())]
    Locked {
        /// the folder
        root: PathBuf,
        /// how long was waited
        waited: Duration,
    },
    /// what is offered cannot be read
    #[error(transparent)]
    Info(#[from] crate::kernel::tree::LinuxError),
}

impl ResctrlError {
    /// The kernel's error number, if the error is the kernel's.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether what was named does not exist (any more): a task that ended, a group that was
    /// removed.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self.errno(), Some(libc::ESRCH | libc::ENOENT))
    }

    /// The error as the outcome of an action.
    #[must_use]
    pub fn outcome(&self) -> ActionOutcome {
        ActionOutcome::Refused { errno: self.errno(), why: self.to_string() }
    }
}

/// What can be done about an error of the kernel, whatever was tried.
#[must_use]
pub fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => "run as root",
        Some(libc::EROFS) => "mount resctrl for writing",
        Some(libc::ENOSPC) => {
            "another tool took what was left: remove its groups (rmdir), or let the policy use fewer clusters"
        }
        Some(libc::EBUSY) => {
            "monitoring ids of removed groups are not free yet: wait, or raise info/L3_MON/max_threshold_occupancy"
        }
        Some(libc::EINVAL) => {
            "see info/ for the values that this machine accepts, and `mode` of the groups for exclusive ones"
        }
        Some(libc::ENOENT | libc::ENODEV | libc::ENOTCONN) => {
            "mount resctrl again: `mount -t resctrl resctrl /sys/fs/resctrl`"
        }
        _ => "see the kernel's log (dmesg)",
    }
}
