//! What a machine can measure and do, and why it cannot do the rest. The machine finds this out and
//! the command prints it. Nothing that decides uses it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Something that a machine may be able to measure or do, with a name for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sensor {
    /// Instructions retired, by thread.
    Instructions,
    /// LLC misses, by thread.
    LlcMisses,
    /// Resident pages by node, by process.
    PagesByNode,
    /// Memory latency between nodes.
    Latency,
    /// More than one node to place memory on.
    SeveralNodes,
    /// More than one memory domain (LLC or node) to place threads on.
    SeveralDomains,
    /// LLC ways can be allocated.
    CacheWays,
    /// Pages accessed in an interval, by process.
    AccessedPages,
    /// The nodes of a process's new pages can be set.
    Allocation,
}

impl fmt::Display for Sensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instructions => "instructions per thread",
            Self::LlcMisses => "LLC misses per thread",
            Self::PagesByNode => "pages per node",
            Self::Latency => "memory latency between nodes",
            Self::SeveralNodes => "a second NUMA node",
            Self::SeveralDomains => "a second memory domain (LLC or node)",
            Self::CacheWays => "LLC way allocation",
            Self::AccessedPages => "accessed pages",
            Self::Allocation => "allocation of new pages",
        })
    }
}

/// What a machine can measure: the absent sensors, each with the reason that was found. All others
/// are present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Sensors that are not there, and why, in one line with the remedy.
    pub missing: BTreeMap<Sensor, String>,
    /// What else a person should know about this machine: missing privileges, competing balancers.
    pub remarks: Vec<String>,
    /// Whether the kernel's own NUMA balancing moves pages and threads too; `None` if that is not
    /// known.
    pub numa_balancing: Option<bool>,
}

impl Capabilities {
    /// Of the needed sensors, those that are missing, with the reason.
    #[must_use]
    pub fn lacking(&self, needs: &[Sensor]) -> Vec<(Sensor, &str)> {
        let reason = |sensor: &Sensor| self.missing.get(sensor).map(|why| (*sensor, why.as_str()));
        needs.iter().filter_map(reason).collect()
    }
}
