//! What was decided about each program, in words, with its prediction and its outcome. Actions of
//! one epoch on one program are shown as one decision.

use crate::changes::{ActionView, LastAction, Measured};
use crate::moment::Moment;
use crate::words;
use isobar_model::text::{plain, ranges};
use isobar_model::{Action, ActionId, ActionOutcome, CpuId, Effect, NodeId, Observation, Pages, Pid, Tid, Topology};
use std::collections::BTreeMap;

/// The last decision about each program.
#[derive(Clone, Debug, Default)]
pub struct Decisions(BTreeMap<Pid, LastAction>);

impl Decisions {
    /// Adds an epoch.
    pub fn take(&mut self, moment: &Moment<'_>) {
        self.0.retain(|pid, _| moment.seen.process(*pid).is_some());
        // In a dry run nothing was changed, so the effect that a policy measured is not one of its
        // plan.
        if moment.outcome.is_some() {
            moment.plan.effects.iter().for_each(|effect| self.came_of_it(effect));
        }
        self.take_back(moment.undone);
        for (pid, indices) in by_program(moment) {
            self.0.insert(pid, decision(moment, pid, &indices));
        }
    }

    /// The last decision about a program.
    pub fn of(&self, pid: Pid) -> Option<&LastAction> {
        self.0.get(&pid)
    }

    /// The newest decision that was carried out, with its program.
    pub fn newest(&self) -> Option<(Pid, &LastAction)> {
        let done = self.0.iter().filter(|(_, last)| last.done);
        done.max_by(|a, b| a.1.time_seconds.total_cmp(&b.1.time_seconds).then(b.0.cmp(a.0)))
            .map(|(pid, last)| (*pid, last))
    }

    /// Marks what was taken back by hand.
    fn take_back(&mut self, undone: &[ActionId]) {
        for last in self.0.values_mut().filter(|last| last.ids.iter().any(|id| undone.contains(id))) {
            last.ids.retain(|id| !undone.contains(id));
            last.taken_back = last.ids.is_empty();
            let what = if last.taken_back { "taken back by hand" } else { "taken back in part by hand" };
            what.clone_into(&mut last.became);
        }
    }

    fn came_of_it(&mut self, effect: &Effect) {
        for (pid, last) in self.0.iter_mut().filter(|(_, last)| last.change == Some(effect.change)) {
            let gain = effect.programs.iter().find(|one| one.pid == *pid).map(|one| one.gain);
            let Effect { measured: sum, error, disturbed, kept, .. } = *effect;
            last.measured = Some(Measured { gain, sum, error, disturbed, kept });
        }
    }
}

fn by_program(moment: &Moment<'_>) -> BTreeMap<Pid, Vec<usize>> {
    let mut found: BTreeMap<Pid, Vec<usize>> = BTreeMap::new();
    for (index, action) in moment.plan.actions.iter().enumerate() {
        for pid in programs_of(action, moment.seen) {
            found.entry(pid).or_default().push(index);
        }
    }
    found
}

fn decision(moment: &Moment<'_>, pid: Pid, indices: &[usize]) -> LastAction {
    let actions: Vec<&Action> = indices.iter().map(|index| &moment.plan.actions[*index]).collect();
    let outcomes: Vec<&ActionOutcome> =
        indices.iter().filter_map(|index| moment.outcome?.actions.get(*index)).collect();
    let prediction = moment.plan.predictions.iter().find(|one| one.actions.iter().any(|index| indices.contains(index)));
    let first = moment.first_id.map_or(0, |first| first.0);
    let effective = indices.iter().filter(|index| {
        moment.outcome.is_some_and(|outcome| outcome.actions.get(**index).is_some_and(ActionOutcome::is_effective))
    });
    LastAction {
        ids: effective
            .map(|index| ActionId(first + u64::try_from(*index).unwrap_or(0)))
            .filter(|_| first > 0)
            .collect(),
        taken_back: false,
        time_seconds: moment.seen.time.0,
        policy: moment.plan.policy.clone(),
        words: together(&actions, moment.seen),
        reason: actions.first().map_or_else(String::new, |action| plain(action.reason()).into_owned()),
        became: became(moment.outcome.is_some(), &outcomes),
        done: outcomes.iter().any(|outcome| outcome.is_effective()),
        change: prediction.map(|one| one.change),
        predicted: prediction.and_then(|one| one.programs.iter().find(|gain| gain.pid == pid)).map(|gain| gain.gain),
        measured: None,
    }
}

/// The plan, action by action. Threads of one process that go to the same node are one entry.
pub fn listed(moment: &Moment<'_>) -> Vec<ActionView> {
    let mut groups: Vec<(Vec<Pid>, Vec<usize>)> = Vec::new();
    for (index, action) in moment.plan.actions.iter().enumerate() {
        let programs = programs_of(action, moment.seen);
        let same = |group: &&mut (Vec<Pid>, Vec<usize>)| {
            let first = &moment.plan.actions[group.1[0]];
            group.0 == programs && first.reason() == action.reason() && is_move(first) && is_move(action)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.1.push(index),
            None => groups.push((programs, vec![index])),
        }
    }
    let one = |(programs, indices): (Vec<Pid>, Vec<usize>)| {
        let actions: Vec<&Action> = indices.iter().map(|index| &moment.plan.actions[*index]).collect();
        let outcomes: Vec<_> = indices.iter().filter_map(|index| moment.outcome?.actions.get(*index)).collect();
        ActionView {
            programs,
            words: together(&actions, moment.seen),
            reason: actions.first().map_or_else(String::new, |action| plain(action.reason()).into_owned()),
            became: became(moment.outcome.is_some(), &outcomes),
        }
    };
    groups.into_iter().map(one).collect()
}

const fn is_move(action: &Action) -> bool {
    matches!(action, Action::MoveThread { .. })
}

fn programs_of(action: &Action, seen: &Observation) -> Vec<Pid> {
    match action {
        Action::MoveThread { pid, .. }
        | Action::MigratePages { pid, .. }
        | Action::WithdrawPages { pid, .. }
        | Action::SetAllocation { pid, .. } => vec![*pid],
        Action::SetWays { threads, .. } => owners(threads, seen),
    }
}

fn owners(threads: &[Tid], seen: &Observation) -> Vec<Pid> {
    let has = |process: &&isobar_model::Process| process.threads.iter().any(|thread| threads.contains(&thread.tid));
    seen.processes.iter().filter(has).map(|process| process.pid).collect()
}

/// `2 threads to node 1, 4096 pages 0 -> 1`.
fn together(actions: &[&Action], seen: &Observation) -> String {
    let mut moved: BTreeMap<Option<NodeId>, Vec<CpuId>> = BTreeMap::new();
    let mut copied: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    let mut parts = Vec::new();
    for action in actions {
        match action {
            Action::MoveThread { cpu, .. } => moved.entry(seen.machine.node_of(*cpu)).or_default().push(*cpu),
            Action::MigratePages { from, to, pages, .. } => *copied.entry((*from, *to)).or_default() += pages.0,
            other => parts.push(alone(other)),
        }
    }
    let threads = moved.into_iter().map(|(node, cpus)| went(node, &cpus, &seen.machine));
    let pages = copied.into_iter().map(|((from, to), count)| format!("{} {from} -> {to}", words::pages(Pages(count))));
    threads.chain(pages).chain(parts).collect::<Vec<_>>().join(", ")
}

fn went(node: Option<NodeId>, cpus: &[CpuId], machine: &Topology) -> String {
    let mut numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let llc = cpus.first().and_then(|cpu| machine.llc_of(*cpu));
    let several = node.is_some_and(|node| machine.llcs_of_node(node).len() > 1);
    let llc = llc.filter(|_| several).map(|llc| format!(", llc {llc}")).unwrap_or_default();
    let place = node.map(|node| format!(" (node {node}{llc})")).unwrap_or_default();
    let who = if cpus.len() == 1 { String::new() } else { format!("{} ", words::plural(cpus.len(), "thread")) };
    format!("{who}to CPU {}{place}", ranges(numbers))
}

fn alone(action: &Action) -> String {
    match action {
        Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, .. } => {
            let share = memory_bandwidth_percent.map(|percent| format!(", {percent} % of the bandwidth"));
            let ways = words::plural(usize::try_from(way_mask.count_ones()).unwrap_or(0), "way");
            format!("{ways} ({way_mask:#x}) of llc {llc} as {}{}", words::name(cluster), share.unwrap_or_default())
        }
        Action::SetAllocation { node, weights, .. } if weights.len() < 2 => format!("new pages on node {node}"),
        Action::SetAllocation { weights, .. } => {
            let spread: Vec<String> = weights.iter().map(|one| format!("{}:{}", one.node, one.weight)).collect();
            format!("new pages over nodes {}", spread.join(" "))
        }
        Action::WithdrawPages { .. } => "pages under way are withdrawn".to_owned(),
        Action::MoveThread { .. } | Action::MigratePages { .. } => String::new(),
    }
}

/// The outcome of several actions: the first one that was not simply done stands for all.
fn became(acted: bool, outcomes: &[&ActionOutcome]) -> String {
    if !acted {
        return "not done: dry run".to_owned();
    }
    let other = outcomes.iter().find(|outcome| !matches!(outcome, ActionOutcome::Done));
    match other {
        None => "done".to_owned(),
        Some(ActionOutcome::Pages { moved, .. }) => format!("{} moved", words::pages(*moved)),
        Some(ActionOutcome::Queued { pages, .. }) => format!("{} under way", words::pages(*pages)),
        Some(ActionOutcome::Vanished) => "gone meanwhile".to_owned(),
        Some(ActionOutcome::Refused { why, .. }) => format!("refused: {}", plain(why)),
        Some(ActionOutcome::LeftAlone { why }) => format!("left alone: {}", plain(why)),
        Some(ActionOutcome::Done) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{process, seen, thread};
    use isobar_model::{Capabilities, Gain, Outcome, PageSelection, Plan, Prediction};

    fn to_cpu(tid: u32, cpu: u32) -> Action {
        Action::MoveThread { pid: Pid(1), tid: Tid(tid), cpu: CpuId(cpu), cpus: None, reason: "room \u{1b}[2J".into() }
    }

    fn pages(count: u64) -> Action {
        let (from, to, reason) = (NodeId(0), NodeId(1), "after it".to_owned());
        Action::MigratePages {
            pid: Pid(1),
            from,
            to,
            pages: Pages(count),
            select: PageSelection::ResidentSet,
            for_thread: None,
            reason,
        }
    }

    fn taken(decisions: &mut Decisions, plan: &Plan, outcome: Option<&Outcome>) {
        let seen = seen("node:2 core:4", vec![process(1, "a", vec![thread(1, 0), thread(2, 1)])]);
        let capabilities = &Capabilities::default();
        let first_id = outcome.map(|_| ActionId(5));
        let undone = &[];
        decisions.take(&Moment {
            number: 1,
            capabilities,
            seen: &seen,
            managed: &seen,
            plan,
            outcome,
            first_id,
            undone,
        });
    }

    #[test]
    fn actions_on_a_program_are_one_decision_with_what_came_of_it() {
        let prediction = Prediction {
            change: 7,
            actions: vec![0, 1, 2],
            gain: 0.3,
            programs: vec![Gain { pid: Pid(1), gain: 0.12 }],
        };
        let actions = vec![to_cpu(1, 4), to_cpu(2, 5), pages(4096)];
        let plan = Plan { actions, predictions: vec![prediction], ..Plan::nothing("isobar") };
        let outcome = Outcome {
            actions: vec![
                ActionOutcome::Done,
                ActionOutcome::Done,
                ActionOutcome::Pages { moved: Pages(4000), stayed: vec![] },
            ],
        };
        let mut decisions = Decisions::default();
        taken(&mut decisions, &plan, Some(&outcome));
        let last = decisions.of(Pid(1)).unwrap().clone();
        assert_eq!(last.words, "2 threads to CPU 4-5 (node 1), 4096 pages (16 MiB) 0 -> 1");
        assert_eq!(
            (last.became.as_str(), last.done, last.predicted),
            ("4000 pages (15.6 MiB) moved", true, Some(0.12))
        );
        assert_eq!(last.reason, "room \\u{1b}[2J");
        let effect = Effect {
            change: 7,
            predicted: 0.3,
            measured: 0.2,
            error: 0.01,
            disturbed: false,
            kept: true,
            programs: vec![Gain { pid: Pid(1), gain: 0.1 }],
        };
        let plan = Plan { effects: vec![effect], ..Plan::nothing("isobar") };
        taken(&mut decisions, &plan, Some(&Outcome::default()));
        let measured = decisions.of(Pid(1)).unwrap().measured.unwrap();
        assert_eq!((measured.gain, measured.sum, measured.kept), (Some(0.1), 0.2, true));
        assert_eq!(decisions.newest().unwrap().0, Pid(1));
        assert_eq!(last.ids, [5, 6, 7].map(ActionId));
        decisions.take_back(&[ActionId(6)]);
        let part = decisions.of(Pid(1)).unwrap().clone();
        assert_eq!((part.ids, part.taken_back), ([5, 7].map(ActionId).to_vec(), false));
        decisions.take_back(&[ActionId(5), ActionId(7)]);
        let all = decisions.of(Pid(1)).unwrap();
        assert_eq!((all.became.as_str(), all.taken_back, all.ids.len()), ("taken back by hand", true, 0));
    }

    #[test]
    fn a_dry_run_did_nothing() {
        let plan = Plan { actions: vec![to_cpu(1, 4), to_cpu(2, 5)], ..Plan::nothing("dino") };
        let mut decisions = Decisions::default();
        taken(&mut decisions, &plan, None);
        let last = decisions.of(Pid(1)).unwrap();
        assert_eq!((last.done, last.became.as_str()), (false, "not done: dry run"));
        assert!(decisions.newest().is_none());
        let seen = seen("node:2 core:4", vec![process(1, "a", vec![thread(1, 0)])]);
        let capabilities = &Capabilities::default();
        let (outcome, first_id, undone) = (None, None, &[][..]);
        let list = listed(&Moment {
            number: 1,
            capabilities,
            seen: &seen,
            managed: &seen,
            plan: &plan,
            outcome,
            first_id,
            undone,
        });
        assert_eq!(list.len(), 1, "{list:?}");
    }
}
