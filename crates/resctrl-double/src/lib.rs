//! A resctrl file system for tests. Hardware that partitions caches is rare, so this crate
//! simulates it. [`Resctrl`] is the kernel's logic without I/O. [`Mounted`] puts it behind a FUSE
//! mount, so that a program which drives resctrl can be tested unchanged, through real file
//! operations, and gets the same refusals, with the same errno and the same text in
//! `info/last_cmd_status`.
//!
//! The crate is independent: it imports nothing of isobar. Its rules come from
//! `Documentation/filesystems/resctrl.rst` and from what fs/resctrl of Linux does; every rule names
//! the function that it repeats. Differences from the kernel:
//!
//! - It has no `size` and `bit_usage`, `max_threshold_occupancy` is only read, and `cpus` and
//!   `cpus_list` exist if the machine names its CPUs.
//! - A monitor group cannot be renamed or moved. There is no pseudo-locking, as on a kernel without
//!   `CONFIG_RESCTRL_FS_PSEUDO_LOCK`.
//! - The RMID of a removed group is clean at once.
//! - It does not ask whose task is moved: only root can write to its files.
//! - Its groups do nothing, unless a [`Hardware`] is attached that carries them out.
//! - It sees no forks; see `resctrl/tasks.rs` for how a new task's group is found, and when that is
//!   wrong.
//! - A write of no bytes never reaches a FUSE file system, where the kernel's resctrl answers
//!   `EINVAL`.
//! - `statfs` shows FUSE, and `/proc/PID/cpu_resctrl_groups` knows nothing of it.

#![forbid(unsafe_code)]

mod faults;
mod fuse;
mod hardware;
mod machine;
mod mounted;
mod numbers;
mod refusal;
mod resctrl;
mod threads;

pub use faults::{Entry, Fault, FaultEffect, Operation};
pub use hardware::{Allocation, Hardware};
pub use machine::{Event, Machine};
pub use mounted::{MountError, Mounted, can_mount};
pub use refusal::Answer;
pub use resctrl::{GroupFile, GroupId, Node, Resctrl};
pub use rustix::io::Errno;
pub use threads::{Task, Threads};
