//! A machine as written in TOML, with units in the key names, and the checks of its values.

use super::linux::Linux;
use crate::error::{SimError, within};
use isobar_model::topology::{BandwidthShares, Topology};
use isobar_model::{CpuSet, LlcId, NodeId};
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    pub clock_ghz: f64,
    pub queue: QueueSpec,
    pub node: Vec<NodeSpec>,
    pub llc: Vec<LlcSpec>,
    #[serde(default)]
    pub link: Vec<LinkSpec>,
    #[serde(default)]
    pub coherence: CoherenceSpec,
    #[serde(default)]
    pub counters: CountersSpec,
    #[serde(default)]
    pub route: Vec<RouteSpec>,
    pub smt: Option<SmtSpec>,
    /// Shares of memory bandwidth for clusters of threads (`info/MB` of resctrl); `None` if the
    /// machine has none.
    pub bandwidth_shares: Option<BandwidthShares>,
    pub latency: LatencySpec,
    #[serde(default)]
    pub linux: Linux,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueSpec {
    pub controller_ns: f64,
    pub link_ns: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeSpec {
    pub id: NodeId,
    pub memory_gib: u32,
    /// All controllers of the node together.
    pub gb_per_s: f64,
    /// The fraction of `gb_per_s` that can be delivered: below 1 if `gb_per_s` is the peak of the
    /// channels, as vendors state it.
    #[serde(default = "all")]
    pub sustained: f64,
    /// Low and high end of `sustained`, if it is an estimate.
    pub sustained_range: Option<[f64; 2]>,
    #[serde(default = "one")]
    pub controllers: u32,
}

const fn one() -> u32 {
    1
}

const fn all() -> f64 {
    1.0
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LlcSpec {
    pub id: LlcId,
    pub node: NodeId,
    pub size_mib: f64,
    pub ways: u32,
    /// Classes of service (`info/L3/num_closids` of resctrl).
    #[serde(default = "sixteen")]
    pub clos: u32,
    /// Whether a mask may have gaps between its bits (`info/L3/sparse_masks` of resctrl).
    #[serde(default)]
    pub sparse_masks: bool,
    /// Size of each core's private cache, if the LLC takes only the lines that the private cache
    /// evicts (a victim cache); 0 if the LLC also holds the lines of the private caches.
    #[serde(default)]
    pub private_kib: f64,
    #[serde(deserialize_with = "cpu_list")]
    pub cpus: CpuSet,
}

const fn sixteen() -> u32 {
    16
}

/// The path that data takes from one node to another, if it is not the shortest. It does not
/// determine the way back.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteSpec {
    pub from: NodeId,
    pub to: NodeId,
    /// The nodes in between, in order.
    pub via: Vec<NodeId>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SmtSpec {
    pub threads: u32,
    pub throughput: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkSpec {
    pub a: NodeId,
    pub b: NodeId,
    /// The signalling rate.
    pub gb_per_s_each_way: f64,
    /// The fraction that can carry lines: headers, checks and flow control take the rest.
    #[serde(default = "all")]
    pub sustained: f64,
    /// Low and high end of `sustained`, if it is an estimate.
    pub sustained_range: Option<[f64; 2]>,
}

/// Bytes that cross links for each line read, in addition to the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CoherenceSpec {
    /// From the reader to the memory's node.
    pub request_bytes: f64,
    /// From the memory's node to every other node; 0 if a directory makes probes rare.
    pub probe_bytes: f64,
    /// From every node except the memory's to the reader.
    pub response_bytes: f64,
}

/// What hardware counters of the machine count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CountersSpec {
    /// Whether a prefetched line counts as a miss.
    pub misses_include_prefetches: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LatencySpec {
    pub ns: Vec<Vec<f64>>,
}

impl Spec {
    pub(crate) fn validate(&self, file: &str) -> Result<(), SimError> {
        positive(file, "clock_ghz", self.clock_ghz)?;
        positive(file, "queue.controller_ns", self.queue.controller_ns)?;
        positive(file, "queue.link_ns", self.queue.link_ns)?;
        self.node.iter().try_for_each(|node| positive(file, "node.gb_per_s", node.gb_per_s))?;
        self.node.iter().try_for_each(|node| part(file, "node.sustained", node.sustained, node.sustained_range))?;
        self.link.iter().try_for_each(|link| part(file, "link.sustained", link.sustained, link.sustained_range))?;
        self.coherence.validate(file)?;
        self.node.iter().try_for_each(|node| positive(file, "node.memory_gib", f64::from(node.memory_gib)))?;
        self.node.iter().try_for_each(|node| counted(file, "node.controllers", node.controllers, 64))?;
        self.llc.iter().try_for_each(|llc| positive(file, "llc.size_mib", llc.size_mib))?;
        self.llc.iter().try_for_each(|llc| counted(file, "llc.ways", llc.ways, 64))?;
        self.llc.iter().try_for_each(|llc| counted(file, "llc.clos", llc.clos, 1024))?;
        if let Some(shares) = &self.bandwidth_shares {
            counted(file, "bandwidth_shares.least_percent", shares.least_percent, 100)?;
            counted(file, "bandwidth_shares.step_percent", shares.step_percent, 100)?;
        }
        let private = self.llc.iter().map(|llc| llc.private_kib).filter(|kib| *kib != 0.0);
        private.into_iter().try_for_each(|kib| positive(file, "llc.private_kib", kib))?;
        self.smt.iter().try_for_each(|smt| smt.validate(file))?;
        self.linux.validate(file)?;
        self.link.iter().try_for_each(|link| positive(file, "link.gb_per_s_each_way", link.gb_per_s_each_way))?;
        if !self.node.windows(2).all(|pair| pair[0].id < pair[1].id) || self.node.is_empty() {
            return Err(SimError::value(file, "node", "must list at least one node, ids ascending"));
        }
        self.latencies(file)
    }

    /// Number of CPU numbers that the first hardware threads of all cores take up.
    pub(crate) fn cores(&self) -> u32 {
        self.llc.iter().filter_map(|llc| llc.cpus.iter().last()).map(|cpu| cpu.0.saturating_add(1)).max().unwrap_or(1)
    }

    fn latencies(&self, file: &str) -> Result<(), SimError> {
        let count = self.node.len();
        let rows = &self.latency.ns;
        if rows.len() != count || rows.iter().any(|row| row.len() != count) {
            let problem = format!("must have {count} rows of {count} values, one for each node");
            return Err(SimError::value(file, "latency.ns", problem));
        }
        rows.iter().flatten().try_for_each(|ns| positive(file, "latency.ns", *ns))
    }

    /// A machine of a given shape with typical speeds.
    pub(crate) fn of_shape(shape: &Topology) -> Self {
        let ids: Vec<_> = shape.nodes().iter().map(|node| node.id).collect();
        let node = |id: &NodeId| NodeSpec {
            id: *id,
            memory_gib: 4,
            gb_per_s: 20.0,
            sustained: 1.0,
            sustained_range: None,
            controllers: 1,
        };
        let link = |(a, b)| LinkSpec { a, b, gb_per_s_each_way: 10.0, sustained: 1.0, sustained_range: None };
        let llc = |llc: &isobar_model::topology::Llc| LlcSpec {
            id: llc.id,
            node: shape.nodes_of_llc(llc.id).first().copied().unwrap_or(NodeId(0)),
            size_mib: 8.0,
            ways: 16,
            clos: sixteen(),
            sparse_masks: false,
            private_kib: 0.0,
            cpus: shape.cpus_of_llc(llc.id).cloned().unwrap_or_default(),
        };
        let pairs = ids.iter().flat_map(|a| ids.iter().map(move |b| (*a, *b))).filter(|(a, b)| a < b);
        let row = |a: &NodeId| ids.iter().map(|b| if a == b { 80.0 } else { 130.0 }).collect();
        Self {
            clock_ghz: 2.5,
            queue: QueueSpec { controller_ns: 15.0, link_ns: 15.0 },
            node: ids.iter().map(node).collect(),
            llc: shape.llcs().iter().map(llc).collect(),
            link: pairs.map(link).collect(),
            coherence: CoherenceSpec::default(),
            counters: CountersSpec::default(),
            route: Vec::new(),
            smt: None,
            bandwidth_shares: None,
            latency: LatencySpec { ns: ids.iter().map(row).collect() },
            linux: Linux::default(),
        }
    }
}

impl SmtSpec {
    fn validate(&self, file: &str) -> Result<(), SimError> {
        counted(file, "smt.threads", self.threads, 8)?;
        let most = f64::from(self.threads);
        if (1.0..=most).contains(&self.throughput) {
            return Ok(());
        }
        let problem = format!("is {}; it must be from 1 to the number of threads, {most}", self.throughput);
        Err(SimError::value(file, "smt.throughput", problem))
    }
}

impl CoherenceSpec {
    fn validate(&self, file: &str) -> Result<(), SimError> {
        let keys = [("request", self.request_bytes), ("probe", self.probe_bytes), ("response", self.response_bytes)];
        keys.iter().try_for_each(|(key, bytes)| within(file, &format!("coherence.{key}_bytes"), *bytes, 0.0..=64.0))
    }
}

/// A count from 1 to `most`.
fn counted(file: &str, key: &str, value: u32, most: u32) -> Result<(), SimError> {
    within(file, key, f64::from(value), 1.0..=f64::from(most))
}

/// Checks a fraction: above 0, at most 1. Its range must contain the value and obey the same
/// limits.
fn part(file: &str, key: &str, value: f64, range: Option<[f64; 2]>) -> Result<(), SimError> {
    let right = |value: f64| value >= *RANGE.start() && value <= 1.0;
    let problem = || SimError::value(file, key, format!("is {value}; it must be above 0, at most 1"));
    right(value).then_some(()).ok_or_else(problem)?;
    surrounds(file, &format!("{key}_range"), value, range)?;
    let outside = range.into_iter().flatten().find(|end| !right(*end));
    let problem =
        |end| SimError::value(file, &format!("{key}_range"), format!("has {end}; it must be above 0, at most 1"));
    outside.map_or(Ok(()), |end| Err(problem(end)))
}

/// Checks that the low and high end of an estimate enclose its value.
pub(crate) fn surrounds(file: &str, key: &str, value: f64, range: Option<[f64; 2]>) -> Result<(), SimError> {
    let right = range.is_none_or(|[low, high]| low <= value && value <= high);
    let problem =
        || SimError::value(file, key, format!("must be a low end of at most {value} and a high end of at least that"));
    right.then_some(()).ok_or_else(problem)
}

/// Reads CPUs as the kernel writes them: `0-3,8`.
fn cpu_list<'de, D: serde::Deserializer<'de>>(from: D) -> Result<CpuSet, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// The range of every number in a file. A number outside is a mistake, and would make sums
/// overflow.
const RANGE: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Checks a number that must be above 0 and of a plausible size.
pub(crate) fn positive(file: &str, key: &str, value: f64) -> Result<(), SimError> {
    if RANGE.contains(&value) {
        Ok(())
    } else {
        Err(SimError::value(file, key, format!("is {value}; it must be a number above 0, at most 1e9")))
    }
}
