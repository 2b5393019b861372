//! Checks the values of a machine file. It knows the limits and says what would be right; it
//! repairs nothing.

use crate::cpulist::{CPUS, CpuList};
use crate::error::SpecError;
use crate::spec::{Llc, Node, Spec, Tlb};

/// The largest number of nodes of a machine.
pub const NODES: usize = 8;
/// The largest number of last-level caches of a machine.
pub const LLCS: usize = 16;

/// The largest memory, in MiB: line numbers of 32 bits, with the hole below 4 GiB.
const MOST_MIB: u64 = 128 * 1024;
/// The largest number of ways: a mask has 64 bits.
const MOST_WAYS: u32 = 64;
/// The least and the greatest number that is accepted anywhere. Numbers beyond are typing mistakes,
/// and would make sums overflow.
const RANGE: std::ops::RangeInclusive<f64> = 1e-6..=1e9;

impl Spec {
    /// Reads and checks a machine file; `file` is its name in messages.
    ///
    /// # Errors
    /// One line with the file, the key and the remedy.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let spec: Self = toml::from_str(text).map_err(|error| SpecError::toml(file, text, &error))?;
        check(&spec, file)?;
        Ok(spec)
    }

    /// Checks a machine that was made in code; messages use its name.
    ///
    /// # Errors
    /// One line with the name, the key and the remedy.
    pub fn validate(&self) -> Result<(), SpecError> {
        check(self, &self.name)
    }
}

fn check(spec: &Spec, file: &str) -> Result<(), SpecError> {
    scalars(spec, file)?;
    private(spec, file)?;
    spec.tlb.as_ref().map_or(Ok(()), |tlb| self::tlb(tlb, file))?;
    nodes(spec, file)?;
    if spec.llc.is_empty() || spec.llc.len() > LLCS {
        return Err(SpecError::value(file, "llc", format!("must be listed 1 to {LLCS} times")));
    }
    spec.llc.iter().enumerate().try_for_each(|(position, llc)| self::llc(llc, position, file))?;
    cpus(spec, file)?;
    latencies(spec, file)?;
    coherence(spec, file)?;
    spec.link.iter().try_for_each(|link| positive(file, "link.mb_per_s_each_way", link.mb_per_s_each_way))?;
    crate::route::routes(spec, file).map(|_| ())
}

fn scalars(spec: &Spec, file: &str) -> Result<(), SpecError> {
    positive(file, "time_scale", spec.time_scale)?;
    positive(file, "cache_scale", spec.cache_scale)?;
    positive(file, "clock_mhz", spec.clock_mhz)?;
    positive(file, "cycles_per_instruction", spec.cycles_per_instruction)?;
    counted(file, "line_bytes", spec.line_bytes, 64..=64)?;
    counted(file, "prefetch.streams", spec.prefetch.streams, 1..=64)?;
    counted(file, "prefetch.depth", spec.prefetch.depth, 1..=64)?;
    counted(file, "overlap.misses", spec.overlap.misses, 1..=64)?;
    counted(file, "overlap.instructions", spec.overlap.instructions, 1..=4096)?;
    positive(file, "queue.controller_ns", spec.queue.controller_ns)?;
    positive(file, "queue.link_ns", spec.queue.link_ns)
}

fn private(spec: &Spec, file: &str) -> Result<(), SpecError> {
    let own = &spec.private;
    counted(file, "private.ways", own.ways, 1..=MOST_WAYS)?;
    counted(file, "private.size_kib", own.size_kib, 1..=65_536)?;
    not_negative(file, "private.hit_ns", own.hit_ns)?;
    let (lines, ways) = (own.size_kib * 16, own.ways);
    if lines.is_multiple_of(ways) && (lines / ways).is_power_of_two() {
        return Ok(());
    }
    let below = (lines / ways).max(1).ilog2();
    let kib = |power: u32| f64::from(ways << power) / 16.0;
    let problem = format!(
        "is {}; with {ways} ways it must be 64 bytes times the ways times a power of two: {} or {}",
        own.size_kib,
        kib(below),
        kib(below + 1)
    );
    Err(SpecError::value(file, "private.size_kib", problem))
}

fn tlb(tlb: &Tlb, file: &str) -> Result<(), SpecError> {
    counted(file, "tlb.ways", tlb.ways, 1..=MOST_WAYS)?;
    counted(file, "tlb.entries", tlb.entries, 1..=65_536)?;
    positive(file, "tlb.walk_ns", tlb.walk_ns)?;
    let (entries, ways) = (tlb.entries, tlb.ways);
    if entries.is_multiple_of(ways) && (entries / ways).is_power_of_two() {
        return Ok(());
    }
    let below = ways << (entries / ways).max(1).ilog2();
    let problem =
        format!("is {entries}; with {ways} ways it must be {ways} times a power of two: {below} or {}", 2 * below);
    Err(SpecError::value(file, "tlb.entries", problem))
}

fn nodes(spec: &Spec, file: &str) -> Result<(), SpecError> {
    if spec.node.is_empty() || spec.node.len() > NODES {
        return Err(SpecError::value(file, "node", format!("must be listed 1 to {NODES} times")));
    }
    for (position, node) in spec.node.iter().enumerate() {
        numbered(file, "node.id", node.id, position)?;
        counted(file, "node.memory_mib", node.memory_mib, 1..=131_072)?;
        positive(file, "node.mb_per_s", node.mb_per_s)?;
        curve(node, file)?;
    }
    let all: u64 = spec.node.iter().map(|node| u64::from(node.memory_mib)).sum();
    if all > MOST_MIB {
        return Err(SpecError::value(file, "node.memory_mib", format!("ends at {all}; at most {MOST_MIB} in all")));
    }
    Ok(())
}

fn llc(llc: &Llc, position: usize, file: &str) -> Result<(), SpecError> {
    numbered(file, "llc.id", llc.id, position)?;
    counted(file, "llc.ways", llc.ways, 1..=MOST_WAYS)?;
    counted(file, "llc.size_kib", llc.size_kib, 1..=1_048_576)?;
    counted(file, "llc.clos", llc.clos, 1..=1024)?;
    not_negative(file, "llc.hit_ns", llc.hit_ns)?;
    let (lines, ways) = (llc.size_kib * 16, llc.ways);
    if lines.is_multiple_of(ways) {
        return Ok(());
    }
    let kib = |sets: u32| f64::from(sets * ways) / 16.0;
    let below = lines / ways;
    let problem = format!(
        "is {}; with {ways} ways it must be a multiple of {} bytes, such as {} or {} KiB",
        llc.size_kib,
        64 * ways,
        kib(below),
        kib(below + 1)
    );
    Err(SpecError::value(file, "llc.size_kib", problem))
}

/// CPUs must be numbered from 0, each on one node and on one LLC.
fn cpus(spec: &Spec, file: &str) -> Result<(), SpecError> {
    let count = spec.cpus();
    if count == 0 || count > CPUS {
        return Err(SpecError::value(file, "node.cpus", format!("must name 1 to {CPUS} CPUs in all")));
    }
    once(file, "node.cpus", count, spec.node.iter().map(|node| &node.cpus))?;
    once(file, "llc.cpus", count, spec.llc.iter().map(|llc| &llc.cpus))
}

fn once<'a>(file: &str, key: &str, count: usize, lists: impl Iterator<Item = &'a CpuList>) -> Result<(), SpecError> {
    let mut all: Vec<_> = lists.flat_map(CpuList::as_slice).copied().collect();
    all.sort_unstable();
    if all.iter().copied().eq(0..count) {
        return Ok(());
    }
    let wrong =
        all.iter().copied().zip(0..).find(|(cpu, right)| cpu != right).map_or(all.len(), |(cpu, right)| cpu.min(right));
    let problem = format!("must name every CPU from 0 to {} exactly once; look at CPU {wrong}", count - 1);
    Err(SpecError::value(file, key, problem))
}

fn latencies(spec: &Spec, file: &str) -> Result<(), SpecError> {
    matrix(file, "latency.ns", spec.node.len(), &spec.latency.ns)
}

fn matrix(file: &str, key: &str, count: usize, rows: &[Vec<f64>]) -> Result<(), SpecError> {
    if rows.len() != count || rows.iter().any(|row| row.len() != count) {
        let problem = format!("must have {count} rows of {count} values, one for each node");
        return Err(SpecError::value(file, key, problem));
    }
    rows.iter().flatten().try_for_each(|ns| positive(file, key, *ns))
}

fn coherence(spec: &Spec, file: &str) -> Result<(), SpecError> {
    spec.coherence.local_ns.map_or(Ok(()), |ns| not_negative(file, "coherence.local_ns", ns))?;
    let rows = spec.coherence.remote_ns.as_deref();
    rows.map_or(Ok(()), |rows| matrix(file, "coherence.remote_ns", spec.node.len(), rows))
}

/// A curve must have at least two points, with both values ascending and the bandwidth below the
/// capacity.
fn curve(node: &Node, file: &str) -> Result<(), SpecError> {
    let points = &node.curve;
    points.iter().flatten().try_for_each(|value| not_negative(file, "node.curve", *value))?;
    let ascending = points.windows(2).all(|two| two[0][0] < two[1][0] && two[0][1] <= two[1][1]);
    let below = points.last().is_none_or(|last| last[0] < node.mb_per_s);
    if points.len() == 1 || !ascending || !below {
        let problem = format!(
            "must have two points [MB/s, ns] or more, both ascending, below `mb_per_s` = {}; sort them and \
             drop those that do not rise",
            node.mb_per_s
        );
        return Err(SpecError::value(file, "node.curve", problem));
    }
    Ok(())
}

fn numbered(file: &str, key: &str, id: u32, position: usize) -> Result<(), SpecError> {
    let right = usize::try_from(id) == Ok(position);
    let problem = || format!("is {id}; entries are numbered in order from 0, so this one is {position}");
    right.then_some(()).ok_or_else(|| SpecError::value(file, key, problem()))
}

fn counted(file: &str, key: &str, value: u32, range: std::ops::RangeInclusive<u32>) -> Result<(), SpecError> {
    let problem = || format!("is {value}; it must be from {} to {}", range.start(), range.end());
    range.contains(&value).then_some(()).ok_or_else(|| SpecError::value(file, key, problem()))
}

fn positive(file: &str, key: &str, value: f64) -> Result<(), SpecError> {
    let problem = || format!("is {value}; it must be a number above 0, at most 1e9");
    RANGE.contains(&value).then_some(()).ok_or_else(|| SpecError::value(file, key, problem()))
}

fn not_negative(file: &str, key: &str, value: f64) -> Result<(), SpecError> {
    if value == 0.0 { Ok(()) } else { positive(file, key, value) }
}
