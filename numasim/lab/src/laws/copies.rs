//! Law "copy": setting or copying memory costs what the machine file says, whatever instructions
//! are used: REP, a loop, or the C library, which uses REP for most sizes. What a line costs apart
//! from memory is measured on a buffer that the private cache holds (4 KiB). The rest follows from
//! the queueing law (closed_loop.rs): of the 64 lines of a page, a stream covers all but two. A
//! line that is set is read and written back; a line that is copied requires that another line is
//! read as well. Sizes that the LLC may hold in part, and runs beside streams, are compared with
//! the loop:
//!
//! ```text
//! memory(how, size) = ns/line (how, size) - ns/line (how, 4 KiB)
//! ```
//!
//! The library may cost less, because it may write past the caches.

use super::closed_loop::{Resource, User, utilisation};
use super::places::Places;
use super::plan;
use super::reading::Readings;
use super::row::{Bound, Row};
use super::script::{Program, Step};
use numasim_model::Spec;
use numasim_model::x86::{REPEAT_CYCLES, Repeated};

const UNIT: &str = "ns/line";
const HOW: [&str; 3] = ["loop", "rep", "library"];
const WHAT: [&str; 2] = ["set", "copy"];
/// Size in KiB that every private cache holds twice.
const SMALL: u32 = 4;
/// Sizes in KiB of law "copy".
const SIZES: [u32; 1] = [4096];
const MORE_SIZES: [u32; 4] = [64, 256, 1024, 16384];
/// KiB that are moved in a run; larger sizes are moved once.
const MOVED: u32 = 4096;
/// Lines of a page, and how many of them begin a run of the prefetcher.
const PAGE: f64 = 64.0;
const BEGIN: f64 = 2.0;
/// Tolerance against the machine file.
const BY_LAW: f64 = 0.15;
/// Tolerance for buffers in the private cache. If a line of the program's own shares a set with the
/// buffer, each round fetches it from the LLC. This costs 350 ns, which is 5.5 of a line's 40 ns,
/// and depends on where an image happens to lie.
const CACHED: f64 = 0.35;
/// Tolerance between a line by REP and a line by the loop. Their rates of requests differ, and so
/// do the queues.
const ALIKE: f64 = 0.4;
/// The same beside streams, where most of the cost is queues.
const ALIKE_BESIDE: f64 = 0.6;
/// Additional tolerance if misses overlap: those of a loop do, those of REP do not, a known
/// departure.
const OVERLAPPED: f64 = 0.2;

fn label(what: &str, how: &str, kib: u32, beside: bool) -> String {
    format!("{what}{how}{kib}{}", if beside { "beside" } else { "" })
}

fn one(places: &Places, what: &str, how: &str, kib: u32, beside: bool) -> Vec<Step> {
    let rounds = (MOVED / kib).max(1);
    let command = format!("copy --size-kib {kib} --rounds {rounds} --how {how} --what {what}");
    let cpus = places.cpus[0].to_string();
    plan::run(Program { name: label(what, how, kib, beside), cpus, node: places.node, command })
}

fn all(places: &Places, sizes: &[u32], beside: bool) -> Vec<Step> {
    let each = |kib: &u32| {
        let ways = WHAT.into_iter().flat_map(|what| HOW.into_iter().map(move |how| (what, how)));
        ways.flat_map(|(what, how)| one(places, what, how, *kib, beside)).collect::<Vec<_>>()
    };
    sizes.iter().flat_map(each).collect()
}

/// The steps of law "copy".
#[must_use]
pub fn steps(spec: &Spec, places: &Places) -> Vec<Step> {
    let mut steps = all(places, &[SMALL], false);
    steps.extend(all(places, &SIZES, false));
    let command = format!("stream --size-kib {} --rounds 1000000 --repeat", plan::beyond(spec, places));
    for cpu in neighbours(places) {
        let program = Program { name: busy(*cpu), cpus: cpu.to_string(), node: places.node, command: command.clone() };
        steps.extend([Step::Start(program), Step::Ready(busy(*cpu)), Step::Go(vec![busy(*cpu)])]);
    }
    if !neighbours(places).is_empty() {
        steps.extend(all(places, &SIZES, true));
    }
    steps.extend(neighbours(places).iter().map(|cpu| Step::Stop(busy(*cpu))));
    steps
}

/// The steps of law "copy-sizes".
#[must_use]
pub fn more_steps(_spec: &Spec, places: &Places) -> Vec<Step> {
    all(places, &MORE_SIZES, false)
}

/// Two CPUs of the node that stream at the same time.
fn neighbours(places: &Places) -> &[usize] {
    &places.cpus[1..places.cpus.len().min(3)]
}

fn busy(cpu: usize) -> String {
    format!("busy{cpu}")
}

/// ns that memory adds to a line.
fn memory(readings: &Readings, what: &str, how: &str, kib: u32, beside: bool) -> Result<f64, String> {
    let line = |kib, beside| readings.figure(&label(what, how, kib, beside), "ns_per_line");
    Ok(line(kib, beside)? - line(SMALL, false)?)
}

/// Judges law "copy".
pub fn copy(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let cycle = 1e3 / spec.clock_mhz;
    let own = |what: &str| readings.figure(&label(what, "rep", SMALL, false), "ns_per_line");
    // Whole picoseconds, as in the model.
    let step = Repeated::Store.step(numasim_model::num::round(1e3 * cycle), 1);
    let lines = f64::from(SMALL * 16);
    let cached = 64.0 * numasim_model::num::float(step) / 1e3 + f64::from(REPEAT_CYCLES) * cycle / lines;
    let mut rows: Vec<Row> = WHAT
        .into_iter()
        .map(|what| {
            Row::new("copy", name(what, "rep", SMALL, false), UNIT, Ok(cached), Bound::Within(CACHED), own(what))
        })
        .collect();
    rows.extend(SIZES.into_iter().flat_map(|kib| by_size(spec, places, readings, "copy", kib)));
    if !neighbours(places).is_empty() {
        rows.extend(SIZES.into_iter().flat_map(|kib| by_loop(spec, readings, "copy", kib, true)));
    }
    rows
}

/// Judges law "copy-sizes".
pub fn more(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    MORE_SIZES.into_iter().flat_map(|kib| by_size(spec, places, readings, "copy-sizes", kib)).collect()
}

fn name(what: &str, how: &str, kib: u32, beside: bool) -> String {
    format!("{what} {kib} KiB by {how}{}", if beside { " beside streams" } else { "" })
}

/// Compares with the machine file if the LLC holds next to nothing of the buffer, else with the
/// loop.
fn by_size(spec: &Spec, places: &Places, readings: &Readings, law: &'static str, kib: u32) -> Vec<Row> {
    if kib < 4 * spec.llc[places.llc].size_kib {
        return by_loop(spec, readings, law, kib, false);
    }
    let row = |(what, how): (&str, &str)| {
        let own = readings.figure(&label(what, how, SMALL, false), "ns_per_line");
        let expected = own.map(|own| by_law(spec, places, own, what == "copy"));
        let measured = readings.figure(&label(what, how, kib, false), "ns_per_line");
        let what = name(what, how, kib, false);
        if how == "library" {
            Row::new(law, what, UNIT, expected.map(|ns| ns * (1.0 + BY_LAW)), Bound::AtMost, measured)
        } else {
            Row::new(law, what, UNIT, expected, Bound::Within(BY_LAW), measured)
        }
    };
    WHAT.into_iter().flat_map(|what| HOW.into_iter().map(move |how| (what, how))).map(row).collect()
}

/// ns of a line by the queueing law, including `own` ns that are not memory's.
fn by_law(spec: &Spec, places: &Places, own: f64, copies: bool) -> f64 {
    let service = 64.0 * 1e3 / spec.node[places.node].mb_per_s;
    let fetched = if copies { 2.0 } else { 1.0 };
    let user = User {
        rest: own / fetched,
        latency: spec.latency.ns[places.node][places.node],
        covered: 1.0 - BEGIN / PAGE,
        waits: 1.0,
        written: 1.0 / fetched,
        reads: vec![0],
        writes: vec![0],
    };
    let resource = Resource { service, scale: spec.queue.controller_ns };
    let load = utilisation(&[resource], std::slice::from_ref(&user), f64::from(spec.prefetch.depth))[0];
    fetched * service * (1.0 + user.written) / load
}

fn by_loop(spec: &Spec, readings: &Readings, law: &'static str, kib: u32, beside: bool) -> Vec<Row> {
    let more = if spec.overlap.misses > 1 { OVERLAPPED } else { 0.0 };
    let alike = if beside { ALIKE_BESIDE } else { ALIKE } + more;
    let row = |(what, how): (&str, &str)| {
        let expected = memory(readings, what, "loop", kib, beside);
        let measured = memory(readings, what, how, kib, beside);
        let what = format!("{}: memory, as by the loop", name(what, how, kib, beside));
        if how == "rep" {
            Row::new(law, what, UNIT, expected, Bound::Within(alike), measured)
        } else {
            Row::new(law, what, UNIT, expected.map(|ns| ns * (1.0 + alike)), Bound::AtMost, measured)
        }
    };
    WHAT.into_iter().flat_map(|what| HOW[1..].iter().map(move |how| (what, *how))).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::row::Verdict;
    use crate::laws::test_kit;

    /// Counts the rows that fail. By the loop a line costs 500 ns in the cache, by REP and the
    /// library 40 ns. Memory adds what the law says, and `times` as much for REP and the library.
    fn failures(times: f64) -> usize {
        let spec = test_kit::spec();
        let places = Places::of(&spec).unwrap();
        let mut text = String::new();
        for what in WHAT {
            for (how, own, times) in [("loop", 500.0, 1.0), ("rep", 40.1, times), ("library", 40.0, times)] {
                let memory = by_law(&spec, &places, own, what == "copy") - own;
                for (kib, beside, more) in [(SMALL, false, 0.0), (4096, false, memory), (4096, true, memory)] {
                    let label = label(what, how, kib, beside);
                    text += &format!("@line {label} {{\"ns_per_line\":{}}}\n", own + more * times);
                }
            }
        }
        let rows = copy(&spec, &places, &Readings::parse(&text));
        rows.iter().filter(|row| row.verdict == Verdict::Fails).count()
    }

    #[test]
    fn rep_costs_what_memory_costs() {
        assert_eq!(failures(1.0), 0);
        assert_eq!(failures(100.0), 8, "every row of memory that is not the loop's");
        assert_eq!(failures(0.0), 4, "free memory is no memory");
    }

    /// No queue (q = 0), 1000 ns, depth 8, 62.5 ns a line: a stream takes 125 ns a line, and two
    /// lines of 64 take the whole 1000 ns. That is 152.3 ns a line, and 252.3 ns with 100 ns that
    /// are not memory's.
    #[test]
    fn a_line_by_hand() {
        let mut spec = test_kit::spec();
        let places = Places::of(&spec).unwrap();
        (spec.queue.controller_ns, spec.prefetch.depth, spec.node[0].mb_per_s) = (0.0, 8, 1024.0);
        spec.latency.ns[0][0] = 1000.0;
        assert!((by_law(&spec, &places, 100.0, false) - 252.34).abs() < 0.1);
        assert!((by_law(&spec, &places, 100.0, true) - (100.0 + 2.0 * 152.34)).abs() < 0.1);
    }
}
