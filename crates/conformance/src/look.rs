//! How assertions observe a stage: places to use, samples after an epoch, one subject in a sample,
//! and where pages went.

use crate::bench::{Bench, Identity, Stage, Subject};
use crate::verdict::{Stop, ensure};
use isobar_model::{
    Action, ActionOutcome, CpuId, CpuSet, Machine, NodeId, NodeMap, PageMove, PageSelection, Pages, Pid, Plan,
    ProcessSample, Sample, Seconds, ThreadSample, Tid,
};
use std::collections::BTreeMap;

/// Epochs to wait before giving up. Machines under load are slow, so the limit is generous; an
/// assertion that holds ends at once.
const PATIENCE: usize = 60;

/// The first `needs` nodes with CPUs that subjects may use.
pub fn nodes<B: Bench>(bench: &B, needs: usize) -> Result<Vec<NodeId>, Stop> {
    let (topology, cpus) = (bench.topology()?, bench.cpus()?);
    let usable = |node: &NodeId| topology.cpus().iter().any(|cpu| cpu.node == Some(*node) && cpus.contains(cpu.id));
    let has_memory = topology.nodes().iter().filter(|node| node.memory.is_none_or(|memory| memory.0 > 0));
    let nodes: Vec<_> = has_memory.map(|node| node.id).filter(usable).collect();
    if nodes.len() < needs {
        let has = nodes.len();
        return Err(Stop::Lacks(format!("needs {needs} nodes with CPUs and memory, this machine has {has}")));
    }
    Ok(nodes)
}

/// A node for subjects whose place does not matter.
pub fn home<B: Bench>(bench: &B) -> Result<NodeId, Stop> {
    Ok(nodes(bench, 1)?[0])
}

/// The node that pages leave, and the node that they go to: the first node, and the last but one if
/// there are at least three, so that the source is not a neighbour of the target.
pub fn two_nodes<B: Bench>(bench: &B) -> Result<(NodeId, NodeId), Stop> {
    let nodes = nodes(bench, 2)?;
    let target = if nodes.len() > 2 { nodes.len() - 2 } else { nodes.len() - 1 };
    Ok((nodes[0], nodes[target]))
}

/// Two CPUs as far apart as possible: the first and the last.
pub fn two_cpus<B: Bench>(bench: &B) -> Result<(CpuId, CpuId), Stop> {
    let cpus: Vec<_> = bench.cpus()?.iter().collect();
    match cpus[..] {
        [first, .., last] => Ok((first, last)),
        _ => Err(Stop::Lacks(format!("needs 2 CPUs that programs may use, this machine has {}", cpus.len()))),
    }
}

/// A machine with one subject.
pub fn with_one<B: Bench>(bench: &B, subject: Subject) -> Result<(B::Stage, Identity), Stop> {
    let mut stage = bench.open(&[subject])?;
    let who = stage.identity(0)?;
    Ok((stage, who))
}

/// The set of one CPU.
pub fn only(cpu: CpuId) -> CpuSet {
    [cpu].into_iter().collect()
}

/// A sample taken now.
pub fn sample<S: Stage>(stage: &mut S) -> Result<Sample, Stop> {
    Ok(stage.machine().sample()?)
}

/// The sample after one epoch, taken as the loop of `manage` takes it.
pub fn next_sample<S: Stage>(stage: &mut S) -> Result<Sample, Stop> {
    let epoch = stage.epoch();
    stage.machine().wait(epoch)?;
    sample(stage)
}

/// Takes samples, one an epoch, until something is found in one.
pub fn eventually<S: Stage, T>(
    stage: &mut S,
    what: &str,
    mut find: impl FnMut(&mut S, &Sample) -> Option<T>,
) -> Result<T, Stop> {
    for _ in 0..PATIENCE {
        let sample = next_sample(stage)?;
        if let Some(found) = find(stage, &sample) {
            return Ok(found);
        }
    }
    Err(Stop::Fails(format!("{what}: not in {PATIENCE} epochs")))
}

/// A process in a sample.
pub fn process(sample: &Sample, pid: Pid) -> Result<&ProcessSample, Stop> {
    let found = sample.processes.iter().find(|process| process.pid == pid);
    found.ok_or_else(|| Stop::Fails(format!("process {pid} is not in the sample")))
}

/// A thread in a sample.
pub fn thread(sample: &Sample, pid: Pid, tid: Tid) -> Result<&ThreadSample, Stop> {
    let found = process(sample, pid)?.threads.iter().find(|thread| thread.tid == tid);
    found.ok_or_else(|| Stop::Fails(format!("thread {tid} of process {pid} is not in the sample")))
}

/// What the sample shows of each working thread: the CPUs that its owner wants, and whether the
/// owner narrowed them.
pub fn wishes(sample: &Sample, who: &Identity) -> Result<Vec<(Option<CpuSet>, bool)>, Stop> {
    let wish = |tid: &Tid| thread(sample, who.pid, *tid).map(|thread| (thread.allowed.clone(), thread.pinned));
    who.threads.iter().map(wish).collect()
}

/// The affinities of the working threads, from the other witness.
pub fn affinities<S: Stage>(stage: &mut S, who: &Identity) -> Vec<Option<CpuSet>> {
    who.threads.iter().map(|tid| stage.affinity(who.pid, *tid)).collect()
}

/// The pages of a process on a node, from a sample; a node that is not listed has none.
pub fn pages_on(pages: &NodeMap<Pages>, node: NodeId) -> u64 {
    pages.get(node).map_or(0, |pages| pages.0)
}

/// The pages that a machine reports for a subject, once it has read them: now, or after some
/// epochs.
pub fn pages_seen<S: Stage>(stage: &mut S, pid: Pid) -> Result<NodeMap<Pages>, Stop> {
    let pages = |sample: &Sample| Some(held(process(sample, pid).ok()?.pages.as_ref()?));
    if let Some(pages) = pages(&sample(stage)?) {
        return Ok(pages);
    }
    eventually(stage, "the pages of a busy process are measured", |_, sample| pages(sample))
}

/// Only the nodes that have pages, since a node that is not listed has none.
pub fn held(pages: &NodeMap<Pages>) -> NodeMap<Pages> {
    pages.iter().filter(|(_, pages)| pages.0 > 0).map(|(node, pages)| (node, *pages)).collect()
}

/// Binds a thread to a CPU.
pub fn move_thread(pid: Pid, tid: Tid, cpu: CpuId) -> Action {
    Action::MoveThread { pid, tid, cpu, cpus: None, reason: "conformance".to_owned() }
}

/// Moves a thread to a CPU, and lets the kernel balance it among several CPUs from then on.
pub fn move_among(pid: Pid, tid: Tid, cpu: CpuId, cpus: &CpuSet) -> Action {
    Action::MoveThread { pid, tid, cpu, cpus: Some(cpus.clone()), reason: "conformance".to_owned() }
}

/// Moves any resident pages of a process.
pub fn migrate(pid: Pid, from: NodeId, to: NodeId, pages: u64) -> Action {
    let (pages, select) = (Pages(pages), PageSelection::ResidentSet);
    Action::MigratePages { pid, from, to, pages, select, for_thread: None, reason: "conformance".to_owned() }
}

/// Withdraws the pages of a process that are still under way to a node.
pub fn withdraw(pid: Pid, to: NodeId) -> Action {
    Action::WithdrawPages { pid, from: None, to: Some(to), reason: "conformance".to_owned() }
}

/// Carries out actions; returns one outcome for each.
pub fn apply<S: Stage>(stage: &mut S, actions: &[Action]) -> Result<Vec<ActionOutcome>, Stop> {
    let plan = Plan { actions: actions.to_vec(), ..Plan::nothing("conformance") };
    let outcomes = stage.machine().apply(&plan)?.actions;
    ensure!(outcomes.len() == actions.len(), "{} actions have {} outcomes", actions.len(), outcomes.len());
    Ok(outcomes)
}

/// Carries out one action.
pub fn act<S: Stage>(stage: &mut S, action: Action) -> Result<ActionOutcome, Stop> {
    let outcome = apply(stage, &[action])?.pop();
    outcome.ok_or_else(|| Stop::Fails("one action has no outcome".to_owned()))
}

/// Number of looks at a machine while pages are under way. Progress shows soon, but how long all
/// pages take depends on the machine. Pages of a real machine that have not arrived after thirty
/// seconds (1500 looks of 1/15 epoch of 0.3 s) never will.
const LOOKS: usize = 1500;
const LOOKS_AN_EPOCH: f64 = 15.0;

/// The sample that reports the last of these migrations to end, and what became of each.
pub fn settled<S: Stage>(stage: &mut S, numbers: &[u64]) -> Result<(Sample, Vec<PageMove>), Stop> {
    let pause = Seconds(stage.epoch().0 / LOOKS_AN_EPOCH);
    let mut ended: BTreeMap<u64, PageMove> = BTreeMap::new();
    for _ in 0..LOOKS {
        let now = sample(stage)?;
        for flight in now.page_moves.iter().filter(|flight| flight.ended) {
            let before = ended.insert(flight.number, flight.clone());
            ensure!(before.is_none(), "the end of {flight:?} was reported before: {before:?}");
        }
        if numbers.iter().all(|number| ended.contains_key(number)) {
            return Ok((now, numbers.iter().filter_map(|number| ended.remove(number)).collect()));
        }
        stage.machine().wait(pause)?;
    }
    Err(Stop::Fails(format!("the migrations {numbers:?} do not end, but {ended:?}")))
}

/// Carries out actions and waits until their pages have moved. Returns the outcomes as if the plan
/// had waited for the pages, and the first sample that shows them.
pub fn apply_settled<S: Stage>(stage: &mut S, actions: &[Action]) -> Result<(Vec<ActionOutcome>, Sample), Stop> {
    let mut outcomes = apply(stage, actions)?;
    let number = |outcome: &ActionOutcome| match outcome {
        ActionOutcome::Queued { number, .. } => Some(*number),
        _ => None,
    };
    let numbers: Vec<u64> = outcomes.iter().filter_map(number).collect();
    let (sample, flights) = settled(stage, &numbers)?;
    let mut flights = flights.into_iter();
    for outcome in &mut outcomes {
        if let ActionOutcome::Queued { pages, stayed: not_taken, .. } = outcome {
            let flight = flights.next().ok_or_else(|| Stop::Fails("an end is missing".to_owned()))?;
            ensure!(flight.pages == *pages, "{pages:?} were taken on, and {flight:?} ended");
            *outcome = together(not_taken, flight.outcome);
        }
    }
    Ok((outcomes, sample))
}

/// Combines the pages that were not accepted with what became of the rest.
fn together(not_taken: &[(String, Pages)], became: ActionOutcome) -> ActionOutcome {
    let ActionOutcome::Pages { moved, stayed } = became else { return became };
    let mut all: BTreeMap<String, Pages> = BTreeMap::new();
    not_taken.iter().chain(&stayed).for_each(|(why, pages)| all.entry(why.clone()).or_default().0 += pages.0);
    ActionOutcome::Pages { moved, stayed: all.into_iter().collect() }
}

/// Carries out a thread move that must succeed.
pub fn act_done<S: Stage>(stage: &mut S, action: Action) -> Result<(), Stop> {
    let outcome = act(stage, action)?;
    ensure!(outcome == ActionOutcome::Done, "the move came to {outcome:?}");
    Ok(())
}

/// The number of pages that an outcome reports as moved, after checking that its figures add up:
/// every page of the request has moved or stayed, every reason has words and pages, reasons ascend.
pub fn moved(outcome: &ActionOutcome, asked: u64) -> Result<u64, Stop> {
    let ActionOutcome::Pages { moved, stayed } = outcome else {
        return Err(Stop::Fails(format!("the page migration came to {outcome:?}")));
    };
    let rest: u64 = stayed.iter().map(|(_, pages)| pages.0).sum();
    ensure!(moved.0 + rest == asked, "{asked} pages were asked for, {} moved and {rest} stayed", moved.0);
    let reported = stayed.iter().all(|(why, pages)| !why.trim().is_empty() && pages.0 > 0);
    ensure!(reported, "a reason without words or pages: {stayed:?}");
    ensure!(stayed.windows(2).all(|pair| pair[0].0 < pair[1].0), "reasons do not ascend: {stayed:?}");
    Ok(moved.0)
}

/// Whether an outcome says that nothing changed.
pub fn without_effect(outcome: &ActionOutcome) -> bool {
    match outcome {
        ActionOutcome::Done => false,
        ActionOutcome::Pages { moved: pages, .. } | ActionOutcome::Queued { pages, .. } => pages.0 == 0,
        ActionOutcome::Vanished | ActionOutcome::Refused { .. } | ActionOutcome::LeftAlone { .. } => true,
    }
}

/// Whether a refused or omitted action gives its reason.
pub fn gives_reason(outcome: &ActionOutcome) -> bool {
    match outcome {
        ActionOutcome::Refused { why, .. } | ActionOutcome::LeftAlone { why } => {
            !why.trim().is_empty() && !why.contains('\n')
        }
        _ => true,
    }
}
