//! Turns moments into views, and remembers between epochs what the views need: estimates of
//! programs, ways that were set, the last decision about each program, figures for sparklines.

use crate::actions::{self, Decisions};
use crate::caches::{self, Ways};
use crate::changes::{PlannedMove, Proposed};
use crate::gaps;
use crate::history::History;
use crate::moment::Moment;
use crate::nodes;
use crate::programs;
use crate::verdict;
use crate::view::View;
use isobar_model::text::plain;
use isobar_model::{Observation, Pid, Sensor, Topology};
use isobar_policy::isobar::outlook::{Home, Move, Outlook, Proposal};

/// Watches a run, epoch by epoch. The same moments always give the same views.
#[derive(Debug, Default)]
pub struct Watch {
    outlook: Outlook,
    ways: Ways,
    decisions: Decisions,
    history: History,
}

impl Watch {
    /// Adds the next epoch.
    #[must_use]
    pub fn take(&mut self, moment: &Moment<'_>) -> View {
        let Moment { number, capabilities, seen, managed, plan, outcome, .. } = *moment;
        let ways = &self.ways;
        let mask = |llc, pid| managed.process(pid).map_or(u64::MAX, |process| ways.mask(llc, process));
        let standing = self.outlook.look(managed, mask);
        let unknown = standing.as_ref().err().copied();
        let standing = standing.ok();
        self.ways.take(plan, outcome);
        self.decisions.take(moment);
        let latency = nodes::pairs(seen);
        let mut view = View {
            number,
            time_seconds: seen.time.0,
            interval_seconds: seen.interval.0,
            policy: plan.policy.clone(),
            acts: outcome.is_some(),
            nodes: nodes::nodes(seen, standing.as_ref(), &latency, &mut self.history),
            latency,
            llcs: caches::llcs(seen, &self.ways),
            links: standing.as_ref().map(nodes::links).unwrap_or_default(),
            programs: programs::programs(seen, managed, standing.as_ref()),
            actions: actions::listed(moment),
            proposed: standing.as_ref().and_then(|standing| Some(proposed(standing.proposal.as_ref()?, managed))),
            notes: plan.notes.iter().map(|note| plain(note).into_owned()).collect(),
            gaps: gaps::of(capabilities, unknown),
            numa_balancing: capabilities.numa_balancing,
            remarks: capabilities.remarks.clone(),
            pages_under_way: seen.in_flight().map(|flight| flight.left().0).sum(),
            ..View::default()
        };
        for program in &mut view.programs {
            program.last = self.decisions.of(program.pid).cloned();
        }
        let needed = [Sensor::Instructions, Sensor::LlcMisses];
        let counted = !needed.iter().any(|sensor| capabilities.missing.contains_key(sensor));
        view.verdict = verdict::verdict(&view, &self.decisions, counted);
        view
    }
}

fn proposed(proposal: &Proposal, seen: &Observation) -> Proposed {
    let one = |planned: &Move| PlannedMove {
        pid: planned.pid,
        name: seen.process(planned.pid).map(|process| process.name.to_string()).unwrap_or_default(),
        words: to(planned, &seen.machine),
        gain: gain(proposal, planned.pid),
    };
    let gain = proposal.gains.iter().map(|(_, gain)| gain).sum();
    Proposed { moves: proposal.moves.iter().map(one).collect(), gain }
}

fn gain(proposal: &Proposal, pid: Pid) -> f64 {
    proposal.gains.iter().find(|(other, _)| *other == pid).map_or(0.0, |(_, gain)| *gain)
}

/// `to node 1 with its pages (3 of its threads)`.
fn to(planned: &Move, machine: &Topology) -> String {
    let Move { threads, to, pages, .. } = planned;
    let some = threads.map(|count| format!(" ({count} of its threads)")).unwrap_or_default();
    let place = |(node, llc): (Option<isobar_model::NodeId>, Option<isobar_model::LlcId>)| match (node, llc) {
        (Some(node), Some(llc)) if machine.llcs_of_node(node).len() > 1 => format!("to llc {llc} of node {node}"),
        (Some(node), _) => format!("to node {node}"),
        (None, Some(llc)) => format!("to llc {llc}"),
        (None, None) => "elsewhere".to_owned(),
    };
    let where_to = match (to, pages) {
        (Some((Some(node), llc)), Some(Home::Node(pages))) if node == pages => {
            format!("{} with its pages", place((Some(*node), *llc)))
        }
        (Some(to), Some(Home::Node(pages))) => format!("{}, its pages to node {pages}", place(*to)),
        (Some(to), Some(Home::Spread)) => format!("{}, its pages spread over its nodes", place(*to)),
        (Some(to), None) => place(*to),
        (None, Some(Home::Node(pages))) => format!("to node {pages} (pages only)"),
        (None, Some(Home::Spread)) => "to the nodes of its threads (pages only)".to_owned(),
        (None, None) => "nowhere".to_owned(),
    };
    where_to + &some
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{counted, pages, process, seen};
    use crate::view::Answer;
    use isobar_model::{Bandwidth, Bytes, Capabilities, NodeId, Plan};

    fn watched(seen: &mut Observation, capabilities: &Capabilities, epochs: u32) -> View {
        let (mut watch, mut view) = (Watch::default(), View::default());
        for number in 1..=epochs {
            seen.time.0 = f64::from(number);
            let (number, plan) = (u64::from(number), &Plan::nothing("linux"));
            let (managed, outcome, first_id, undone) = (&*seen, None, None, &[][..]);
            view =
                watch.take(&Moment { number, capabilities, seen: managed, managed, plan, outcome, first_id, undone });
        }
        view
    }

    /// Four streaming programs of 2.6 GB/s with their pages on node 0 of two nodes. Two of the
    /// programs run on node 0.
    fn crowded() -> Observation {
        let stream = |pid: u32, cpu| {
            let mut thread = counted(pid, cpu, 25.0);
            thread.bandwidth = Some(Bandwidth(2.6e9));
            let mut one = process(pid, "stream", vec![thread]);
            one.pages = pages(&[100_000, 0]);
            one
        };
        let mut seen = seen("node:2 core:4", vec![stream(1, 0), stream(2, 1), stream(3, 4), stream(4, 5)]);
        seen.free = [(NodeId(0), Bytes(3 << 30)), (NodeId(1), Bytes(4 << 30))].into_iter().collect();
        seen
    }

    #[test]
    fn a_crowded_node_is_told_with_who_suffers_and_what_would_help() {
        let view = watched(&mut crowded(), &Capabilities::default(), 12);
        let load = view.nodes[0].load().unwrap();
        assert!((view.nodes[0].bandwidth.unwrap() / 1e9 - 10.4).abs() < 0.1 && load > 0.8, "{:?}", view.nodes[0]);
        assert_eq!((view.verdict.answer, view.nodes[0].load_history.len()), (Answer::Yes, 12));
        assert!(view.programs.iter().all(|one| one.slowdown.is_some_and(|slow| slow > 1.05)), "{:?}", view.programs);
        assert!(!view.proposed.as_ref().unwrap().moves.is_empty());
        let line = view.verdict.line();
        assert!(
            line.starts_with("Node 0's controller is at ") && line.contains("isobar would move stream ("),
            "{line}"
        );
        assert!(view.gaps.is_empty());
        let again = watched(&mut crowded(), &Capabilities::default(), 12);
        assert_eq!(again, view, "the same moments give the same view");
    }

    #[test]
    fn without_counters_there_are_dashes_with_their_reason() {
        let mut seen = crowded();
        for thread in seen.processes.iter_mut().flat_map(|process| &mut process.threads) {
            (thread.instructions, thread.cycles, thread.llc_misses, thread.bandwidth) = (None, None, None, None);
        }
        let mut capabilities = Capabilities::default();
        for sensor in [Sensor::Instructions, Sensor::LlcMisses] {
            capabilities.missing.insert(sensor, "no PMU in this VM".into());
        }
        let view = watched(&mut seen, &capabilities, 6);
        assert!(view.programs.iter().all(|one| one.ipc.is_none() && one.slowdown.is_none() && one.cpus == Some(1.0)));
        assert_eq!((view.nodes[0].bandwidth, view.nodes[0].busy, view.gaps.len()), (None, Some(0.5), 1));
        // Two of the four have all their pages on the other node.
        assert_eq!((view.verdict.answer, view.verdict.findings.len()), (Answer::Yes, 2));
        assert!(
            view.verdict.suffering.contains("100 % of its pages on nodes where it does not run"),
            "{:?}",
            view.verdict
        );
    }

    #[test]
    fn a_view_is_plain_data() {
        let mut seen = crowded();
        seen.processes[0].name = "evil\u{1b}[2J\"\u{202e}".into();
        let view = watched(&mut seen, &Capabilities::default(), 12);
        let document = serde_json::to_value(&view).unwrap();
        assert_eq!(document["programs"][0]["name"], "evil\u{1b}[2J\"\u{202e}");
        assert_eq!(
            (&document["verdict"]["answer"], &document["programs"][0]["class"]),
            (&"yes".into(), &"devil".into())
        );
        let line = view.verdict.line();
        assert!(!line.contains('\u{1b}') && !line.contains('\u{202e}'), "{line}");
    }
}
