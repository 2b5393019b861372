//! The Linux machine: sysfs topology, procfs and perf sensors, affinity and page-migration
//! actuators.
//!
//! This is the only crate with unsafe code, and the only one that touches the kernel. It decides
//! nothing: sensors read raw counters into a [`isobar_model::Sample`], actuators carry out a
//! [`isobar_model::Plan`]. Deliberately absent: policies, rates, thresholds of contention.
//!
//! Modules import downwards only:
//!
//! ```text
//! machine                     the seam: sensors and actuators together
//! sensors     actuators       neither knows the other
//! probe                       latency and bandwidth between nodes, by timed loads
//! launch                      starting a command under a placement
//! neighbours                  who else places threads and pages
//! resctrl     kernel_events   topology
//! perf                        opening and reading perf events
//! kernel                      the kernel's text; ids, masks and rights of tasks
//! ```

pub mod actuators;
pub mod kernel;
pub mod kernel_events;
pub mod launch;
pub mod machine;
pub mod neighbours;
pub mod perf;
pub mod probe;
pub mod resctrl;
pub mod sensors;
pub mod topology;

#[cfg(test)]
mod any_text_tests;
#[cfg(test)]
mod test_kit;

pub use kernel::clock::own_cpu_time;
pub use kernel::own::{OwnUse, own_use};
pub use kernel::{read, tree};
