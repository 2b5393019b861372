//! Decides whether contention matters now: yes, no, or not measurable. Each figure has one
//! threshold, with its reason here.

use crate::nodes::CONGESTED;
use crate::view::{Answer, Finding, ProgramView, View};
use crate::words::{name, percent, times};

/// A program that takes a tenth longer than alone: its owner would notice that.
const SLOW: f64 = 1.1;
/// A controller or link at 80 %: by the queueing curve of the model, waits are half the idle
/// latency or more, and grow without bound from there.
const FULL: f64 = 0.8;
/// Fraction of a program's pages on nodes where it does not run, used if nothing better is
/// measured. Each remote access costs 1.3 to 2 times as much, so a third may cost a tenth.
const REMOTE: f64 = 0.33;
/// LLC misses per 1000 instructions of a program that its other threads' caches answer: DINO's
/// threshold of a devil (section 3.1).
const PASSED: f64 = 2.0;
/// Maximum fraction of the running programs' CPU use with unknown slowdown that still allows a
/// "no": programs that have just started.
const UNKNOWN: f64 = 0.2;
/// Fraction of a CPU from which on a program counts as running.
const RUNS: f64 = 0.1;

/// The answer, the findings that make it "yes", and the reason if it is not.
pub fn answer(view: &View) -> (Answer, Vec<Finding>, String) {
    let mut findings = findings(view);
    findings.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.words.cmp(&b.words)));
    if !findings.is_empty() {
        return (Answer::Yes, findings, String::new());
    }
    let (answer, why) = quiet(view);
    (answer, findings, why)
}

fn findings(view: &View) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |weight: f64, words: String| {
        if weight >= 1.0 {
            found.push(Finding { words, weight });
        }
    };
    for node in &view.nodes {
        if let Some(load) = node.load() {
            add(load / FULL, format!("the memory controller of node {} is at {}", node.id, percent(load)));
        }
    }
    for link in &view.links {
        add(
            link.load() / FULL,
            format!("the link from node {} to node {} is at {}", link.from, link.to, percent(link.load())),
        );
    }
    for pair in &view.latency {
        let ratio = pair.idle_latency_ns.filter(|idle| *idle > 0.0).map(|idle| pair.latency_ns / idle);
        let words = |of: String| {
            format!("memory of node {} answers node {} in {:.0} ns{of}", pair.to, pair.from, pair.latency_ns)
        };
        match ratio {
            Some(ratio) => add(ratio / CONGESTED, words(format!(", {} of idle", times(ratio)))),
            None if pair.congested => add(1.0, words(", slower than another node's memory".to_owned())),
            None => {}
        }
    }
    for program in &view.programs {
        let who = format!("{} (pid {})", name(&program.name), program.pid);
        match (program.slowdown, program.remote) {
            (Some(slowdown), _) => add(slowdown / SLOW, format!("{who} takes {} as long as alone", times(slowdown))),
            (None, Some(remote)) if runs(program.cpus) => {
                add(
                    remote / REMOTE,
                    format!("{who} has {} of its pages on nodes where it does not run", percent(remote)),
                );
            }
            _ => {}
        }
        if let Some(passed) = program.cache_transfers_pki.filter(|_| runs(program.cpus)) {
            add(passed / PASSED, format!("{who} passes {passed:.1} lines per 1000 instructions between caches"));
        }
    }
    found
}

/// There is no finding: decides whether that means "no".
fn quiet(view: &View) -> (Answer, String) {
    let timed = view.programs.is_empty() || view.programs.iter().any(|program| program.cpus.is_some());
    let running: Vec<&ProgramView> = view.programs.iter().filter(|program| runs(program.cpus)).collect();
    let filled = |list: &[&ProgramView]| list.iter().filter_map(|program| program.cpus).sum::<f64>();
    let unknown: Vec<&ProgramView> = running.iter().copied().filter(|program| program.slowdown.is_none()).collect();
    if timed && running.is_empty() {
        (Answer::No, "no program uses a tenth of a CPU or more".to_owned())
    } else if timed && filled(&unknown) <= UNKNOWN * filled(&running) {
        (Answer::No, "the running programs were measured, and no figure is above its threshold".to_owned())
    } else if timed && is_one_near_thread(view, &running) {
        (Answer::No, "one thread runs, and its pages are on its node".to_owned())
    } else {
        (Answer::NotMeasurable, why(view, unknown.len()))
    }
}

fn runs(cpus: Option<f64>) -> bool {
    cpus.is_some_and(|cpus| cpus >= RUNS)
}

fn is_one_near_thread(view: &View, running: &[&ProgramView]) -> bool {
    let threads = running.iter().flat_map(|program| &program.threads).filter(|thread| runs(thread.cpus)).count();
    let near = |program: &&ProgramView| view.nodes.len() < 2 || program.remote.is_some_and(|far| far < REMOTE);
    threads == 1 && running.iter().all(near)
}

fn why(view: &View, unknown: usize) -> String {
    let programs = crate::words::plural(unknown, "program");
    let single = if view.nodes.len() < 2 { "there is one node, so NUMA does not matter; " } else { "" };
    match view.gaps.first() {
        Some(gap) => format!(
            "{single}how much other programs slow down {programs} is not known; not measured: {} ({})",
            gap.what, gap.why
        ),
        None => format!("{programs} had too few readings: try again in a few seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{LinkView, NodeView, Pair, ThreadView};
    use isobar_model::{NodeId, Pid};

    fn program(slowdown: Option<f64>, remote: Option<f64>) -> ProgramView {
        let thread = ThreadView { cpus: Some(1.0), ..ThreadView::default() };
        ProgramView {
            pid: Pid(1),
            name: "a".into(),
            cpus: Some(1.0),
            slowdown,
            remote,
            threads: vec![thread; 2],
            ..ProgramView::default()
        }
    }

    fn of(view: &View) -> (Answer, usize) {
        let (answer, findings, why) = answer(view);
        assert_eq!(why.is_empty(), answer == Answer::Yes);
        (answer, findings.len())
    }

    #[test]
    fn a_figure_beyond_its_threshold_is_a_yes() {
        let node = NodeView { bandwidth: Some(8.1e9), max_bandwidth: Some(1e10), ..NodeView::default() };
        let full = View { nodes: vec![node], ..View::default() };
        assert_eq!(of(&full), (Answer::Yes, 1));
        let link = LinkView { from: NodeId(0), to: NodeId(1), bandwidth: 4.1e9, max_bandwidth: 5e9 };
        assert_eq!(of(&View { links: vec![link], ..View::default() }), (Answer::Yes, 1));
        let pair =
            Pair { from: NodeId(0), to: NodeId(0), latency_ns: 130.0, idle_latency_ns: Some(100.0), congested: true };
        assert_eq!(of(&View { latency: vec![pair], ..View::default() }), (Answer::Yes, 1));
        assert_eq!(of(&View { programs: vec![program(Some(1.11), None)], ..View::default() }), (Answer::Yes, 1));
        assert_eq!(of(&View { programs: vec![program(None, Some(0.4))], ..View::default() }), (Answer::Yes, 1));
    }

    /// Threads that pass each other lines, one for every 500 instructions and one for every 400.
    #[test]
    fn lines_between_caches_are_a_finding() {
        let passing = |passed| ProgramView { cache_transfers_pki: Some(passed), ..program(Some(1.0), None) };
        let answered = |passed| of(&View { programs: vec![passing(passed)], ..View::default() });
        assert_eq!([answered(1.9), answered(2.5)], [(Answer::No, 0), (Answer::Yes, 1)]);
    }

    #[test]
    fn no_is_said_only_where_it_is_known() {
        assert_eq!(of(&View::default()), (Answer::No, 0));
        assert_eq!(of(&View { programs: vec![program(Some(1.05), None)], ..View::default() }), (Answer::No, 0));
        assert_eq!(
            of(&View { programs: vec![program(None, Some(0.0))], ..View::default() }),
            (Answer::NotMeasurable, 0)
        );
        let mut single = program(None, Some(0.0));
        single.threads.pop();
        assert_eq!(of(&View { programs: vec![single.clone()], ..View::default() }), (Answer::No, 0));
        single.remote = None;
        let nodes = vec![NodeView::default(); 2];
        assert_eq!(of(&View { programs: vec![single], nodes, ..View::default() }), (Answer::NotMeasurable, 0));
        let untimed = ProgramView { cpus: None, ..program(None, None) };
        assert_eq!(of(&View { programs: vec![untimed], ..View::default() }), (Answer::NotMeasurable, 0));
    }
}
