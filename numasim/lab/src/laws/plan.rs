//! Which programs run where, law by law, on any machine: places and sizes come from the spec. The
//! labels that are given here are those under which the judges look up the readings.

use super::colours;
use super::places::Places;
use super::script::{Program, Step};
use numasim_model::Spec;
use numasim_model::num;

/// Guest seconds that a measurement takes, approximately.
const SECONDS: f64 = 0.25;
/// Guest seconds until caches and queues have settled.
const SETTLE: f64 = 0.1;

/// KiB of memory that no cache holds: eight times the LLC or the private cache, whichever is
/// larger.
#[must_use]
pub fn beyond(spec: &Spec, places: &Places) -> u32 {
    (8 * spec.llc[places.llc].size_kib).max(8 * spec.private.size_kib)
}

/// KiB of a part of the LLC, given in hundredths, in whole pages.
#[must_use]
pub fn part(spec: &Spec, places: &Places, hundredths: u32) -> u32 {
    (spec.llc[places.llc].size_kib * hundredths / 400).max(1) * 4
}

/// Number of loads that take [`SECONDS`] at this many ns each.
fn loads(ns: f64) -> u64 {
    num::round(SECONDS * 1e9 / ns)
}

/// The steps of the wanted laws.
#[must_use]
pub fn steps(spec: &Spec, wanted: impl Fn(&str) -> bool) -> Vec<Step> {
    let Ok(places) = Places::of(spec) else { return Vec::new() };
    let mut steps = Vec::new();
    // All laws of latency need the cost of a load apart from memory.
    if ["latency", "cache", "flush", "translation"].iter().any(|name| wanted(name)) {
        steps.extend(private(spec, &places));
    }
    if wanted("latency") {
        steps.extend(latency(spec, &places));
    }
    if wanted("cache") {
        let ns = spec.llc[places.llc].hit_ns.max(1.0);
        steps.extend(chase("llc", places.cpus[0], places.node, part(spec, &places, 25), loads(ns)));
    }
    if ["flush", "load"].iter().any(|name| wanted(name)) {
        steps.extend(flush(spec, &places));
    }
    if ["bandwidth", "load"].iter().any(|name| wanted(name)) {
        steps.extend(bandwidth(spec, &places, wanted("load")));
    }
    if wanted("sharing") {
        steps.extend(sharing(spec, &places));
    }
    if wanted("ways") {
        steps.extend(ways(spec, &places));
    }
    if wanted("time") {
        steps.extend(time(spec));
    }
    steps
}

/// Runs a program by itself, from its set-up to its line.
#[must_use]
pub fn run(program: Program) -> Vec<Step> {
    let name = program.name.clone();
    vec![Step::Start(program), Step::Ready(name.clone()), Step::Go(vec![name.clone()]), Step::Finish(name)]
}

fn private(spec: &Spec, places: &Places) -> Vec<Step> {
    let ns = 5e3 / spec.clock_mhz + spec.private.hit_ns;
    chase("private", places.cpus[0], places.node, spec.private.size_kib / 2, loads(ns))
}

fn latency(spec: &Spec, places: &Places) -> Vec<Step> {
    let one = |(at, (home, memory)): (usize, &(usize, usize))| {
        let count = loads(spec.latency.ns[*home][*memory]);
        chase(&pair_label(at), spec.node[*home].cpus.as_slice()[0], *memory, beyond(spec, places), count)
    };
    places.pairs.iter().enumerate().flat_map(one).collect()
}

/// The label of a pair of nodes.
#[must_use]
pub fn pair_label(at: usize) -> String {
    format!("pair{at}")
}

/// A chase by itself, with a look before and one after: labels `NAME` and `NAME.end`.
fn chase(name: &str, cpu: usize, node: usize, kib: u32, work: u64) -> Vec<Step> {
    alone(name, cpu, node, format!("chase --size-kib {kib} --work {work}"))
}

/// Runs a program by itself, with a look before and one after.
pub fn alone(name: &str, cpu: usize, node: usize, command: String) -> Vec<Step> {
    vec![
        start(name, cpu, node, command),
        Step::Ready(name.to_owned()),
        Step::Look(name.to_owned()),
        Step::Go(vec![name.to_owned()]),
        Step::Finish(name.to_owned()),
        Step::Look(end(name)),
    ]
}

/// The label of the look after a program.
#[must_use]
pub fn end(name: &str) -> String {
    format!("{name}.end")
}

fn start(name: &str, cpu: usize, node: usize, command: String) -> Step {
    Step::Start(Program { name: name.to_owned(), cpus: cpu.to_string(), node, command })
}

/// Starts a load that goes on until it is stopped, to be looked at from outside.
fn background(name: &str, cpu: usize, node: usize, command: &str) -> [Step; 3] {
    [
        start(name, cpu, node, format!("{command} --repeat")),
        Step::Ready(name.to_owned()),
        Step::Go(vec![name.to_owned()]),
    ]
}

/// A window over the programs that are running.
fn window(name: &str) -> [Step; 4] {
    [Step::Sleep(SETTLE), Step::Look(name.to_owned()), Step::Sleep(SECONDS), Step::Look(end(name))]
}

const PROBE: &str = "probe --work 16384 --batch 16";

fn flush(spec: &Spec, places: &Places) -> Vec<Step> {
    let (cpu, node) = (places.cpus[0], places.node);
    let small = part(spec, places, 25);
    let flushed = alone("flushed", cpu, node, format!("{PROBE} --size-kib {small} --flush clflush"));
    let kept = alone("kept", cpu, node, format!("{PROBE} --size-kib {small} --flush none"));
    flushed.into_iter().chain(kept).collect()
}

/// Streams on the node's memory. One CPU of the node after another joins (`local1`, ...), then the
/// CPUs of the neighbour (`all`); then the node's own leave (`remote`), then all but one of the
/// neighbour's (`remote1`). The node's first CPU is the last to join: before it does, it measures
/// what the load of the others costs.
fn bandwidth(spec: &Spec, places: &Places, load: bool) -> Vec<Step> {
    let command = format!("stream --size-kib {} --rounds 1000000", beyond(spec, places));
    let stream = |cpu: usize| background(&format!("s{cpu}"), cpu, places.node, &command);
    let stop = |cpu: &usize| Step::Stop(format!("s{cpu}"));
    let mut steps = Vec::new();
    let (first, rest) = (places.cpus[0], &places.cpus[1..]);
    for (at, cpu) in rest.iter().enumerate() {
        steps.extend(stream(*cpu));
        steps.extend(window(&local_label(at + 1)));
    }
    if load && !rest.is_empty() {
        steps.extend(loaded(spec, places));
    }
    steps.extend(stream(first));
    steps.extend(window(&local_label(places.cpus.len())));
    let far = places.remote.iter().flat_map(|remote| remote.cpus.iter().copied());
    let far: Vec<usize> = far.collect();
    if !far.is_empty() {
        steps.extend(far.iter().flat_map(|cpu| stream(*cpu)));
        steps.extend(window("all"));
    }
    steps.extend(places.cpus.iter().map(stop));
    if !far.is_empty() {
        steps.extend(window("remote"));
        steps.extend(far.iter().skip(1).map(stop));
        steps.extend(window("remote1"));
        steps.push(stop(&far[0]));
    }
    steps
}

/// The label of the window in which this many CPUs of the node stream.
#[must_use]
pub fn local_label(cpus: usize) -> String {
    format!("local{cpus}")
}

fn loaded(spec: &Spec, places: &Places) -> Vec<Step> {
    // One long pass: between two passes the probe requests nothing, and delays differ.
    let command = format!("probe --work 163840 --batch 16 --size-kib {} --flush clflush", part(spec, places, 25));
    vec![
        start("loaded", places.cpus[0], places.node, command),
        Step::Ready("loaded".to_owned()),
        Step::Watch("delays".to_owned()),
        Step::Go(vec!["loaded".to_owned()]),
        Step::Finish("loaded".to_owned()),
        Step::Unwatch,
    ]
}

/// Hundredths of the LLC that each of two programs fills: one fits, two do not.
pub const SHARED_PART: u32 = 70;

fn sharing(spec: &Spec, places: &Places) -> Vec<Step> {
    let colours = colours::of(&spec.llc[places.llc]).unwrap_or(1);
    let kib = part(spec, places, SHARED_PART);
    let command = format!("chase --size-kib {kib} --work 1000000000 --colours {colours}");
    let mut steps: Vec<Step> = background("victim", places.cpus[0], places.node, &command).into();
    steps.extend(window("lonely"));
    let (shared, apart) = places.others(spec);
    if let Some(cpu) = shared {
        steps.extend(background("near", cpu, places.node, &command));
        steps.extend(window("near"));
        steps.push(Step::Stop("near".to_owned()));
    }
    if let Some((cpu, node)) = apart {
        steps.extend(background("far", cpu, node, &command));
        steps.extend(window("far"));
        steps.push(Step::Stop("far".to_owned()));
    }
    steps.push(Step::Stop("victim".to_owned()));
    steps
}

/// Loads of the law of ways: many passes over the cycle, so that lines which were evicted before it
/// began do not count.
const WAYS_LOADS: u64 = 400_000;
/// Label, hundredths of the LLC, and whether the program has half of the ways.
pub const WAYS: [(&str, u32, bool); 3] = [("large.all", 70, false), ("large.half", 70, true), ("small.half", 30, true)];

fn ways(spec: &Spec, places: &Places) -> Vec<Step> {
    let (llc, cpu) = (places.llc, places.cpus[0]);
    let one = |(label, hundredths, half): (&str, u32, bool)| {
        let mut steps = vec![Step::ResetWays];
        if half {
            let mask = (1 << half_of(spec.llc[llc].ways)) - 1;
            steps.push(Step::Ways { llc, mask, cpu });
        }
        // Lines in other ways would stay there and hit.
        steps.push(Step::Empty);
        let name = label.replace('.', "_");
        let (kib, colours) = (part(spec, places, hundredths), colours::of(&spec.llc[llc]).unwrap_or(1));
        let command = format!("chase --size-kib {kib} --work {WAYS_LOADS} --colours {colours}");
        steps.extend(alone(&name, cpu, places.node, command));
        steps
    };
    WAYS.into_iter().flat_map(one).chain([Step::ResetWays]).collect()
}

/// Half of the ways, but at least one.
#[must_use]
pub fn half_of(ways: u32) -> u32 {
    (ways / 2).max(1)
}

/// Numbers of CPUs that compute at the same time: 1, 2, 4 and so on, and all.
#[must_use]
pub fn crowds(spec: &Spec) -> Vec<usize> {
    let all = spec.cpus();
    let mut crowds: Vec<usize> =
        std::iter::successors(Some(1), |count| Some(2 * count)).take_while(|n| *n < all).collect();
    crowds.push(all);
    crowds
}

/// The name of the computing program on this CPU of a crowd.
#[must_use]
pub fn member(crowd: usize, cpu: usize) -> String {
    format!("c{crowd}x{cpu}")
}

/// Guest seconds of the two sleeps; the second is one second longer than the first.
const NAPS: [(&str, f64); 2] = [("nap", 0.1), ("sleep", 1.1)];

fn time(spec: &Spec) -> Vec<Step> {
    // A step of four lanes takes about ten instructions. A program runs for about a second, so the
    // few steps in which programs are started together do not matter.
    let work = 4 * loads(10e3 / spec.clock_mhz);
    let mut steps = Vec::new();
    for crowd in crowds(spec) {
        let names: Vec<String> = (0..crowd).map(|cpu| member(crowd, cpu)).collect();
        let command = || format!("cpu --work {work}");
        steps.extend(
            names.iter().enumerate().map(|(cpu, name)| start(name, cpu, spec.node_of(cpu).unwrap_or(0), command())),
        );
        steps.extend(names.iter().cloned().map(Step::Ready));
        steps.extend([Step::Go(names.clone()), Step::Await(names.clone())]);
        steps.extend(names.into_iter().map(Step::Finish));
    }
    for (name, seconds) in NAPS {
        steps.extend([Step::Look(name.to_owned()), Step::Sleep(seconds), Step::Look(end(name))]);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scale;

    fn nehalem() -> Spec {
        crate::machine::scaled("nehalem-2x4", Scale::default()).unwrap()
    }

    #[test]
    fn places_of_two_nodes() {
        let spec = nehalem();
        let places = Places::of(&spec).unwrap();
        assert_eq!((places.node, places.cpus.as_slice(), places.observer, places.llc), (0, &[0, 1, 2, 3][..], 7, 0));
        assert_eq!(places.pairs, [(0, 0), (0, 1)], "one pair for each latency");
        assert_eq!(places.remote, Some(super::super::places::Remote { node: 1, cpus: vec![4, 5, 6], link: 0 }));
        assert_eq!(places.others(&spec), (Some(1), Some((4, 1))));
        assert_eq!((beyond(&spec, &places), part(&spec, &places, 25)), (4096, 128));
    }

    #[test]
    fn what_is_started_is_ended_and_what_is_let_go_was_ready() {
        let steps = steps(&nehalem(), |_| true);
        let mut running: Vec<String> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Start(program) => {
                    assert!(!running.contains(&program.name), "{}", program.name);
                    running.push(program.name.clone());
                }
                Step::Finish(name) | Step::Stop(name) => {
                    assert!(running.contains(name), "{name}");
                    running.retain(|one| one != name);
                }
                Step::Go(names) => {
                    let ready = |name: &String| steps[..at].contains(&Step::Ready(name.clone()));
                    assert!(names.iter().all(ready), "{names:?}");
                }
                _ => {}
            }
        }
        assert!(running.is_empty(), "{running:?}");
    }

    #[test]
    fn only_what_is_asked_for_is_run() {
        let labels = |name: &str| {
            let steps = steps(&nehalem(), |law| law == name);
            steps.into_iter().filter_map(|step| if let Step::Look(label) = step { Some(label) } else { None }).collect()
        };
        let none: Vec<String> = labels("nothing");
        assert!(none.is_empty());
        let time: Vec<String> = labels("time");
        assert_eq!(time, ["nap", "nap.end", "sleep", "sleep.end"]);
        assert_eq!(crowds(&nehalem()), [1, 2, 4, 8]);
    }
}
