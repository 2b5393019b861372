//! The verdict in words: how full the machine is, which programs are slowed down and by which, and
//! what would be done.

use crate::actions::Decisions;
use crate::answer;
use crate::view::{Harm, LlcView, NodeView, Pair, ProgramView, Verdict, View};
use crate::words::{gain, name, percent, plural, rate, sentence, stopped, times};
use isobar_model::Pid;
use std::collections::BTreeMap;

/// Smaller slowdowns are not mentioned: 5 %, as in LFOC's critical size.
const NAMED: f64 = 1.05;
/// Slowdown from which on other programs are counted.
const COUNTED: f64 = 1.1;
/// A link is mentioned if it is fuller than this and fuller than every controller.
const LINK: f64 = 0.5;
/// Controllers below this load are mentioned together, because nothing waits there.
const LITTLE: f64 = 0.1;
/// Number of seconds for which a decision is news.
const NEWS: f64 = 60.0;
/// Said if slowdowns will not be known later, either.
const WITHOUT_COUNTERS: &str = "Slowdowns cannot be estimated without performance counters";

/// The verdict on a view that is complete except for the verdict. `counted`: whether the machine
/// has the performance counters that slowdowns need.
pub fn verdict(view: &View, decisions: &Decisions, counted: bool) -> Verdict {
    let (answer, findings, why_not) = answer::answer(view);
    Verdict {
        answer,
        pressure: stopped(pressure(view)),
        suffering: stopped(suffering(view, counted)),
        advice: stopped(advice(view, decisions)),
        findings,
        why_not: sentence(&why_not),
    }
}

fn pressure(view: &View) -> String {
    let fullest = view.nodes.iter().filter_map(|node| Some((node, node.load()?))).max_by(|a, b| a.1.total_cmp(&b.1));
    let link = view.links.iter().max_by(|a, b| a.load().total_cmp(&b.load())).filter(|link| link.load() > LINK);
    let worst = worst(&view.latency);
    match (fullest, link) {
        (Some((_, load)), Some(link)) if link.load() > load => {
            format!("The link from node {} to node {} is at {}", link.from, link.to, percent(link.load()))
                + &slow(worst, None)
        }
        (Some((_, load)), _) if load < LITTLE => {
            format!("No memory controller is above {}", percent(load)) + &slow(worst, None)
        }
        (Some((node, load)), _) => controller(node, load) + &slow(worst, Some(node)),
        (None, _) => match worst {
            Some(pair) => format!("Memory of node {} answers node {} in {}", pair.to, pair.from, answer_time(pair)),
            None => "The load of the memory controllers is not measured".to_owned(),
        },
    }
}

fn controller(node: &NodeView, load: f64) -> String {
    let most =
        node.max_bandwidth.map(|most| format!(" of {}{}", if node.max_is_told { "" } else { "about " }, rate(most)));
    format!("Node {}'s controller is at {}{}", node.id, percent(load), most.unwrap_or_default())
}

/// The pair whose latency is farthest above idle, if one is congested.
fn worst(latency: &[Pair]) -> Option<&Pair> {
    let ratio =
        |pair: &&Pair| pair.latency_ns / pair.idle_latency_ns.filter(|idle| *idle > 0.0).unwrap_or(pair.latency_ns);
    latency.iter().filter(|pair| pair.congested).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

fn slow(worst: Option<&Pair>, said: Option<&NodeView>) -> String {
    match worst {
        Some(pair) if said.is_some_and(|node| node.id == pair.to) => {
            format!(", its memory answers in {}", answer_time(pair))
        }
        Some(pair) => format!(", memory of node {} answers node {} in {}", pair.to, pair.from, answer_time(pair)),
        None => String::new(),
    }
}

fn answer_time(pair: &Pair) -> String {
    let idle = pair.idle_latency_ns.filter(|idle| *idle > 0.0);
    let ratio = idle.map(|idle| format!(" ({} idle)", times(pair.latency_ns / idle))).unwrap_or_default();
    format!("{:.0} ns{ratio}", pair.latency_ns)
}

fn suffering(view: &View, counted: bool) -> String {
    let mut known: Vec<(&ProgramView, f64)> =
        view.programs.iter().filter_map(|program| Some((program, program.slowdown?))).collect();
    known.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.pid.cmp(&b.0.pid)));
    let Some((first, slowdown)) = known.first().filter(|(_, slowdown)| *slowdown >= NAMED) else {
        return if known.is_empty() {
            remote(view, counted)
        } else {
            "No program is slowed down noticeably".to_owned()
        };
    };
    let others = known[1..].iter().filter(|(_, slowdown)| *slowdown >= COUNTED).count();
    let others = match others {
        0 => String::new(),
        more => format!("; {more} more at least {}", times(COUNTED)),
    };
    format!(
        "{} takes {} as long as alone{}{others}",
        called(first.pid, &first.name),
        times(*slowdown),
        cause(view, first)
    )
}

fn called(pid: Pid, raw: &str) -> String {
    format!("{} ({pid})", name(raw))
}

/// Why a program is slow: the larger of the two parts.
fn cause(view: &View, program: &ProgramView) -> String {
    let (others, distance) = (program.contention.unwrap_or(1.0), program.distance.unwrap_or(1.0));
    if distance > others {
        let far =
            program.remote.filter(|far| *far > 0.0).map(|far| format!(", as {} of its pages are remote", percent(far)));
        return far.unwrap_or_else(|| ", as its pages are remote".to_owned());
    }
    let named: f64 = program.harmed_by.iter().map(|harm| harm.gain).sum();
    let ways = few_ways(view, program.pid).filter(|_| 2.0 * named < others - 1.0);
    ways.unwrap_or_else(|| from(&program.harmed_by, &program.name))
}

/// The ways that the program may fill, if these are not all.
fn few_ways(view: &View, pid: Pid) -> Option<String> {
    let of =
        |llc: &LlcView| llc.clusters.iter().find(|cluster| cluster.programs.contains(&pid)).map(|one| one.way_mask);
    let (llc, mask) = view.llcs.iter().find_map(|llc| Some((llc, of(llc)?)))?;
    let (some, all) = (mask.count_ones(), llc.ways?);
    (some < all).then(|| format!(", as it may fill {some} of {all} cache ways"))
}

/// Which programs cause it, with processes of the same name combined.
fn from(harmed_by: &[Harm], own: &str) -> String {
    let mut names: BTreeMap<String, f64> = BTreeMap::new();
    let message =
        |harm: &Harm| if harm.name == own { "other processes of its name".to_owned() } else { name(&harm.name) };
    harmed_by.iter().for_each(|harm| *names.entry(message(harm)).or_default() += harm.gain);
    let all: f64 = names.values().sum();
    let mut order: Vec<(String, f64)> = names.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    match &order[..] {
        [] => String::new(),
        [only] => format!(", because of {}", only.0),
        [first, ..] if first.1 > 0.5 * all => format!(", most of it from {}", first.0),
        [first, second, ..] => format!(", most of it from {} and {}", first.0, second.0),
    }
}

/// What pages show if nothing is counted.
fn remote(view: &View, counted: bool) -> String {
    let far = |program: &&ProgramView| {
        program.remote.is_some_and(|far| far >= 0.33) && program.cpus.is_some_and(|cpus| cpus >= 0.1)
    };
    match view.programs.iter().filter(far).max_by(|a, b| a.cpus.unwrap_or(0.0).total_cmp(&b.cpus.unwrap_or(0.0))) {
        Some(program) => {
            let part = percent(program.remote.unwrap_or(0.0));
            format!("{} has {part} of its pages on nodes where it does not run", called(program.pid, &program.name))
        }
        None if view.programs.iter().any(|program| program.cpus.is_some_and(|cpus| cpus >= 0.1)) => {
            if counted { "Slowdowns are not known yet" } else { WITHOUT_COUNTERS }.to_owned()
        }
        None => "No program is busy".to_owned(),
    }
}

fn advice(view: &View, decisions: &Decisions) -> String {
    if view.acts {
        return decisions.newest().filter(|(_, last)| view.time_seconds - last.time_seconds <= NEWS).map_or_else(
            || format!("{} changed nothing in the last minute", view.policy),
            |(pid, last)| did(view, pid, last),
        );
    }
    if let Some(first) = view.actions.first() {
        let more = view.actions.len() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return format!("{} would now change {}{more}", view.policy, about(view, &first.programs, &first.words));
    }
    match &view.proposed {
        Some(proposed) => match &proposed.moves[..] {
            [] => "isobar finds no change worth making".to_owned(),
            [first, rest @ ..] => {
                let more =
                    if rest.is_empty() { String::new() } else { format!(" and {}", plural(rest.len(), "other")) };
                let who = called(first.pid, &first.name);
                format!(
                    "isobar would move {who} {}{more}: {} summed over all programs",
                    first.words,
                    gain(proposed.gain)
                )
            }
        },
        None if view.programs.iter().any(|program| program.slowdown.is_some()) || !view.links.is_empty() => {
            "isobar proposes changes only after programs have run for some seconds".to_owned()
        }
        None => String::new(),
    }
}

fn did(view: &View, pid: Pid, last: &crate::changes::LastAction) -> String {
    let predicted = last.predicted.map(|part| format!(", predicted {} for it", gain(part))).unwrap_or_default();
    let measured = last.measured.and_then(|one| one.gain).map(|part| format!(", measured {}", gain(part)));
    let ago = (view.time_seconds - last.time_seconds).max(0.0);
    let (policy, what) = (&last.policy, about(view, &[pid], &last.words));
    format!("Last change {ago:.0} s ago by {policy}: {what}{predicted}{}", measured.unwrap_or_default())
}

fn about(view: &View, programs: &[Pid], words: &str) -> String {
    let found = programs.first().and_then(|pid| view.programs.iter().find(|program| program.pid == *pid));
    let who = found.map(|program| called(program.pid, &program.name)).unwrap_or_default();
    let more = if programs.len() > 1 { format!(" and {}", plural(programs.len() - 1, "other")) } else { String::new() };
    format!("{who}{more}: {words}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::{PlannedMove, Proposed};
    use crate::view::Cluster;
    use isobar_model::NodeId;

    fn harm(pid: u32, name: &str, gain: f64) -> Harm {
        Harm { pid: Pid(pid), name: name.into(), gain }
    }

    fn view() -> View {
        let node = |id, bandwidth| NodeView {
            id: NodeId(id),
            bandwidth: Some(bandwidth),
            max_bandwidth: Some(10e9),
            max_is_told: true,
            ..NodeView::default()
        };
        let redis = ProgramView {
            pid: Pid(7),
            name: "redis".into(),
            slowdown: Some(1.41),
            contention: Some(1.41),
            distance: Some(1.0),
            harmed_by: vec![harm(8, "backup", 0.2), harm(9, "cron", 0.1), harm(10, "backup", 0.05)],
            ..ProgramView::default()
        };
        View { nodes: vec![node(0, 3e9), node(1, 9.3e9)], programs: vec![redis], ..View::default() }
    }

    fn line(view: &View) -> String {
        verdict(view, &Decisions::default(), true).line()
    }

    #[test]
    fn the_fullest_the_slowest_and_whose_doing_it_is() {
        let mut view = view();
        view.proposed = Some(Proposed {
            moves: vec![PlannedMove { pid: Pid(8), name: "backup".into(), words: "to node 0".into(), gain: -0.01 }],
            gain: 0.3,
        });
        assert_eq!(
            line(&view),
            "Node 1's controller is at 93 % of 10.0 GB/s. redis (7) takes 1.41x as long as alone, most of it \
             from backup. isobar would move backup (8) to node 0: +30 % summed over \
             all programs."
        );
        view.programs[0].distance = Some(1.5);
        view.programs[0].remote = Some(0.8);
        assert!(line(&view).contains("as long as alone, as 80 % of its pages are remote."));
        view.programs[0].slowdown = Some(1.01);
        assert!(line(&view).contains("No program is slowed down noticeably."));
    }

    #[test]
    fn few_ways_are_a_cause() {
        let mut view = view();
        let cluster = Cluster { name: "a".into(), way_mask: 0x3, threads: Vec::new(), programs: vec![Pid(7)] };
        view.llcs = vec![LlcView { ways: Some(11), clusters: vec![cluster], ..LlcView::default() }];
        assert!(line(&view).contains("most of it from backup"), "0.35 of 0.41 are named");
        view.programs[0].harmed_by.truncate(0);
        assert!(line(&view).contains("as long as alone, as it may fill 2 of 11 cache ways."), "{}", line(&view));
    }

    #[test]
    fn a_slow_answer_of_the_full_node_is_said_with_it() {
        let mut view = view();
        let pair = |from, to, ns| Pair {
            from: NodeId(from),
            to: NodeId(to),
            latency_ns: ns,
            idle_latency_ns: Some(90.0),
            congested: ns > 120.0,
        };
        view.latency = vec![pair(0, 0, 90.0), pair(1, 1, 180.0), pair(0, 1, 130.0)];
        assert!(
            line(&view)
                .starts_with("Node 1's controller is at 93 % of 10.0 GB/s, its memory answers in 180 ns (2.00x idle).")
        );
        view.nodes.iter_mut().for_each(|node| node.bandwidth = None);
        assert!(line(&view).starts_with("Memory of node 1 answers node 1 in 180 ns (2.00x idle)."));
    }

    #[test]
    fn nothing_measured_is_said() {
        assert_eq!(line(&View::default()), "The load of the memory controllers is not measured. No program is busy.");
        let busy = ProgramView { cpus: Some(1.0), ..ProgramView::default() };
        let view = View { programs: vec![busy], ..View::default() };
        let suffering = |counted| verdict(&view, &Decisions::default(), counted).suffering;
        assert_eq!(suffering(true), "Slowdowns are not known yet.");
        assert_eq!(suffering(false), "Slowdowns cannot be estimated without performance counters.");
    }
}
