//! Laws of what a core does at the same time (`overlap`), and of lines that CPUs share
//! (`coherence`). Both are measured with the program `lines`.
//!
//! ```text
//! independent loads   (L + w) / misses     by line, w the queue's wait at what this carries
//! prefetched          L - instructions / clock less than not prefetched, where that is above 0, by
//!                     line that the LLC does not have
//! around the caches   64 bytes written by line, none read
//! words 64 apart      no line moves from cache to cache
//! words 8 apart       at least every second count takes the line from the other CPU (who has it
//!                     may count again before it is asked for it); a count costs at least one
//!                     transfer, at most three, since two CPUs wait for one line in turn
//! ```

use super::places::Places;
use super::plan::{self, beyond};
use super::reading::{self, Readings};
use super::row::{Bound, Row};
use super::script::{Program, Step};
use numasim_model::num::float;
use numasim_model::{LOCAL_OF_HIT, Spec};

const NS: &str = "ns/line";
/// Number of lines of a run.
const WORK: u64 = 200_000;
/// Number of lines if there are steps between them.
const SPARSE: u64 = 20_000;
/// Counts of each of two threads: a tenth of a second, because one thread may start about 15 ms
/// after the other.
const COUNTS: u64 = 100_000;

fn run(name: &str, cpus: String, node: usize, options: &str) -> Vec<Step> {
    let command = format!("lines {options}");
    let named = name.to_owned();
    vec![
        Step::Start(Program { name: named.clone(), cpus, node, command }),
        Step::Ready(named.clone()),
        Step::Look(named.clone()),
        Step::Go(vec![named.clone()]),
        Step::Await(vec![named.clone()]),
        Step::Look(plan::end(name)),
        Step::Finish(named),
    ]
}

/// The steps of law `overlap`.
pub fn overlap_steps(spec: &Spec, places: &Places) -> Vec<Step> {
    let (cpu, node, kib) = (places.cpus[0].to_string(), places.node, beyond(spec, places));
    let mut steps = run("lines_load", cpu.clone(), node, &format!("--how load --size-kib {kib} --work {WORK}"));
    let far = places.remote.as_ref().map_or(node, |remote| remote.node);
    for how in ["late", "ahead"] {
        let options = format!("--how {how} --size-kib {kib} --work {SPARSE}");
        steps.extend(run(&format!("lines_{how}"), cpu.clone(), far, &options));
    }
    steps.extend(run("lines_around", cpu, node, &format!("--how around --size-kib {kib} --work {WORK}")));
    steps
}

/// Judges law `overlap`; see the head of the file.
pub fn overlap(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let ns = |name: &str| readings.figure(name, "ns_per_line");
    let tenth = Bound::Within(0.1);
    let far = places.remote.as_ref().map_or(places.node, |remote| remote.node);
    let hidden = f64::from(spec.overlap.instructions) * spec.instruction_ps() / 1e3;
    // The other lines are in the LLC, and its hits are hidden.
    let missing = 1.0 - f64::from(spec.llc[places.llc].size_kib) / f64::from(beyond(spec, places));
    let saved = missing * (spec.latency.ns[places.node][far] - hidden).max(0.0);
    let (what, less) =
        ("a prefetch in time saves, of a miss on another node", || Ok(ns("lines_late")? - ns("lines_ahead")?));
    let prefetched = if spec.overlap.misses == 1 {
        Row::skipped("overlap", what, "a CPU of this machine waits for each miss")
    } else if saved < 100.0 {
        Row::skipped("overlap", what, "a CPU of this machine hides such a miss by itself")
    } else {
        Row::new("overlap", what, NS, Ok(saved), Bound::Within(0.15), less())
    };
    vec![
        Row::new("overlap", "independent random loads", NS, Ok(independent(spec, places)), tenth, ns("lines_load")),
        prefetched,
        by_bytes(places, readings, "stores around the caches: bytes written by line", 64.0, |_, written| written),
        by_bytes(places, readings, "stores around the caches: bytes read by line", 2.0, |read, _| read),
    ]
}

/// Bytes of the first CPU per line that was stored around the caches.
fn by_bytes(places: &Places, readings: &Readings, what: &str, expected: f64, of: fn(f64, f64) -> f64) -> Row {
    let bytes = || {
        let delta = readings.between("lines_around")?;
        let own = reading::cpu(&delta, places.cpus[0])?;
        Ok(of(float(own.bytes_read), float(own.bytes_written)) / float(WORK))
    };
    let bound = if expected < 64.0 { Bound::AtMost } else { Bound::Within(0.05) };
    Row::new("overlap", what, "bytes", Ok(expected), bound, bytes())
}

/// ns per line of loads that overlap as far as the machine allows. Bisection finds the load at
/// which the lines carried and the time waited agree.
fn independent(spec: &Spec, places: &Places) -> f64 {
    let (latency, misses) = (spec.latency.ns[places.node][places.node], f64::from(spec.overlap.misses));
    let service = 64e3 / spec.node[places.node].mb_per_s;
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..50 {
        let load = 0.5 * (low + high);
        let wait = spec.queue.controller_ns * load * load / (1.0 - load);
        if service * misses / (latency + wait) > load { low = load } else { high = load }
    }
    // Each line has its instructions; if they take longer than the line, nothing hides them.
    (service / low).max(10.0 * spec.instruction_ps() / 1e3)
}

/// The pairs of CPUs that share words: one pair on the same LLC, one pair on two.
fn pairs(spec: &Spec, places: &Places) -> Vec<(&'static str, usize)> {
    let (near, far) = places.others(spec);
    near.map(|cpu| ("near", cpu)).into_iter().chain(far.map(|(cpu, _)| ("far", cpu))).collect()
}

/// The steps of law `coherence`.
pub fn coherence_steps(spec: &Spec, places: &Places) -> Vec<Step> {
    let one = |(pair, other): (&'static str, usize)| {
        let run = |apart: usize| {
            let cpus = format!("{},{other}", places.cpus[0]);
            let options =
                format!("--how count --apart {apart} --work {COUNTS} --size-kib 4 --threads 2 --each-on {cpus}");
            run(&format!("count_{pair}_{apart}"), cpus, places.node, &options)
        };
        [8, 64].map(run).concat()
    };
    pairs(spec, places).into_iter().flat_map(one).collect()
}

/// Judges law `coherence`; see the head of the file.
pub fn coherence(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let one = |(pair, other): (&'static str, usize)| {
        let cost = transfer(spec, places, pair, other);
        let words = format!("two CPUs of {} LLC count in", if pair == "near" { "an" } else { "another" });
        let moved = move |name: String| {
            let delta = readings.between(&name)?;
            let both = [places.cpus[0], other]
                .map(|cpu| reading::cpu(&delta, cpu).map(|own| own.hitm_local + own.hitm_remote));
            Ok((float(both[0].clone()? + both[1].clone()?)) / float(2 * COUNTS))
        };
        let ns = readings.figure(&format!("count_{pair}_8"), "ns_per_line");
        [
            Row::new("coherence", format!("{words} one line"), NS, Ok(cost), Bound::UpTo(3.0 * cost), ns),
            Row::new(
                "coherence",
                format!("{words} one line: lines from the other cache by count"),
                "",
                Ok(0.5),
                Bound::AtLeast,
                moved(format!("count_{pair}_8")),
            ),
            Row::new(
                "coherence",
                format!("{words} a line each: lines from the other cache by count"),
                "",
                Ok(0.05),
                Bound::AtMost,
                moved(format!("count_{pair}_64")),
            ),
        ]
    };
    pairs(spec, places).into_iter().flat_map(one).collect()
}

/// ns of a line that the other CPU of a pair has modified.
fn transfer(spec: &Spec, places: &Places, pair: &str, other: usize) -> f64 {
    if pair == "near" {
        return spec.coherence.local_ns.unwrap_or(LOCAL_OF_HIT * spec.llc[places.llc].hit_ns);
    }
    let (home, node) = (places.node, spec.node_of(other).unwrap_or(0));
    let rows = spec.coherence.remote_ns.as_ref().unwrap_or(&spec.latency.ns);
    0.5 * (rows[home][node] + rows[node][home])
}
