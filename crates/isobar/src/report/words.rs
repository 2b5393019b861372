//! Describes machines, actions and outcomes in words. Names of processes are escaped here, once,
//! before they become part of a line.

use crate::text::{plain, plural, short};
use isobar_model::plan::{Action, NodeWeight, PageSelection};
use isobar_model::{
    ActionOutcome, Bytes, Capabilities, GroupPolicy, NodeId, Observation, Outcome, PageMove, Pages, Pid, Sensor, Tid,
    Topology,
};
use isobar_runtime::missing::{self, Missing};
use isobar_runtime::policies::beside_balancing;
use isobar_runtime::{Epoch, Start, Tally, Undone};

/// `2 nodes, 4 LLCs (L3, 8 MiB, 16 ways), 16 CPUs, 8 GiB`.
pub fn machine_in_words(machine: &Topology) -> String {
    let memory: Option<u64> = machine.nodes().iter().map(|node| node.memory.map(|bytes| bytes.0)).sum();
    let mut parts =
        vec![plural(machine.nodes().len(), "node"), llcs_in_words(machine), plural(machine.cpus().len(), "CPU")];
    parts.extend(memory.map(|bytes| Bytes(bytes).human()));
    parts.join(", ")
}

fn llcs_in_words(machine: &Topology) -> String {
    let Some(first) = machine.llcs().first() else { return "no known LLC".to_owned() };
    let mut details = vec![format!("L{}", first.level)];
    details.extend(first.size.map(Bytes::human));
    details.extend(first.ways.map(|ways| plural(ways.0, "way")));
    let alike =
        machine.llcs().iter().all(|llc| (llc.level, llc.size, llc.ways) == (first.level, first.size, first.ways));
    let details = if alike { details.join(", ") } else { "of several kinds".to_owned() };
    format!("{} ({details})", plural(machine.llcs().len(), "LLC"))
}

/// The facts about a run before it starts: what runs, and on which machine.
pub fn facts(start: &Start<'_>) -> Vec<String> {
    let limits = start.limits;
    let dry = if limits.dry_run { ", dry run: nothing is changed" } else { "" };
    let mut facts = vec![format!("policy {}, every {} s{dry}", start.policy, limits.interval.0)];
    facts.extend(start.groups.iter().map(|GroupPolicy { group, policy, .. }| format!("policy {policy} for {group}")));
    facts.extend([
        format!("machine: {}", machine_in_words(&start.sample.topology)),
        format!("measured: {}", measured(start)),
    ]);
    facts
}

/// What is missing, and other things to know before the first decision.
pub fn concerns(start: &Start<'_>) -> Vec<String> {
    let capabilities = &start.sample.capabilities;
    let mut lines = missing(capabilities);
    lines.extend(capabilities.remarks.iter().map(|remark| format!("remark: {remark}")));
    lines.extend(beside_balancing(start.policy, capabilities).map(|remark| format!("remark: {remark}")));
    lines.extend(start.recovered.map(str::to_owned));
    lines.extend(nowhere_to_move(capabilities));
    if !start.lacking.is_empty() {
        let sensors: Vec<Sensor> = start.lacking.iter().map(|(sensor, _)| *sensor).collect();
        let names = missing::names(&sensors).join(", ");
        let beside = if start.groups.is_empty() { "" } else { " with the policies of its groups" };
        lines.push(format!("policy {}{beside} only watches on this machine, because it needs {names}", start.policy));
    }
    lines
}

/// What is missing, one line for each reason, except what [`nowhere_to_move`] explains in plainer
/// words.
fn missing(capabilities: &Capabilities) -> Vec<String> {
    let places = |sensor: &Sensor| matches!(sensor, Sensor::SeveralNodes | Sensor::SeveralDomains);
    let others = capabilities.missing.iter().filter(|(sensor, _)| !places(sensor));
    missing::by_reason(others.map(|(sensor, why)| (*sensor, why.as_str()))).iter().map(Missing::line).collect()
}

fn measured(start: &Start<'_>) -> String {
    const BY_CAPABILITY: [Sensor; 3] = [Sensor::Instructions, Sensor::LlcMisses, Sensor::PagesByNode];
    let missing = &start.sample.capabilities.missing;
    let mut there = vec!["CPU time per thread".to_owned()];
    there.extend(BY_CAPABILITY.iter().filter(|sensor| !missing.contains_key(sensor)).map(ToString::to_string));
    there.extend(start.sample.latency.as_ref().map(|_| Sensor::Latency.to_string()));
    there.join(", ")
}

/// Says plainly that a machine has only one place for a thread or a page, if it has.
fn nowhere_to_move(capabilities: &Capabilities) -> Option<String> {
    let lacks = |sensor| capabilities.missing.contains_key(&sensor);
    let given = match (lacks(Sensor::SeveralDomains), lacks(Sensor::SeveralNodes)) {
        (true, true) => {
            "this machine has one memory domain (one node, one LLC): there is nowhere to move threads or pages to; \
             isobar shows what it can measure, and `--machine sim:FILE` shows a policy on a larger machine"
        }
        (true, false) => "all CPUs share one memory domain: pages can change their node, threads have nowhere to go",
        (false, true) => "this machine has one node: threads can change their LLC, pages have nowhere to go",
        (false, false) => return None,
    };
    Some(given.to_owned())
}

/// `on node 1`, or `on nodes 0, 1 in the ratio 60 : 40`.
pub(super) fn spread(node: NodeId, weights: &[NodeWeight]) -> String {
    if weights.len() < 2 {
        return format!("on node {node}");
    }
    let nodes: Vec<_> = weights.iter().map(|one| one.node.to_string()).collect();
    let ratio: Vec<_> = weights.iter().map(|one| one.weight.to_string()).collect();
    format!("on nodes {} in the ratio {}", nodes.join(", "), ratio.join(" : "))
}

/// An action without its reason: `move thread 12 of process 10 (mysqld) to cpu 3`.
pub fn action_in_words(action: &Action, seen: &Observation) -> String {
    match action {
        Action::MoveThread { pid, tid, cpu, cpus, .. } => {
            let thread = thread_named(*pid, *tid, seen);
            let among = cpus.as_ref().map(|cpus| format!(" among {cpus}")).unwrap_or_default();
            format!("move {thread} to cpu {cpu}{among}{}", place(*cpu, &seen.machine))
        }
        Action::MigratePages { pid, from, to, pages, select, .. } => {
            let pages = match select {
                PageSelection::AroundSamples => plural(pages.0, "page") + " around sampled addresses",
                PageSelection::Accessed => plural(pages.0, "accessed page"),
                PageSelection::ResidentSet => plural(pages.0, "resident page"),
            };
            format!("migrate up to {pages} of {} from node {from} to node {to}", named(*pid, seen))
        }
        Action::WithdrawPages { pid, from, to, .. } => {
            let leaving = from.map(|node| format!(" from node {node}")).unwrap_or_default();
            let going = to.map(|node| format!(" to node {node}")).unwrap_or_default();
            format!("withdraw the page migrations under way of {}{leaving}{going}", named(*pid, seen))
        }
        Action::SetWays { llc, cluster, threads, .. } if threads.is_empty() => {
            format!("remove cluster {} from llc {llc}", plain(cluster))
        }
        Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, .. } => {
            let share = memory_bandwidth_percent.map(|percent| format!(" and {percent} % of the memory bandwidth"));
            format!(
                "give {} of cluster {} the ways {way_mask:#x} of llc {llc}{}",
                plural(threads.len(), "thread"),
                plain(cluster),
                share.unwrap_or_default()
            )
        }
        Action::SetAllocation { pid, for_node, node, weights, .. } => {
            let whose = for_node.map(|node| format!(" from node {node}")).unwrap_or_default();
            format!("let {}{whose} allocate {}", named(*pid, seen), spread(*node, weights))
        }
    }
}

/// An action that was taken back on request.
pub fn undone(undone: &Undone, seen: &Observation) -> String {
    let (id, what) = (undone.id, action_in_words(&undone.action, seen));
    format!("#{id} is taken back: {what} [{}]", outcome_in_words(Some(&undone.outcome)))
}

fn place(cpu: isobar_model::CpuId, machine: &Topology) -> String {
    let node = machine.node_of(cpu).map(|node| format!("node {node}"));
    let llc = machine.llc_of(cpu).map(|llc| format!("llc {llc}"));
    let parts: Vec<String> = node.into_iter().chain(llc).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn named(pid: Pid, seen: &Observation) -> String {
    format!("process {pid}{}", name_of(pid, seen))
}

/// Names a thread. The thread whose id is that of its process is named by that id alone, because
/// most people see it as a program with one thread.
fn thread_named(pid: Pid, tid: Tid, seen: &Observation) -> String {
    if pid.0 == tid.0 {
        format!("thread {tid}{}", name_of(pid, seen))
    } else {
        format!("thread {tid} of {}", named(pid, seen))
    }
}

fn name_of(pid: Pid, seen: &Observation) -> String {
    bare_name(pid, seen).map_or_else(String::new, |name| format!(" ({name})"))
}

/// The name of a process, if the process was seen, cut to the length that fits into a line.
pub fn bare_name(pid: Pid, seen: &Observation) -> Option<String> {
    seen.process(pid).map(|process| short(&process.name, 32))
}

/// The result of an action: `done`, `12 of 40 pages moved (28 busy)`, `refused (errno 1)`; in a dry
/// run that it was not done.
pub fn outcome_in_words(outcome: Option<&ActionOutcome>) -> String {
    match outcome {
        None => "not done: dry run".to_owned(),
        Some(ActionOutcome::Done) => "done".to_owned(),
        Some(ActionOutcome::Vanished) => "gone meanwhile".to_owned(),
        Some(ActionOutcome::LeftAlone { why }) => format!("left alone: {why}"),
        Some(ActionOutcome::Refused { errno: Some(errno), .. }) => format!("refused, errno {errno}"),
        Some(ActionOutcome::Refused { errno: None, why }) => format!("refused: {why}"),
        Some(ActionOutcome::Pages { moved, stayed }) => {
            format!("{} moved{}", plural(moved.0, "page"), reasons(stayed))
        }
        Some(ActionOutcome::Queued { pages, stayed, .. }) => {
            format!("{} under way{}", plural(pages.0, "page"), reasons(stayed))
        }
    }
}

/// Why pages stayed, in parentheses; empty if none did.
fn reasons(stayed: &[(String, Pages)]) -> String {
    let stayed: Vec<String> = stayed.iter().map(|(why, pages)| format!("{pages} stayed: {why}")).collect();
    if stayed.is_empty() { String::new() } else { format!(" ({})", stayed.join(", ")) }
}

/// A page migration that has ended: `pages of process 10 (mcf) from node 0 to node 1 after 0.8 s:
/// 4096 pages moved`.
pub fn arrival(flight: &PageMove, seen: &Observation) -> String {
    let PageMove { pid, from, to, age, outcome, .. } = flight;
    let became = outcome_in_words(Some(outcome));
    format!("pages of {} from node {from} to node {to} after {:.1} s: {became}", named(*pid, seen), age.0)
}

/// The page migrations under way, and their progress; `None` if there are none.
pub fn under_way(seen: &Observation) -> Option<String> {
    let flights: Vec<&PageMove> = seen.in_flight().collect();
    let first = flights.first()?;
    let sum = |of: fn(&PageMove) -> u64| flights.iter().map(|flight| of(flight)).sum::<u64>();
    let others = match flights.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", plural(more, "other migration")),
    };
    let PageMove { pid, from, to, .. } = first;
    Some(format!(
        "under way: {} of {} moved ({} from node {from} to node {to}{others})",
        sum(|flight| flight.moved().0),
        plural(sum(|flight| flight.pages.0), "page"),
        named(*pid, seen),
    ))
}

/// The summary of a run, one line each.
pub fn summary(tally: &Tally, dry_run: bool) -> Vec<String> {
    let done = if dry_run {
        "nothing changed (dry run)".to_owned()
    } else {
        format!("{} moved, {} migrated", plural(tally.moves, "thread"), plural(tally.pages.0, "page"))
    };
    let (epochs, actions) = (plural(tally.epochs, "epoch"), plural(tally.planned, "action"));
    let mut lines = vec![format!("{epochs}, {actions} decided, {done}")];
    lines.extend(tally.stayed.iter().map(|(why, pages)| format!("{} stayed: {why}", plural(*pages, "page"))));
    lines.extend(
        (tally.vanished > 0)
            .then(|| format!("came too late {}: the thread or page was gone", plural(tally.vanished, "time"))),
    );
    lines.extend(tally.left_alone.iter().map(|(why, times)| format!("left alone {}: {why}", plural(*times, "time"))));
    lines.extend(tally.refused.iter().map(|(errno, (times, why))| {
        let errno = errno.map_or(String::new(), |errno| format!(" (errno {errno})"));
        format!("refused {}{errno}: {why}", plural(*times, "time"))
    }));
    lines.extend(tally.restored.as_ref().map(restored_in_words));
    lines.extend(own_cost(tally));
    lines
}

/// The CPU time of isobar itself, to compare with its budget (docs/design/sensors.md).
fn own_cost(tally: &Tally) -> Option<String> {
    let (seconds, percent) = (tally.own_cpu?.0, tally.own_cpu_percent()?);
    Some(format!("isobar itself took {seconds:.2} s of CPU time, {percent:.2} % of one CPU"))
}

fn restored_in_words(outcome: &Outcome) -> String {
    let kept = |wanted: fn(&ActionOutcome) -> bool| outcome.actions.iter().filter(|action| wanted(action)).count();
    let gone = kept(|action| *action == ActionOutcome::Vanished);
    let back = outcome.effective();
    let other = outcome.actions.len().saturating_sub(gone + back);
    match (back, gone, other) {
        (0, 0, 0) => "nothing was left to put back".to_owned(),
        (_, 0, 0) => format!("put back: {}", plural(back, "change")),
        _ => format!("put back: {}; gone meanwhile: {gone}; left as they are: {other}", plural(back, "change")),
    }
}

/// The patterns of `--only` that match no process, one line each.
pub fn unmatched(epoch: &Epoch<'_>) -> Vec<String> {
    epoch.unmatched.iter().flatten().map(|pattern| format!("no process matches --only {pattern}")).collect()
}
