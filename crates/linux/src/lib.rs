//! The Linux machine: sysfs topology, procfs and perf sensors, affinity and page-migration actuators.
//!
//! The only crate with unsafe code, and the only one that touches the kernel. It decides nothing: sensors read raw
//! counters into a [`isobar_model::Sample`], actuators carry out a [`isobar_model::Plan`]. Deliberately absent: policies,
//! rates, thresholds of contention.

pub mod actuators;
pub mod arch;
pub mod capability;
pub mod kernel_events;
pub mod machine;
mod own;
pub mod read;
pub mod resctrl;
pub mod sensors;
pub mod topology;
pub mod tree;

pub use own::own_cpu_time;
