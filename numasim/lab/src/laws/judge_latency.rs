//! Laws of single loads. A load of a chase costs the instructions of its loop and what memory
//! costs. The instructions are measured with a chase that never leaves the private cache, less a
//! hit there:
//!
//! ```text
//! loop      = ns/load (private cache) - private.hit_ns
//! expected  = loop + latency.ns[home][node]     or     loop + llc.hit_ns
//! ```
//!
//! If misses overlap, the instructions of the loop are executed while its load is outstanding. The
//! expected time is then the longer of the two, and the CPU is stalled for the load's cost less the
//! loop's.
//!
//! The same costs are also checked as the machine's page has them: stall per miss, less the LLC
//! hits of the kernel and of other programs.

use super::places::Places;
use super::plan;
use super::reading::{self, Readings};
use super::row::{Bound, Row};
use crate::stats::median;
use numasim_guest::counters::Cpu;
use numasim_model::Spec;
use numasim_model::num::float;

const NS: &str = "ns/load";
/// The accuracy that is required of the machine.
const TENTH: Bound = Bound::Within(0.1);
/// Tolerance for figures of the page. The page counts what the model charges, so the only
/// difference is the kernel's own loads from other nodes.
const PAGE: Bound = Bound::Within(0.03);
/// The same if misses overlap: the kernel's misses overlap, too, and stall less.
const PAGE_OF_MANY: Bound = Bound::Within(0.06);
/// Tolerance for the delay, because the page's figure is a sample.
const DELAY: Bound = Bound::Within(0.15);

/// ns that the instructions of one load take.
pub fn loop_ns(spec: &Spec, readings: &Readings) -> Result<f64, String> {
    Ok(readings.figure("private", "ns_per_load")? - spec.private.hit_ns)
}

/// ns of a load in a chase with instructions of `own` ns, whose lines cost `cost` ns.
pub fn by_load_ns(spec: &Spec, own: f64, cost: f64) -> f64 {
    if spec.overlap.misses > 1 { own.max(cost) } else { own + cost }
}

/// Law 1: loads from memory, at each latency of the machine.
pub fn latency(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let one = |(at, (home, memory)): (usize, &(usize, usize))| {
        let label = plan::pair_label(at);
        let unloaded = spec.latency.ns[*home][*memory];
        let what = format!("chase on node {home}, memory on {memory}");
        let expected = loop_ns(spec, readings).map(|own| by_load_ns(spec, own, unloaded));
        let measured = readings.figure(&label, "ns_per_load");
        let page = stall_by_miss(spec, places, readings, &label, spec.node[*home].cpus.as_slice()[0]);
        let overlaps = spec.overlap.misses > 1;
        let stalled = loop_ns(spec, readings).map(|own| if overlaps { unloaded - own } else { unloaded });
        let bound = if overlaps { PAGE_OF_MANY } else { PAGE };
        let by_page = format!("{what}: stall by miss, as the page has it");
        [
            Row::new("latency", what, NS, expected, TENTH, measured),
            Row::new("latency", by_page, "ns", stalled, bound, page),
        ]
    };
    places.pairs.iter().enumerate().flat_map(one).collect()
}

/// What a miss cost in ns, by the page.
fn stall_by_miss(spec: &Spec, places: &Places, readings: &Readings, label: &str, cpu: usize) -> Result<f64, String> {
    let delta = readings.between(label)?;
    let own = reading::cpu(&delta, cpu)?;
    if own.llc_misses == 0 {
        return Err(format!("CPU {cpu} had no miss"));
    }
    let hits = float(own.llc_references.saturating_sub(own.llc_misses)) * spec.llc[places.llc].hit_ns;
    Ok((float(own.stall_ps) / 1e3 - hits) / float(own.llc_misses))
}

/// Law 2: a chase that fits into a cache costs what hits in that cache cost.
pub fn cache(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let hit = spec.llc[places.llc].hit_ns;
    let kib = plan::part(spec, places, 25);
    let own = loop_ns(spec, readings);
    let instructions = by_load(readings, "private", |cpu| cpu.instructions, places.cpus[0]);
    let instructions = instructions.map(|count| count * spec.instruction_ps() / 1e3 + spec.private.hit_ns);
    let references = by_load(readings, "private", |cpu| cpu.llc_references, places.cpus[0]);
    let misses = by_load(readings, "llc", |cpu| cpu.llc_misses, places.cpus[0]);
    vec![
        Row::new(
            "cache",
            format!("chase in the private cache ({} KiB): its instructions", spec.private.size_kib / 2),
            NS,
            instructions,
            TENTH,
            readings.figure("private", "ns_per_load"),
        ),
        Row::new(
            "cache",
            "references to the LLC by load in the private cache",
            "",
            Ok(0.02),
            Bound::AtMost,
            references,
        ),
        Row::new(
            "cache",
            format!("chase in the LLC ({kib} KiB)"),
            NS,
            own.map(|own| by_load_ns(spec, own, hit)),
            TENTH,
            readings.figure("llc", "ns_per_load"),
        ),
        Row::new("cache", "misses by load in the LLC", "", Ok(0.02), Bound::AtMost, misses),
    ]
}

/// A count of a CPU, per load of a program.
pub fn by_load(readings: &Readings, name: &str, count: impl Fn(&Cpu) -> u64, cpu: usize) -> Result<f64, String> {
    let delta = readings.between(name)?;
    Ok(float(count(reading::cpu(&delta, cpu)?)) / readings.figure(name, "work")?)
}

/// Law 6: a line that was flushed comes from memory, and any other line from the cache.
pub fn flush(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let latency = spec.latency.ns[places.node][places.node];
    let hit = spec.llc[places.llc].hit_ns;
    let expected = |cost: f64| loop_ns(spec, readings).map(|own| by_load_ns(spec, own, cost));
    let measured = |name| readings.figure(name, "ns_per_load");
    vec![
        Row::new("flush", "probe, lines flushed: memory", NS, expected(latency), TENTH, measured("flushed")),
        Row::new("flush", "probe, lines left alone: LLC", NS, expected(hit), TENTH, measured("kept")),
    ]
}

/// Law 7: a load beside streams waits longer by as much as the page says.
pub fn load(_spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let others = places.cpus.len() - 1;
    let what = format!("probe beside {others} streams: more than alone");
    if others == 0 {
        return vec![Row::skipped("load", what, "node 0 has one CPU")];
    }
    let more = || Ok(readings.figure("loaded", "ns_per_load")? - readings.figure("flushed", "ns_per_load")?);
    vec![Row::new("load", what, NS, usual_delay(readings, places.node), DELAY, more())]
}

/// Median in ns of the page's delays while the probe measured. The probe's own figure is a median,
/// too.
fn usual_delay(readings: &Readings, node: usize) -> Result<f64, String> {
    let looks = readings.looks.get("delays").map_or(&[][..], Vec::as_slice);
    let delays = looks.iter().map(|look| reading::node(look, node).map(|node| float(node.delay_ps) / 1e3));
    median(&delays.collect::<Result<Vec<_>, _>>()?).ok_or_else(|| "no delay was seen".to_owned())
}

#[cfg(test)]
#[path = "judge_latency_tests.rs"]
mod tests;
