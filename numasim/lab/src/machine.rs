//! Scales a real machine down to what the emulator can carry. This file knows the two factors and
//! the format of the files in the folder `machines`. What these files leave out (private caches,
//! the cost of an LLC hit) is stated here, with its source.
//!
//! Time: with factor S, a guest has CPUs S times slower, memory S times slower, and 1/S of the
//! bandwidth, so latencies in cycles and all ratios stay the same. Caches: capacities are divided
//! by K, and the number of ways stays; programs have correspondingly smaller footprints.

use crate::cores;
use crate::error::LabError;
use crate::experiment::Scale;
use numasim_model::{Coherence, CpuList, Latency, Link, Llc, Node, Prefetch, Private, Queue, Route, Spec, num};
use serde::Deserialize;

/// Cycles that a hit in the last-level cache costs: 35-40 and more on Nehalem (Intel 64
/// optimization manual, table 2-19), about 40 on the other machines that ship.
const LLC_HIT_CYCLES: f64 = 40.0;
/// KiB of a core's private cache if the file does not say: Nehalem's L2 (Intel 64 optimization
/// manual).
const PRIVATE_KIB: f64 = 256.0;
/// Ways of the private cache.
const PRIVATE_WAYS: u32 = 8;

/// Real machines by name: the file of each, with the source of every number.
const MACHINES: &[(&str, &str)] = include!("../../../machines/list.rs");
/// Real machines that only numasim knows.
const MORE: [(&str, &str); 1] = [("epyc-7302-2x4", include_str!("../../machines/epyc-7302-2x4.toml"))];
/// Machines whose files are numasim's own and already scaled.
const OWN: [(&str, &str); 1] = [("small-2x2", include_str!("../../machines/small-2x2.toml"))];

/// The keys of a real machine's file that are used here. The others are for the contention
/// simulator: ranges of estimates, what its counters count, and packets of its coherence protocol
/// (here, links carry only data).
#[derive(Deserialize)]
struct Source {
    clock_ghz: f64,
    queue: Queue,
    node: Vec<SourceNode>,
    llc: Vec<SourceLlc>,
    #[serde(default)]
    link: Vec<SourceLink>,
    #[serde(default)]
    route: Vec<Route>,
    latency: Latency,
}

#[derive(Deserialize)]
struct SourceNode {
    id: u32,
    gb_per_s: f64,
    #[serde(default = "all")]
    sustained: f64,
}

#[derive(Deserialize)]
struct SourceLlc {
    node: u32,
    size_mib: f64,
    ways: u32,
    #[serde(default = "sixteen")]
    clos: u32,
    #[serde(default)]
    private_kib: f64,
    cpus: String,
}

#[derive(Deserialize)]
struct SourceLink {
    a: u32,
    b: u32,
    gb_per_s_each_way: f64,
    #[serde(default = "all")]
    sustained: f64,
}

const fn all() -> f64 {
    1.0
}

const fn sixteen() -> u32 {
    16
}

/// A machine, and the text of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The machine that the text describes.
    pub spec: Spec,
    /// The machine file: as it was given, or as [`to_toml`] writes it.
    pub text: String,
}

impl Machine {
    /// Makes a machine of a spec, whose text is written here.
    ///
    /// # Errors
    /// The spec has a name that TOML cannot carry.
    pub fn of(spec: Spec) -> Result<Self, LabError> {
        Ok(Self { text: to_toml(&spec)?, spec })
    }

    /// Reads a machine file, whose text stays as it is.
    fn as_given(text: String, file: &str) -> Result<Self, LabError> {
        let spec = Spec::parse(&text, file).map_err(|error| LabError::input("machine", error.to_string()))?;
        Ok(Self { spec, text })
    }
}

/// A machine by name, which is scaled, or a machine whose file is already scaled: one of numasim's
/// own, or a file that ends in `.toml`.
///
/// # Errors
/// As [`scaled`]; the file cannot be read or is not a machine; or a scale is given for a machine
/// that states its own.
pub fn named(machine: &str, scale: Scale) -> Result<Machine, LabError> {
    let own = OWN.iter().find(|(name, _)| *name == machine);
    if own.is_none() && !machine.ends_with(".toml") {
        return Machine::of(scaled(machine, scale)?);
    }
    if scale != Scale::default() {
        let problem = "its file states its own scale: leave out --time-scale, --cache-scale and --node-mib \
                       (in an experiment, [scale])";
        return Err(LabError::input(machine, problem));
    }
    if let Some((name, text)) = own {
        return Machine::as_given((*text).to_owned(), name);
    }
    let text = std::fs::read_to_string(machine).map_err(|error| LabError::input(machine, error.to_string()))?;
    Machine::as_given(text, machine)
}

/// Names of the machines that ship and can be scaled, in ascending order.
#[must_use]
pub fn shipped() -> Vec<&'static str> {
    let mut all: Vec<_> = MACHINES.iter().chain(&MORE).map(|(name, _)| *name).collect();
    all.sort_unstable();
    all
}

fn unknown(name: &str) -> String {
    let own = OWN.map(|(name, _)| name).join(", ");
    format!("no machine is called `{name}`; there are {}, {own}, and files that end in .toml", shipped().join(", "))
}

/// Checks a factor that something is divided or multiplied by.
fn factor(option: &str, value: f64) -> Result<(), LabError> {
    let problem = || format!("is {value}; it must be a number from 0.01 to 10000");
    if (0.01..=1e4).contains(&value) { Ok(()) } else { Err(LabError::input(option, problem())) }
}

/// A machine that ships, scaled.
///
/// # Errors
/// No machine of that name ships, or nothing is left of it at this scale.
pub fn scaled(name: &str, scale: Scale) -> Result<Spec, LabError> {
    factor("--time-scale", scale.time)?;
    factor("--cache-scale", scale.cache)?;
    let found = MACHINES.iter().chain(&MORE).find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| LabError::input("machine", unknown(name)))?;
    let source: Source = toml::from_str(text).map_err(|error| LabError::input(name, error.message()))?;
    let spec = source.scaled(name, scale)?;
    spec.validate().map_err(|error| LabError::input("machine", error.to_string()))?;
    Ok(spec)
}

impl Source {
    fn scaled(&self, name: &str, scale: Scale) -> Result<Spec, LabError> {
        let cpus = self.cpus(name)?;
        let llc = |(at, llc): (usize, &SourceLlc)| Llc {
            id: num::narrow(at),
            cpus: cpus[at].clone(),
            size_kib: nearest_kib(llc.size_mib * 1024.0 / scale.cache, llc.ways),
            ways: llc.ways,
            clos: llc.clos.min(16),
            hit_ns: LLC_HIT_CYCLES / self.clock_ghz * scale.time,
        };
        let on = |node: u32| self.llc.iter().zip(&cpus).filter(move |(llc, _)| llc.node == node);
        let node = |node: &SourceNode| Node {
            id: node.id,
            cpus: on(node.id).flat_map(|(_, cpus)| cpus.as_slice().iter().copied()).collect(),
            memory_mib: scale.node_mib,
            mb_per_s: node.gb_per_s * node.sustained * 1000.0 / scale.time,
            curve: Vec::new(),
        };
        let link = |link: &SourceLink| Link {
            a: link.a,
            b: link.b,
            mb_per_s_each_way: link.gb_per_s_each_way * link.sustained * 1000.0 / scale.time,
        };
        let stretched = |row: &Vec<f64>| row.iter().map(|ns| ns * scale.time).collect();
        Ok(Spec {
            name: name.to_owned(),
            time_scale: scale.time,
            cache_scale: scale.cache,
            clock_mhz: self.clock_ghz * 1000.0 / scale.time,
            cycles_per_instruction: 1.0,
            line_bytes: 64,
            delays: true,
            private: self.private(scale),
            prefetch: Prefetch::default(),
            overlap: cores::overlap(name),
            coherence: Coherence::default(),
            tlb: None,
            queue: Queue {
                controller_ns: self.queue.controller_ns * scale.time,
                link_ns: self.queue.link_ns * scale.time,
            },
            latency: Latency { ns: self.latency.ns.iter().map(stretched).collect() },
            node: self.node.iter().map(node).collect(),
            llc: self.llc.iter().enumerate().map(llc).collect(),
            link: self.link.iter().map(link).collect(),
            route: self.route.clone(),
        })
    }

    /// CPUs of each LLC, renumbered one LLC after another, because QEMU numbers its CPUs by socket
    /// and die.
    fn cpus(&self, name: &str) -> Result<Vec<CpuList>, LabError> {
        let mut next = 0;
        let mut lists = Vec::new();
        for llc in &self.llc {
            let cores: CpuList = llc.cpus.parse().map_err(|problem: String| LabError::input(name, problem))?;
            let count = cores.as_slice().len();
            lists.push((next..next + count).collect());
            next += count;
        }
        Ok(lists)
    }

    /// The private cache. If last-level caches are victim caches, the file states its size; else it
    /// has the usual size.
    fn private(&self, scale: Scale) -> Private {
        let listed = self.llc.iter().map(|llc| llc.private_kib).fold(0.0, f64::max);
        let kib = if listed > 0.0 { listed } else { PRIVATE_KIB } / scale.cache;
        // A size of 64 bytes times the ways times a power of two, in KiB, with at least two sets.
        let sets = (kib * 16.0 / f64::from(PRIVATE_WAYS)).max(2.0).log2().round();
        let size_kib = num::round(sets.exp2() * f64::from(PRIVATE_WAYS) / 16.0);
        Private { size_kib: u32::try_from(size_kib).unwrap_or(1).max(1), ways: PRIVATE_WAYS, hit_ns: 0.0 }
    }
}

/// The nearest size that has whole sets: a multiple of 64 bytes times the ways, and of a KiB.
fn nearest_kib(kib: f64, ways: u32) -> u32 {
    let step = (1..=ways).find(|step| (step * 16).is_multiple_of(ways)).unwrap_or(ways);
    let steps = num::round(kib / f64::from(step)).max(1);
    u32::try_from(steps).unwrap_or(u32::MAX).saturating_mul(step)
}

/// The machine as a file that numasim reads, with a head that says how it was made.
///
/// # Errors
/// The machine has a name that TOML cannot carry.
pub fn to_toml(spec: &Spec) -> Result<String, LabError> {
    let body = spec.to_toml().map_err(|error| LabError::input(&spec.name, error.to_string()))?;
    let Spec { name, time_scale, cache_scale, .. } = spec;
    Ok(format!(
        "# {name}, scaled for numasim: {time_scale} guest nanoseconds for each nanosecond of the real \
         machine (clock, latencies and bandwidths\n\
         # alike, so that latencies in cycles and all ratios stay); caches {cache_scale} times smaller, ways \
         kept. Memory of a node is a figure of\n\
         # its own. SMT siblings are left out; CPUs are numbered one LLC after another. Assumed, where the \
         machine's file is silent: an\n\
         # LLC hit costs {LLC_HIT_CYCLES} cycles, a private cache is {PRIVATE_KIB} KiB before scaling, a \
         core has the outstanding misses\n         # and instructions of its line of processors (cores.rs), \
         and no instruction but memory stalls.\n{body}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2.27 GHz / 20 = 113.5 MHz; 50 ns * 20 = 1 us; 25.6 GB/s * 0.8 / 20 = 1.024 GB/s; 8 MiB / 16
    /// = 512 KiB; 256 / 16 = 16 KiB.
    #[test]
    fn nehalem_scaled_by_hand() {
        let spec = scaled("nehalem-2x4", Scale::default()).unwrap();
        assert!((spec.clock_mhz - 113.5).abs() < 1e-9);
        assert!((spec.latency.ns[0][0] - 1000.0).abs() < 1e-9 && (spec.latency.ns[0][1] - 1800.0).abs() < 1e-9);
        // 80 % of 25.6 and of 11.72 GB/s are sustained; a twentieth of that.
        assert!((spec.node[0].mb_per_s - 1024.0).abs() < 1e-9 && (spec.link[0].mb_per_s_each_way - 468.8).abs() < 1e-9);
        assert_eq!((spec.llc[1].size_kib, spec.llc[1].ways, spec.private.size_kib), (512, 16, 16));
        assert_eq!((spec.node[1].cpus.to_string(), spec.llc[0].cpus.to_string()), ("4-7".to_owned(), "0-3".to_owned()));
        let text = to_toml(&spec).unwrap();
        assert!(text.starts_with("# nehalem-2x4, scaled"));
        assert_eq!(Spec::parse(&text, "m.toml").unwrap(), spec);
    }

    #[test]
    fn files_stay_as_they_are_and_have_their_own_scale() {
        let small = named("small-2x2", Scale::default()).unwrap();
        assert_eq!(small.text, include_str!("../../machines/small-2x2.toml"));
        let other = Scale { time: 40.0, ..Scale::default() };
        assert!(named("small-2x2", other).unwrap_err().to_string().contains("states its own scale"));
        for time in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = scaled("nehalem-2x4", Scale { time, ..Scale::default() }).unwrap_err().to_string();
            assert!(error.starts_with("--time-scale: is ") && error.contains("from 0.01"), "{error}");
        }
    }

    #[test]
    fn every_machine_that_ships_can_be_scaled_or_says_why_not() {
        for name in shipped() {
            match scaled(name, Scale::default()) {
                Ok(spec) => assert!(spec.cpus() > 0, "{name}"),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(scaled("nehalem", Scale::default()).unwrap_err().to_string().contains("nehalem-2x4"));
    }
}
