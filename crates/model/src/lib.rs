//! The nouns of isobar and its two seams, machine and policy.
//!
//! A machine is watched through [`Sample`]s (raw, cumulative counters). Two samples make an
//! [`Observation`] (rates and counts of one interval), a policy turns an observation into a
//! [`Plan`], and the machine applies it:
//!
//! ```text
//! let sample  = machine.sample()?;
//! let seen    = Observation::between(&prev, &sample);
//! let plan    = policy.decide(&seen);
//! let outcome = machine.apply(&plan)?;
//! ```
//!
//! Deliberately absent are I/O, clocks, randomness and hash order. Only constructors that check
//! outside input can fail.

#![forbid(unsafe_code)]

mod attribution;
mod between;
pub mod capabilities;
pub mod cgroup;
pub mod change;
pub mod count;
pub mod cpuset;
pub mod flight;
pub mod ids;
pub mod indirect;
pub mod maps;
pub mod metrics;
pub mod num;
pub mod observation;
pub mod outcome;
pub mod plan;
pub mod profile;
pub mod sample;
pub mod seams;
mod serial;
pub mod subject;
pub mod text;
pub mod topology;
pub mod units;
pub mod validate;
pub mod wire;

pub use capabilities::{Capabilities, Sensor};
pub use cgroup::Cgroup;
pub use change::{Effect, Gain, Prediction};
pub use count::{Count, Counters};
pub use cpuset::CpuSet;
pub use flight::PageMove;
pub use ids::{ActionId, CoreId, CpuId, LlcId, NodeId, Pid, Tid};
pub use indirect::{CpuReading, CpuTotals, Indirect, Monitored};
pub use maps::{NodeMap, NodeMatrix};
pub use observation::{CacheClass, Observation, Process, Thread};
pub use outcome::{ActionOutcome, Outcome};
pub use plan::{Action, NodeWeight, PageSelection, Plan, PlanPart};
pub use profile::Profile;
pub use sample::{ProcessSample, Sample, ThreadSample};
pub use seams::{GroupPolicy, Machine, Policy, Wake, WayCurves};
pub use subject::Subject;
pub use topology::Topology;
pub use units::{Bandwidth, Bytes, Mpki, Nanoseconds, Pages, Seconds, Ways};
