//! Turns the actions of an epoch into lines: one for each action while there are few, and one for
//! each program and reason if there are many. Programs find every action in the JSON; for a person,
//! this describes what the policy did.

use super::kind::kind;
use super::rate::Kind;
use super::words::{action_in_words, bare_name, outcome_in_words, spread};
use crate::text::{plural, some_of};
use isobar_model::text::ranges;
use isobar_model::{Action, ActionOutcome, CpuId, CpuSet, NodeId, Observation, PageSelection, Pages, Pid};
use isobar_runtime::Epoch;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of actions of one kind in an epoch that get lines of their own.
const HANDFUL: usize = 8;

/// Maximum number of things named in one line.
const NAMED: usize = 3;

/// The lines of an epoch, each with its kind. If `each` is set, every action has a line of its own.
pub fn lines(epoch: &Epoch<'_>, each: bool) -> Vec<(Kind, String)> {
    let actions = &epoch.plan.actions;
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    actions.iter().for_each(|action| *counts.entry(about(action)).or_default() += 1);
    let many = |action: &Action| !each && counts[&about(action)] > HANDFUL && about(action) != Kind::Ways;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut places: BTreeMap<Key, usize> = BTreeMap::new();
    for (index, action) in actions.iter().enumerate() {
        let place = if many(action) { *places.entry(key(action, epoch)).or_insert(groups.len()) } else { groups.len() };
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(index);
    }
    groups.iter().map(|group| (about(&actions[group[0]]), format!("  {}", line(group, epoch)))).collect()
}

/// The kind of line for an action.
pub const fn about(action: &Action) -> Kind {
    match action {
        Action::MoveThread { .. } => Kind::Move,
        Action::MigratePages { .. } | Action::WithdrawPages { .. } => Kind::Pages,
        Action::SetWays { .. } => Kind::Ways,
        Action::SetAllocation { .. } => Kind::Allocation,
    }
}

/// What the actions in one line have in common: kind, program, reason except for its figures, the
/// node whose pages or threads are concerned, and where the pages go.
type Key = (Kind, String, String, Option<NodeId>, String);

fn key(action: &Action, epoch: &Epoch<'_>) -> Key {
    let (from, to) = match action {
        Action::MigratePages { from, to, .. } => (Some(*from), to.to_string()),
        // Withdrawn pages get a line of their own, apart from requested migrations.
        Action::WithdrawPages { from, to, .. } => (*from, to.map_or("any".to_owned(), |to| format!("{to}, withdrawn"))),
        Action::SetAllocation { for_node, node, weights, .. } => (*for_node, spread(*node, weights)),
        Action::MoveThread { .. } | Action::SetWays { .. } => (None, String::new()),
    };
    let name = pid_of(action).and_then(|pid| bare_name(pid, epoch.managed)).unwrap_or_default();
    (about(action), name, kind(action.reason()), from, to)
}

const fn pid_of(action: &Action) -> Option<Pid> {
    match action {
        Action::MoveThread { pid, .. }
        | Action::MigratePages { pid, .. }
        | Action::WithdrawPages { pid, .. }
        | Action::SetAllocation { pid, .. } => Some(*pid),
        Action::SetWays { .. } => None,
    }
}

fn line(group: &[usize], epoch: &Epoch<'_>) -> String {
    let actions: Vec<&Action> = group.iter().map(|index| &epoch.plan.actions[*index]).collect();
    let outcomes: Vec<Option<&ActionOutcome>> =
        group.iter().map(|index| epoch.outcome.and_then(|outcome| outcome.actions.get(*index))).collect();
    let first = actions[0];
    if actions.len() == 1 {
        return format!(
            "{}{}: {} [{}]",
            numbers(group, epoch),
            action_in_words(first, epoch.managed),
            first.reason(),
            outcome_in_words(outcomes[0])
        );
    }
    let alike = actions.iter().all(|action| action.reason() == first.reason());
    let such_as = if alike { "" } else { "such as " };
    let (numbers, what) = (numbers(group, epoch), what(&actions, epoch.managed));
    format!("{numbers}{what}: {such_as}{} [{}]", first.reason(), became(&outcomes))
}

/// The numbers by which actions can be taken back: `#12 `, `#12-40 `; empty in a dry run.
fn numbers(group: &[usize], epoch: &Epoch<'_>) -> String {
    let Some(first) = epoch.first_id else { return String::new() };
    let number = |index: usize| first.0 + u64::try_from(index).unwrap_or(u64::MAX);
    let all = group.iter().map(|index| u32::try_from(number(*index)).unwrap_or(u32::MAX));
    format!("#{} ", ranges(all))
}

/// Several actions of one kind for one program: `move 37 threads of mcf (processes 10, 11, 12 and 4
/// more) to cpus 0-3 (node 0)`.
fn what(actions: &[&Action], seen: &Observation) -> String {
    let of = program(actions, seen);
    match actions[0] {
        Action::MigratePages { from, to, select, .. } => {
            let which = match select {
                PageSelection::AroundSamples => "around sampled addresses",
                PageSelection::Accessed => "that were accessed",
                PageSelection::ResidentSet => "of resident sets",
            };
            let pages = actions.iter().map(|action| pages_of(action)).sum::<u64>();
            format!("migrate up to {} {which} of {of} from node {from} to node {to}", plural(pages, "page"))
        }
        Action::WithdrawPages { .. } => format!("withdraw the page migrations under way of {of}"),
        Action::SetAllocation { for_node, node, weights, .. } => {
            let whose = for_node.map(|node| format!(" from node {node}")).unwrap_or_default();
            format!("let {of}{whose} allocate {}", spread(*node, weights))
        }
        Action::MoveThread { .. } | Action::SetWays { .. } => {
            format!("move {} of {of} to {}", plural(actions.len(), "thread"), places(actions, seen))
        }
    }
}

const fn pages_of(action: &Action) -> u64 {
    match action {
        Action::MigratePages { pages, .. } => pages.0,
        _ => 0,
    }
}

fn program(actions: &[&Action], seen: &Observation) -> String {
    let pids: BTreeSet<Pid> = actions.iter().filter_map(|action| pid_of(action)).collect();
    let noun = if pids.len() == 1 { "process" } else { "processes" };
    let pids_named = format!("{noun} {}", listed(&pids));
    match pids.first().and_then(|pid| bare_name(*pid, seen)) {
        Some(name) => format!("{name} ({pids_named})"),
        None => pids_named,
    }
}

fn listed<T: ToString>(all: &BTreeSet<T>) -> String {
    some_of(&all.iter().map(ToString::to_string).collect::<Vec<_>>(), NAMED)
}

fn places(actions: &[&Action], seen: &Observation) -> String {
    let cpu = |action: &&Action| match action {
        Action::MoveThread { cpu, .. } => Some(*cpu),
        _ => None,
    };
    let cpus: BTreeSet<CpuId> = actions.iter().filter_map(cpu).collect();
    let nodes: BTreeSet<NodeId> = cpus.iter().filter_map(|cpu| seen.machine.node_of(*cpu)).collect();
    let plural = |number: usize, noun: &str| if number == 1 { noun.to_owned() } else { format!("{noun}s") };
    let (on, of) = (plural(cpus.len(), "cpu"), plural(nodes.len(), "node"));
    format!("{on} {} ({of} {})", cpus.iter().copied().collect::<CpuSet>(), listed(&nodes))
}

/// The results of several actions: `35 done, 2 refused, errno 1`.
fn became(outcomes: &[Option<&ActionOutcome>]) -> String {
    let mut pages: Option<(u64, BTreeMap<String, u64>)> = None;
    let mut queued: Option<u64> = None;
    let mut others: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for outcome in outcomes {
        match outcome {
            Some(
                ActionOutcome::Pages { moved: count, stayed } | ActionOutcome::Queued { pages: count, stayed, .. },
            ) => {
                let (all, why) = pages.get_or_insert_default();
                stayed.iter().for_each(|(reason, pages)| *why.entry(reason.clone()).or_default() += pages.0);
                match outcome {
                    Some(ActionOutcome::Queued { .. }) => *queued.get_or_insert_default() += count.0,
                    _ => *all += count.0,
                }
            }
            _ => {
                let words = outcome_in_words(*outcome);
                others.entry(kind(&words)).or_insert((0, words)).0 += 1;
            }
        }
    }
    let pages = pages.map(|(moved, stayed)| {
        let stayed = stayed.into_iter().map(|(why, pages)| (why, Pages(pages))).collect();
        match queued {
            // A plan's migrations are all under way, or all queued.
            Some(pages) => {
                let pages = Pages(pages + moved);
                outcome_in_words(Some(&ActionOutcome::Queued { number: 0, pages, stayed }))
            }
            None => outcome_in_words(Some(&ActionOutcome::Pages { moved: Pages(moved), stayed })),
        }
    });
    let alone = pages.is_none() && others.len() == 1;
    let others = others.into_values().map(|(times, words)| if alone { words } else { format!("{times} {words}") });
    pages.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
#[path = "sums_tests.rs"]
mod tests;
