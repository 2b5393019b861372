//! Moving threads: the thread runs where the plan says, no other thread moves with it, and samples
//! still show what its owner wants.

use crate::bench::{Bench, Identity, Stage, Subject};
use crate::look::{
    act, act_done, affinities, eventually, gives_reason, home, move_among, move_thread, next_sample, only, process,
    sample, thread, two_cpus, wishes, with_one, without_effect,
};
use crate::verdict::{Assertion, Checked, Stop, ensure};
use isobar_model::{ActionOutcome, CpuId, CpuSet, Machine, Pid, Tid};

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("move: the next sample shows the thread on its CPU, and it stays there", threads_go_where_sent),
        ("move: the other threads of the process are left as they are", others_stay),
        ("move: several threads go each to its own CPU", each_goes_its_own_way),
        ("move: samples still show what the owner wants, not our mask", owners_wishes_stand),
        ("move: twice to the same CPU is harmless", twice_is_harmless),
        ("move: a thread that was moved can be moved again", moved_again),
        ("move: a thread may be let run on several CPUs, and stays among them", some_may_be_used),
        ("move: a sleeping thread is bound too", sleepers_are_bound),
        ("move: a thread that may run wherever its owner lets it is not bound", the_freed_are_not_bound),
        ("move: a thread that its owner pinned is left alone", the_pinned_are_left_alone),
        ("move: a thread or process that never was is left alone", strangers_are_no_error),
        ("move: a process that has ended is left alone", the_ended_are_no_error),
        ("move: a CPU that does not exist is refused, and nothing is changed", impossible_cpus_are_refused),
    ]
}

/// The sample shows the thread on the CPU, and the other witness, if there is one, says that the
/// thread may use no other CPU.
fn is_on<S: Stage>(stage: &mut S, who: &Identity, tid: Tid, cpu: CpuId) -> Checked {
    let sample = next_sample(stage)?;
    let seen = thread(&sample, who.pid, tid)?.cpu;
    ensure!(seen == Some(cpu), "thread {tid} was sent to CPU {cpu}, the sample shows {seen:?}");
    is_bound(stage, who.pid, tid, cpu)?;
    let witnessed = stage.cpu(who.pid, tid);
    ensure!(witnessed.is_none_or(|at| at == cpu), "thread {tid} was sent to CPU {cpu} and runs on {witnessed:?}");
    Ok(())
}

fn is_bound<S: Stage>(stage: &mut S, pid: Pid, tid: Tid, cpu: CpuId) -> Checked {
    let affinity = stage.affinity(pid, tid);
    let bound = affinity.as_ref().is_none_or(|affinity| *affinity == only(cpu));
    ensure!(bound, "thread {tid} was sent to CPU {cpu} and may use {affinity:?}");
    Ok(())
}

fn threads_go_where_sent<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home(bench)?).constantly())?;
    for cpu in [last, first] {
        sample(&mut stage)?;
        act_done(&mut stage, move_thread(who.pid, who.threads[0], cpu))?;
        for _ in 0..3 {
            is_on(&mut stage, &who, who.threads[0], cpu)?;
        }
    }
    Ok(())
}

fn others_stay<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let home = home(bench)?;
    let mut stage = bench.open(&[Subject::busy(3, home), Subject::busy(1, home)])?;
    let (who, neighbour) = (stage.identity(0)?, stage.identity(1)?);
    next_sample(&mut stage)?;
    for tid in &who.threads {
        let before = (affinities(&mut stage, &who), affinities(&mut stage, &neighbour));
        act_done(&mut stage, move_thread(who.pid, *tid, last))?;
        is_on(&mut stage, &who, *tid, last)?;
        let after = (affinities(&mut stage, &who), affinities(&mut stage, &neighbour));
        ensure!(after.1 == before.1, "a thread of another process was changed: {:?}, then {:?}", before.1, after.1);
        for (other, (old, new)) in who.threads.iter().zip(before.0.iter().zip(&after.0)) {
            ensure!(other == tid || old == new, "thread {tid} was moved, and {other} went from {old:?} to {new:?}");
        }
    }
    Ok(())
}

fn each_goes_its_own_way<B: Bench>(bench: &B) -> Checked {
    let cpus: Vec<_> = bench.cpus()?.iter().collect();
    two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(4, home(bench)?))?;
    sample(&mut stage)?;
    let places: Vec<_> = who.threads.iter().zip(cpus.iter().rev().cycle()).collect();
    for (tid, cpu) in &places {
        act_done(&mut stage, move_thread(who.pid, **tid, **cpu))?;
    }
    places.into_iter().try_for_each(|(tid, cpu)| is_on(&mut stage, &who, *tid, *cpu))
}

fn owners_wishes_stand<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = wishes(&next_sample(&mut stage)?, &who)?;
    act_done(&mut stage, move_thread(who.pid, who.threads[0], last))?;
    for _ in 0..4 {
        let after = wishes(&next_sample(&mut stage)?, &who)?;
        ensure!(after == before, "owners wanted {before:?}, and after our move {after:?}");
    }
    Ok(())
}

fn twice_is_harmless<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = wishes(&next_sample(&mut stage)?, &who)?;
    let original = affinities(&mut stage, &who);
    for _ in 0..2 {
        act_done(&mut stage, move_thread(who.pid, who.threads[1], last))?;
        act_done(&mut stage, move_thread(who.pid, who.threads[1], last))?;
        is_on(&mut stage, &who, who.threads[1], last)?;
    }
    ensure!(wishes(&next_sample(&mut stage)?, &who)? == before, "the second move was taken for the owner's wish");
    stage.machine().restore()?;
    let restored = affinities(&mut stage, &who);
    ensure!(restored == original, "it was {original:?} before both moves, and {restored:?} after restore");
    Ok(())
}

fn moved_again<B: Bench>(bench: &B) -> Checked {
    let cpus: Vec<_> = bench.cpus()?.iter().collect();
    two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home(bench)?))?;
    let original = affinities(&mut stage, &who);
    sample(&mut stage)?;
    for cpu in cpus.iter().chain(cpus.iter().rev()) {
        act_done(&mut stage, move_thread(who.pid, who.threads[0], *cpu))?;
        is_on(&mut stage, &who, who.threads[0], *cpu)?;
    }
    stage.machine().restore()?;
    ensure!(affinities(&mut stage, &who) == original, "after many moves restore does not find back to {original:?}");
    Ok(())
}

fn the_freed_are_not_bound<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home(bench)?))?;
    let tid = who.threads[0];
    next_sample(&mut stage)?;
    let all = stage.affinity(who.pid, tid).map_or_else(|| bench.cpus(), Ok)?;
    for (cpus, bound) in [(only(last), true), (all, false)] {
        act_done(&mut stage, move_among(who.pid, tid, last, &cpus))?;
        let said = thread(&next_sample(&mut stage)?, who.pid, tid)?.bound;
        ensure!(said.is_none_or(|said| said == bound), "thread {tid} was let run on {cpus}: bound {said:?}");
    }
    Ok(())
}

fn some_may_be_used<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let both: CpuSet = [first, last].into_iter().collect();
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let tid = who.threads[0];
    let original = affinities(&mut stage, &who);
    let before = wishes(&next_sample(&mut stage)?, &who)?;
    // Among both CPUs, alone on one, among both again, and once more among both.
    for among in [true, false, true, true] {
        let action = if among { move_among(who.pid, tid, last, &both) } else { move_thread(who.pid, tid, first) };
        act_done(&mut stage, action)?;
        let may = if among { both.clone() } else { only(first) };
        for _ in 0..2 {
            let sample = next_sample(&mut stage)?;
            let seen = thread(&sample, who.pid, tid)?.cpu;
            ensure!(seen.is_some_and(|cpu| may.contains(cpu)), "thread {tid} may use {may}, the sample shows {seen:?}");
            let after = wishes(&sample, &who)?;
            ensure!(after == before, "owners wanted {before:?}, and after our move {after:?}");
        }
        let affinity = stage.affinity(who.pid, tid);
        ensure!(affinity.as_ref().is_none_or(|its| *its == may), "thread {tid} may use {affinity:?} instead of {may}");
    }
    stage.machine().restore()?;
    let restored = affinities(&mut stage, &who);
    ensure!(restored == original, "it was {original:?} before, and {restored:?} after restore");
    Ok(())
}

fn sleepers_are_bound<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?).idle())?;
    let original = affinities(&mut stage, &who);
    let before = wishes(&sample(&mut stage)?, &who)?;
    act_done(&mut stage, move_thread(who.pid, who.threads[0], last))?;
    is_bound(&mut stage, who.pid, who.threads[0], last)?;
    for _ in 0..3 {
        let after = wishes(&next_sample(&mut stage)?, &who)?;
        ensure!(after == before, "owners wanted {before:?}, and after our move {after:?}");
    }
    stage.machine().restore()?;
    ensure!(affinities(&mut stage, &who) == original, "a sleeping thread was not put back");
    Ok(())
}

fn the_pinned_are_left_alone<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    stage.pin(who.threads[1], &only(first))?;
    eventually(&mut stage, "a thread that its owner pinned is shown so", |_, sample| {
        let seen = thread(sample, who.pid, who.threads[1]).ok()?;
        (seen.pinned && seen.allowed == Some(only(first))).then_some(())
    })?;
    let before = affinities(&mut stage, &who);
    let outcome = act(&mut stage, move_thread(who.pid, who.threads[1], last))?;
    let left = matches!(outcome, ActionOutcome::LeftAlone { .. }) && gives_reason(&outcome);
    ensure!(left, "the move of a pinned thread came to {outcome:?}");
    next_sample(&mut stage)?;
    stage.machine().restore()?;
    let after = affinities(&mut stage, &who);
    ensure!(after == before, "affinities went from {before:?} to {after:?}");
    Ok(())
}

fn strangers_are_no_error<B: Bench>(bench: &B) -> Checked {
    let cpu = bench.cpus()?.first().ok_or_else(|| Stop::Fails("no CPU".to_owned()))?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = affinities(&mut stage, &who);
    sample(&mut stage)?;
    let (no_pid, no_tid) = (Pid(4_000_000_000), Tid(4_000_000_000));
    for (pid, tid) in [(no_pid, who.threads[0]), (who.pid, no_tid), (no_pid, no_tid), (Pid(0), Tid(0))] {
        let outcome = act(&mut stage, move_thread(pid, tid, cpu))?;
        let ordinary = matches!(outcome, ActionOutcome::Vanished | ActionOutcome::LeftAlone { .. });
        ensure!(ordinary && gives_reason(&outcome), "moving thread {tid} of process {pid} came to {outcome:?}");
    }
    let after = affinities(&mut stage, &who);
    ensure!(after == before, "moves of others changed {before:?} to {after:?}");
    Ok(())
}

fn the_ended_are_no_error<B: Bench>(bench: &B) -> Checked {
    let cpu = bench.cpus()?.first().ok_or_else(|| Stop::Fails("no CPU".to_owned()))?;
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?), Subject::busy(2, home(bench)?).short()])?;
    next_sample(&mut stage)?;
    let old = stage.identity(1)?;
    stage.replace(1)?;
    // Before the machine has taken another sample, and after.
    for _ in 0..2 {
        let outcome = act(&mut stage, move_thread(old.pid, old.threads[0], cpu))?;
        let ordinary = matches!(outcome, ActionOutcome::Vanished | ActionOutcome::LeftAlone { .. });
        ensure!(ordinary, "moving a thread that has ended came to {outcome:?}");
        next_sample(&mut stage)?;
    }
    let new = stage.identity(1)?;
    process(&sample(&mut stage)?, new.pid).map(drop)
}

fn impossible_cpus_are_refused<B: Bench>(bench: &B) -> Checked {
    let highest = bench.topology()?.online().iter().last().map_or(0, |cpu| cpu.0);
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = affinities(&mut stage, &who);
    sample(&mut stage)?;
    for cpu in [highest + 1, 8_191, 65_536, u32::MAX].map(CpuId) {
        let outcome = act(&mut stage, move_thread(who.pid, who.threads[0], cpu))?;
        let refused = matches!(outcome, ActionOutcome::Refused { .. });
        ensure!(refused && without_effect(&outcome) && gives_reason(&outcome), "CPU {cpu} came to {outcome:?}");
        let after = affinities(&mut stage, &who);
        ensure!(after == before, "a refused move changed {before:?} to {after:?}");
    }
    next_sample(&mut stage)?;
    stage.machine().restore()?;
    ensure!(affinities(&mut stage, &who) == before, "restore after a refused move changed something");
    Ok(())
}
