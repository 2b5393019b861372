//! Laws of CPUs that meet in time. *Clocks*: four CPUs read the clock before and after a loop of
//! about 13 us. The clock must show the time that the loop takes, never zero, and never go back
//! from thread to thread. *Locks*: all CPUs except the observer take one lock, hold it for `h` and
//! think for `t`. A CPU alone needs `T = h + t` for a turn, which is measured; `n` CPUs can have no
//! more than
//!
//! ```text
//! turns per second <= min(1 / (T - t), n / T)
//! ```
//!
//! and no fewer than the same limit with a few lines per turn that come from the farthest memory.

use super::places::Places;
use super::plan;
use super::reading::Readings;
use super::row::{Bound, Row};
use super::script::{Program, Step};
use numasim_model::Spec;
use numasim_model::num::float_len;

const TENTH: Bound = Bound::Within(0.1);
/// Tolerance above the upper limit and below the lower one.
const SLACK: f64 = 0.1;
/// Lines per turn that other CPUs had: ticket, lock and counter, each of which is read and then
/// written.
const LINES: f64 = 6.0;
/// The program, with its steps between two readings of the clock; and the number of CPUs that run
/// it.
const CLOCK: &str = "clocks --steps 300 --work 500";
const CLOCKS: usize = 4;

/// A lock: its kind, the steps for which it is held, the steps between turns, and the turns of a
/// CPU.
struct Lock {
    label: &'static str,
    kind: &'static str,
    hold: u32,
    think: u32,
    turns: u32,
}

const LOCKS: [Lock; 4] = [
    Lock { label: "brief", kind: "ticket", hold: 4, think: 0, turns: 2000 },
    Lock { label: "long", kind: "ticket", hold: 300, think: 0, turns: 300 },
    Lock { label: "rare", kind: "ticket", hold: 16, think: 1000, turns: 300 },
    Lock { label: "mutex", kind: "mutex", hold: 300, think: 0, turns: 300 },
];

/// Number of CPUs that take the lock: all except the observer.
fn takers(spec: &Spec) -> usize {
    spec.cpus() - 1
}

/// The steps of law "clocks".
#[must_use]
pub fn clock_steps(spec: &Spec, places: &Places) -> Vec<Step> {
    let cpus = CLOCKS.min(spec.cpus());
    plan::run(crowd("clocks", cpus, places.node, CLOCK))
}

/// The steps of law "lock": each lock is taken by one CPU, then by all.
#[must_use]
pub fn lock_steps(spec: &Spec, places: &Places) -> Vec<Step> {
    let one = |lock: &Lock| {
        let Lock { label, kind, hold, think, turns } = lock;
        let command = format!("lock --kind {kind} --hold {hold} --think {think} --work {turns}");
        let both = [crowd(&alone(label), 1, places.node, &command), crowd(label, takers(spec), places.node, &command)];
        both.into_iter().flat_map(plan::run).collect::<Vec<_>>()
    };
    if takers(spec) < 2 { Vec::new() } else { LOCKS.iter().flat_map(one).collect() }
}

fn alone(label: &str) -> String {
    format!("{label}1")
}

/// A program with one thread on each of the first CPUs.
fn crowd(name: &str, cpus: usize, node: usize, command: &str) -> Program {
    let list = format!("0-{}", cpus - 1);
    let command = format!("{command} --threads {cpus} --each-on {list}");
    Program { name: name.to_owned(), cpus: list, node, command }
}

/// Judges law "clocks".
pub fn clocks(spec: &Spec, _places: &Places, readings: &Readings) -> Vec<Row> {
    let figure = |key| readings.figure("clocks", key);
    let what = |of: &str| format!("a short loop by the clock on {} CPUs: {of}", CLOCKS.min(spec.cpus()));
    let row = |of, key| Row::new("clocks", what(of), "ns", figure("ns_true"), TENTH, figure(key));
    vec![
        row("median", "ns"),
        row("90th percentile", "ns_p90"),
        Row::new("clocks", what("times that it took nothing"), "", Ok(0.0), Bound::AtMost, figure("zeroes")),
        Row::new("clocks", what("times that the clock went back"), "", Ok(0.0), Bound::AtMost, figure("back")),
    ]
}

/// Judges law "lock".
pub fn locks(spec: &Spec, _places: &Places, readings: &Readings) -> Vec<Row> {
    let cpus = takers(spec);
    if cpus < 2 {
        return vec![Row::skipped("lock", "one lock, several CPUs", "the machine has too few CPUs")];
    }
    let transfer = spec.latency.ns.iter().flatten().copied().fold(0.0, f64::max) * LINES;
    let one = |lock: &Lock| {
        let turn = readings.figure(&alone(lock.label), "ns_per_acquisition");
        let measured = readings.figure(lock.label, "ns_per_acquisition").map(|ns| 1e6 / ns);
        let (least, most) = match &turn {
            Ok(turn) => limits(lock, *turn, cpus, transfer),
            Err(_) => (0.0, 0.0),
        };
        // A mutex sleeps and wakes. How long that takes depends on the kernel.
        let least = if lock.kind == "mutex" { 0.0 } else { least };
        let Lock { kind, hold, think, .. } = lock;
        let what = format!("{kind} held for {hold} steps, {think} between, on {cpus} CPUs: turns a ms");
        Row::new("lock", what, "", turn.map(|_| least), Bound::UpTo(most), measured)
    };
    LOCKS.iter().map(one).collect()
}

/// The least and the largest number of turns per millisecond, if a turn of one CPU alone takes
/// `turn` ns.
fn limits(lock: &Lock, turn: f64, cpus: usize, transfer: f64) -> (f64, f64) {
    let thinks = turn * f64::from(lock.think) / f64::from(lock.think + lock.hold).max(1.0);
    let rate = |more: f64| 1e6 / (turn - thinks + more).max((turn + more) / float_len(cpus));
    ((1.0 - SLACK) * rate(transfer), (1.0 + SLACK) * rate(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::row::Verdict;
    use crate::laws::test_kit;

    /// A turn of 10 us with nothing between: 100 turns per ms with any number of CPUs, 110 with the
    /// tolerance. With 10 us of transfers the least is 50, less a tenth. With nine tenths of a turn
    /// between: seven CPUs have 7 turns in 10 us, and a lock that is held for 1 us allows 10.
    #[test]
    fn limits_by_hand() {
        let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-9 && (b - d).abs() < 1e-9;
        let lock = |hold, think| Lock { label: "x", kind: "ticket", hold, think, turns: 1 };
        assert!(near(limits(&lock(5, 0), 1e4, 7, 1e4), (45.0, 110.0)));
        assert!(near(limits(&lock(1, 9), 1e4, 7, 0.0), (630.0, 770.0)));
    }

    fn verdicts(turn: f64, all: f64) -> Vec<Verdict> {
        let line = |name: &str, ns: f64| format!("@line {name} {{\"ns_per_acquisition\":{ns}}}\n");
        let text: String = LOCKS.iter().map(|lock| line(&alone(lock.label), turn) + &line(lock.label, all)).collect();
        let spec = test_kit::spec();
        let rows = locks(&spec, &Places::of(&spec).unwrap(), &Readings::parse(&text));
        rows.into_iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn locks_that_overlap_and_locks_that_crawl_fail() {
        assert_eq!(verdicts(1e4, 1e4)[1], Verdict::Holds);
        assert_eq!(verdicts(1e4, 2e3)[1], Verdict::Fails, "five at once");
        assert_eq!(verdicts(1e4, 1e5)[1], Verdict::Fails, "one a window");
        assert_eq!(verdicts(1e4, 1e5)[3], Verdict::Holds, "a mutex may sleep");
    }

    #[test]
    fn one_interval_of_nothing_fails() {
        let spec = test_kit::spec();
        let line = |zeroes| {
            format!("@line clocks {{\"ns\":13000,\"ns_p90\":13100,\"ns_true\":13200,\"zeroes\":{zeroes},\"back\":0}}\n")
        };
        let rows = |zeroes| clocks(&spec, &Places::of(&spec).unwrap(), &Readings::parse(&line(zeroes)));
        assert!(rows(0).iter().all(|row| row.verdict == Verdict::Holds));
        assert_eq!(rows(1).iter().filter(|row| row.verdict == Verdict::Fails).count(), 1);
    }
}
