//! The Linux machine: sysfs topology, procfs and perf sensors, affinity and page-migration
//! actuators.
//!
//! The only crate with unsafe code, and the only one that touches the kernel. It decides nothing:
//! sensors read raw counters into a [`isobar_model::Sample`], actuators carry out a
//! [`isobar_model::Plan`]. Deliberately absent: policies, rates, thresholds of contention.

pub mod actuators;
pub mod kernel;
pub mod kernel_events;
pub mod machine;
pub mod numasim;
pub mod perf;
pub mod resctrl;
pub mod sensors;
pub mod topology;

pub use kernel::cpu_time::own_cpu_time;
pub use kernel::{read, tree};
