//! The lowest layer: reads and parses the kernel's text, and handles the ids, masks and rights of
//! tasks.
//!
//! This layer knows how procfs and sysfs write things. It knows no sample, no plan and no state
//! file, and imports nothing of this crate.

pub mod affinity;
pub mod ancestors;
pub mod arch;
pub mod areas;
pub mod capability;
pub mod cgroup;
pub mod clock;
pub mod cloning;
pub mod cpu_model;
pub mod executable;
pub(crate) mod files;
pub mod group_names;
pub mod huge;
pub(crate) mod id;
pub mod identity;
pub mod locks;
pub(crate) mod map_line;
pub mod maps;
pub mod mbind;
pub mod mempolicy;
pub mod move_pages;
pub mod names;
pub mod node_memory;
pub mod numa_maps;
pub mod other;
pub mod own;
pub mod page_range;
pub mod parse;
pub mod privilege;
pub mod proc_fs;
pub mod read;
pub mod resctrl_info;
pub mod schemata;
pub mod shared_page;
pub mod stat;
pub mod tree;
pub mod vm;
