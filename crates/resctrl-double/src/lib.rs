//! A resctrl file system for tests. Hardware that partitions caches is rare, so this crate pretends
//! it: [`Resctrl`] is the kernel's logic without I/O, [`Mounted`] puts it behind a FUSE mount, so
//! that a program which drives resctrl can be tested unchanged, through real file operations, and
//! meets the same refusals, with the same errno and the same words in `info/last_cmd_status`.
//!
//! It is an independent witness: it imports nothing of isobar. Its rules come from
//! `Documentation/filesystems/resctrl.rst` and from what fs/resctrl of Linux does; every rule names
//! the function that it repeats. Where it differs:
//!
//! - It sees no forks; see `resctrl/tasks.rs` for how a new task's group is found, and when that is
//!   wrong.
//! - A write of no bytes never reaches a FUSE file system, where the kernel's resctrl answers
//!   `EINVAL`.
//! - `statfs` shows FUSE, and `/proc/PID/cpu_resctrl_groups` knows nothing of it.
//! - No mount options but those that [`Machine`] has; no `mba_MBps`, `io_alloc`, BMEC or
//!   `mbm_L3_assignments` files; pseudo-locking only as an existing region of another tool.

#![forbid(unsafe_code)]

mod faults;
mod fuse;
mod machine;
mod mounted;
mod numbers;
mod refusal;
mod resctrl;
mod spec;
mod threads;
mod traffic;

pub use faults::{Entry, Fault, Mishap, Operation};
pub use machine::{Bandwidth, Cache, Cdp, Domain, Kernel, Machine, Monitoring};
pub use mounted::{MountError, Mounted};
pub use refusal::Answer;
pub use resctrl::{Caller, Event, GroupFile, GroupId, MonitoringFile, Node, Reading, Resctrl, ResourceFile};
pub use rustix::io::Errno;
pub use threads::{ProcThreads, Task, Threads};
pub use traffic::{Traffic, TrafficFile, TrafficMap};
