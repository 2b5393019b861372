//! Cache ways, memory bandwidth and monitoring of groups of threads through the kernel's resctrl
//! file system (`Documentation/filesystems/resctrl.rst`).
//!
//! This module knows groups, masks and tasks, and the kernel's error texts. It decides nothing: a
//! plan says which clusters there are and which threads are in them. It never mounts the file
//! system (another tool may want other options), never changes the default group's masks, and never
//! touches groups of others.

pub mod absence;
pub mod beforehand;
pub mod cache_ways;
pub mod carry;
pub mod clusters;
pub mod error;
pub mod layout;
pub mod monitors;
pub mod record;
pub mod request;
pub mod restore;
pub mod root;
pub mod view;
pub mod ways;

pub use beforehand::without_others;
pub use error::ResctrlError;
pub use root::{DEFAULT_ROOT, Root};
pub use ways::Ways;
