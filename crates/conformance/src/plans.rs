//! Plans as a whole: one outcome for each action, in the order of the actions, and no difference
//! between a plan and its actions carried out one by one.

use crate::bench::{Bench, Identity, Stage, Subject};
use crate::look::{
    affinities, apply, apply_settled, gives_reason, home, migrate, move_thread, moved, next_sample, nodes, pages_on,
    pages_seen, sample, thread, two_cpus, two_nodes, with_one, without_effect,
};
use crate::verdict::{Assertion, Checked, Stop, ensure};
use isobar_model::{Action, ActionOutcome, CpuId, CpuSet, LlcId, NodeId, NodeMap, Pages, Tid};

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("apply: an empty plan changes nothing", empty_plans_change_nothing),
        ("apply: one outcome for each action, in order", outcomes_follow_the_order),
        ("apply: what this machine cannot do is reported and is no error", the_impossible_is_said),
        ("apply: a plan of many moves equals its moves one by one", moves_are_independent),
        ("apply: a plan of threads and pages equals its actions one by one", threads_and_pages_are_independent),
    ]
}

fn empty_plans_change_nothing<B: Bench>(bench: &B) -> Checked {
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?).with_mib(4))?;
    let before = (affinities(&mut stage, &who), pages_seen(&mut stage, who.pid)?);
    apply(&mut stage, &[])?;
    next_sample(&mut stage)?;
    let after = (affinities(&mut stage, &who), pages_seen(&mut stage, who.pid)?);
    ensure!(before == after, "an empty plan changed {before:?} to {after:?}");
    Ok(())
}

fn outcomes_follow_the_order<B: Bench>(bench: &B) -> Checked {
    let (home, (first, last)) = (home(bench)?, two_cpus(bench)?);
    let (mut stage, who) = with_one(bench, Subject::busy(2, home).with_mib(4))?;
    sample(&mut stage)?;
    let [one, two] = who.threads[..] else { return Err(Stop::Fails(format!("two threads were started: {who:?}"))) };
    let actions = [
        move_thread(who.pid, Tid(4_000_000_000), first),
        move_thread(who.pid, one, last),
        migrate(who.pid, home, home, 10),
        move_thread(who.pid, two, CpuId(u32::MAX)),
        migrate(who.pid, home, NodeId(u32::MAX), 10),
        move_thread(who.pid, two, first),
    ];
    let (outcomes, _) = apply_settled(&mut stage, &actions)?;
    let refused = |outcome: &ActionOutcome| matches!(outcome, ActionOutcome::Refused { .. });
    ensure!(without_effect(&outcomes[0]) && !refused(&outcomes[0]), "a stranger's move came to {:?}", outcomes[0]);
    ensure!(outcomes[1] == ActionOutcome::Done, "a move between others came to {:?}", outcomes[1]);
    ensure!(without_effect(&outcomes[2]), "pages that stay came to {:?}", outcomes[2]);
    ensure!(refused(&outcomes[3]), "an impossible CPU came to {:?}", outcomes[3]);
    ensure!(refused(&outcomes[4]), "an impossible node came to {:?}", outcomes[4]);
    ensure!(outcomes[5] == ActionOutcome::Done, "a move after refusals came to {:?}", outcomes[5]);
    let seen = next_sample(&mut stage)?;
    let places = [thread(&seen, who.pid, one)?.cpu, thread(&seen, who.pid, two)?.cpu];
    ensure!(places == [Some(last), Some(first)], "threads were sent to {last} and {first}, and are on {places:?}");
    Ok(())
}

fn the_impossible_is_said<B: Bench>(bench: &B) -> Checked {
    let home = home(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home))?;
    sample(&mut stage)?;
    let reason = || "conformance".to_owned();
    let (llc, cluster) = (LlcId(u32::MAX), "nowhere".to_owned());
    let actions = [
        Action::SetWays {
            llc,
            cluster,
            way_mask: 1,
            memory_bandwidth_percent: None,
            threads: who.threads.clone(),
            reason: reason(),
        },
        Action::SetAllocation {
            pid: who.pid,
            for_node: None,
            node: NodeId(u32::MAX),
            weights: Vec::new(),
            reason: reason(),
        },
    ];
    for (action, outcome) in actions.iter().zip(apply(&mut stage, &actions)?) {
        let done = outcome == ActionOutcome::Done;
        ensure!(!done && gives_reason(&outcome), "{action:?} came to {outcome:?}");
    }
    Ok(())
}

/// The state after a plan, as far as a policy and the other witness can see it.
#[derive(Debug, PartialEq)]
struct State {
    cpus: Vec<Option<CpuId>>,
    affinities: Vec<Option<CpuSet>>,
    pages: NodeMap<Pages>,
}

fn state<S: Stage>(stage: &mut S, who: &Identity) -> Result<State, Stop> {
    let seen = next_sample(stage)?;
    let cpu = |tid: &Tid| thread(&seen, who.pid, *tid).map(|thread| thread.cpu);
    let cpus = who.threads.iter().map(cpu).collect::<Result<_, _>>()?;
    Ok(State { cpus, affinities: affinities(stage, who), pages: pages_seen(stage, who.pid)? })
}

/// Runs the plan as a whole and action by action, on two equal machines. The plan moves every
/// thread, so that the scheduler does not influence the state.
fn both_ways<B: Bench>(
    bench: &B,
    subject: Subject,
    plan: impl Fn(&Identity) -> Vec<Action>,
) -> Result<[(Vec<ActionOutcome>, State); 2], Stop> {
    let run = |one_by_one: bool| {
        let (mut stage, who) = with_one(bench, subject)?;
        pages_seen(&mut stage, who.pid)?;
        let actions = plan(&who);
        let outcomes = if one_by_one {
            let mut each = Vec::new();
            for action in &actions {
                each.extend(apply_settled(&mut stage, std::slice::from_ref(action))?.0);
            }
            each
        } else {
            apply_settled(&mut stage, &actions)?.0
        };
        Ok::<_, Stop>((outcomes, state(&mut stage, &who)?))
    };
    Ok([run(false)?, run(true)?])
}

fn moves_are_independent<B: Bench>(bench: &B) -> Checked {
    let cpus: Vec<_> = bench.cpus()?.iter().collect();
    two_cpus(bench)?;
    let subject = Subject::busy(5, home(bench)?);
    let plan = |who: &Identity| -> Vec<Action> {
        let places = who.threads.iter().zip(cpus.iter().rev().cycle());
        places.map(|(tid, cpu)| move_thread(who.pid, *tid, *cpu)).collect()
    };
    let [(together, one), (singly, other)] = both_ways(bench, subject, plan)?;
    ensure!(together == singly, "together the outcomes are {together:?}, one by one {singly:?}");
    ensure!(one.cpus == other.cpus, "together threads are on {:?}, one by one on {:?}", one.cpus, other.cpus);
    let (one, other) = (one.affinities, other.affinities);
    ensure!(one == other, "together affinities are {one:?}, one by one {other:?}");
    Ok(())
}

fn threads_and_pages_are_independent<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let third = nodes(bench, 3).map_or(to, |nodes| nodes[2]);
    let (first, last) = two_cpus(bench)?;
    let subject = Subject::busy(2, from).with_mib(16);
    let plan = |who: &Identity| {
        vec![
            move_thread(who.pid, who.threads[0], last),
            migrate(who.pid, from, to, 700),
            move_thread(who.pid, who.threads[1], first),
            migrate(who.pid, from, third, 300),
            migrate(who.pid, from, to, 50),
        ]
    };
    let [(together, one), (singly, other)] = both_ways(bench, subject, plan)?;
    for (outcome, asked) in [(&together[1], 700), (&together[3], 300), (&together[4], 50)] {
        let moved = moved(outcome, asked)?;
        ensure!(moved == asked, "{asked} pages were asked for and {moved} moved");
    }
    ensure!(together == singly, "together the outcomes are {together:?}, one by one {singly:?}");
    ensure!((&one.cpus, &one.affinities) == (&other.cpus, &other.affinities), "together {one:?}, one by one {other:?}");
    // Pages outside the program's own memory may differ from run to run; the number of pages that
    // the plan brought to the target may not.
    let gone = |state: &State| pages_on(&state.pages, to) >= if third == to { 1050 } else { 750 };
    ensure!(gone(&one) && gone(&other), "together pages lie {:?}, one by one {:?}", one.pages, other.pages);
    Ok(())
}
