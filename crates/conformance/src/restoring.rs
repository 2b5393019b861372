//! Restoring: every thread is as it was, however often `restore` runs, even if threads have ended
//! or were changed by their owners in the meantime.

use crate::bench::{Bench, Identity, Stage, Subject};
use crate::look::{
    act_done, affinities, apply, apply_settled, eventually, home, migrate, move_thread, moved, next_sample, only,
    pages_on, pages_seen, sample, thread, two_cpus, two_nodes, wishes, with_one,
};
use crate::verdict::{Assertion, Checked, Stop, ensure};
use isobar_model::{ActionOutcome, CpuId, CpuSet, Machine};
use std::collections::BTreeSet;

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("restore: every thread is what it was", every_thread_is_what_it_was),
        ("restore: the scheduler may spread the threads again", threads_spread_again),
        ("restore: twice is harmless", twice_is_harmless),
        ("restore: with nothing changed it does nothing", nothing_is_nothing),
        ("restore: threads that ended meanwhile do not matter", the_ended_do_not_matter),
        ("restore: what the owner changed after us stays the owner's", the_owners_word_stands),
        ("restore: pages stay where they are", pages_stay),
        ("restore: no page moves after it, and what has moved is reported", what_is_under_way_stops),
        ("restore: the machine can be used again", it_can_be_used_again),
    ]
}

/// Moves all threads of a subject to one CPU.
fn crowd<S: Stage>(stage: &mut S, who: &Identity, cpu: CpuId) -> Checked {
    let actions: Vec<_> = who.threads.iter().map(|tid| move_thread(who.pid, *tid, cpu)).collect();
    let outcomes = apply(stage, &actions)?;
    ensure!(outcomes.iter().all(|outcome| *outcome == ActionOutcome::Done), "the moves came to {outcomes:?}");
    Ok(())
}

/// The affinities of two subjects from the other witness, and what the sample shows of their
/// owners' wishes.
type Seen = (Vec<Option<CpuSet>>, Vec<Option<CpuSet>>, Vec<(Option<CpuSet>, bool)>);

fn seen<S: Stage>(stage: &mut S, one: &Identity, two: &Identity) -> Result<Seen, Stop> {
    let sample = next_sample(stage)?;
    let reported = [wishes(&sample, one)?, wishes(&sample, two)?].concat();
    Ok((affinities(stage, one), affinities(stage, two), reported))
}

fn every_thread_is_what_it_was<B: Bench>(bench: &B) -> Checked {
    let (home, (first, last)) = (home(bench)?, two_cpus(bench)?);
    let mut stage = bench.open(&[Subject::busy(4, home), Subject::busy(3, home)])?;
    let (one, two) = (stage.identity(0)?, stage.identity(1)?);
    let before = seen(&mut stage, &one, &two)?;
    crowd(&mut stage, &one, last)?;
    crowd(&mut stage, &two, first)?;
    next_sample(&mut stage)?;
    crowd(&mut stage, &one, first)?;
    next_sample(&mut stage)?;
    stage.machine().restore()?;
    let after = seen(&mut stage, &one, &two)?;
    ensure!(after == before, "it was {before:?} and is {after:?}");
    Ok(())
}

fn threads_spread_again<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(3, home(bench)?).constantly())?;
    sample(&mut stage)?;
    crowd(&mut stage, &who, last)?;
    let crowded = next_sample(&mut stage)?;
    for tid in &who.threads {
        let cpu = thread(&crowded, who.pid, *tid)?.cpu;
        ensure!(cpu == Some(last), "thread {tid} was sent to CPU {last} and is on {cpu:?}");
    }
    stage.machine().restore()?;
    eventually(&mut stage, "three busy threads that are free use more than one CPU", |_, sample| {
        let cpus: BTreeSet<_> = who.threads.iter().filter_map(|tid| thread(sample, who.pid, *tid).ok()?.cpu).collect();
        (cpus.len() > 1).then_some(())
    })
}

fn twice_is_harmless<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = affinities(&mut stage, &who);
    sample(&mut stage)?;
    crowd(&mut stage, &who, last)?;
    stage.machine().restore()?;
    let once = affinities(&mut stage, &who);
    let again = stage.machine().restore()?;
    ensure!(again.effective() == 0, "there was nothing left to put back, and it did {again:?}");
    let twice = affinities(&mut stage, &who);
    ensure!(once == before && twice == before, "{before:?}, once restored {once:?}, twice {twice:?}");
    Ok(())
}

fn nothing_is_nothing<B: Bench>(bench: &B) -> Checked {
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = affinities(&mut stage, &who);
    let fresh = stage.machine().restore()?;
    ensure!(fresh.effective() == 0, "nothing was changed, and restore did {fresh:?}");
    next_sample(&mut stage)?;
    let looked = stage.machine().restore()?;
    ensure!(looked.effective() == 0, "nothing was changed, and restore did {looked:?}");
    let after = affinities(&mut stage, &who);
    ensure!(after == before, "nothing was changed, and restore made {after:?} of {before:?}");
    Ok(())
}

fn the_ended_do_not_matter<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let home = home(bench)?;
    let mut stage = bench.open(&[Subject::busy(2, home), Subject::busy(2, home).short()])?;
    let (stays, ends) = (stage.identity(0)?, stage.identity(1)?);
    let before = affinities(&mut stage, &stays);
    sample(&mut stage)?;
    crowd(&mut stage, &stays, last)?;
    crowd(&mut stage, &ends, first)?;
    stage.replace(1)?;
    let new = stage.identity(1)?;
    let fresh = affinities(&mut stage, &new);
    let outcome = stage.machine().restore()?;
    let ordinary = outcome.actions.iter().all(|one| !matches!(one, ActionOutcome::Refused { .. }));
    ensure!(ordinary, "restore with threads that had ended came to {outcome:?}");
    let after = affinities(&mut stage, &stays);
    ensure!(after == before, "threads that go on were {before:?} and are {after:?}");
    let same = affinities(&mut stage, &new);
    ensure!(same == fresh, "threads that were never moved were {fresh:?} and are {same:?}");
    Ok(())
}

fn the_owners_word_stands<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    sample(&mut stage)?;
    crowd(&mut stage, &who, last)?;
    stage.pin(who.threads[0], &only(first))?;
    stage.machine().restore()?;
    let affinity = stage.affinity(who.pid, who.threads[0]);
    ensure!(affinity == Some(only(first)), "its owner wanted CPU {first}, and restore made it {affinity:?}");
    Ok(())
}

fn pages_stay<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(8))?;
    pages_seen(&mut stage, who.pid)?;
    let (outcomes, _) = apply_settled(&mut stage, &[migrate(who.pid, from, to, 600)])?;
    let gone = moved(&outcomes[0], 600)?;
    ensure!(gone == 600, "600 pages were asked for and {gone} moved");
    next_sample(&mut stage)?;
    let before = pages_seen(&mut stage, who.pid)?;
    stage.machine().restore()?;
    next_sample(&mut stage)?;
    let after = pages_seen(&mut stage, who.pid)?;
    ensure!(after == before, "pages were {before:?} and are {after:?} after restore");
    Ok(())
}

fn what_is_under_way_stops<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(64))?;
    let before = pages_seen(&mut stage, who.pid)?;
    apply(&mut stage, &[migrate(who.pid, from, to, 16_000)])?;
    let outcome = stage.machine().restore()?;
    next_sample(&mut stage)?;
    let after = pages_seen(&mut stage, who.pid)?;
    let (gone, reported) = (pages_on(&after, to).saturating_sub(pages_on(&before, to)), outcome.pages_moved().0);
    ensure!(gone == reported, "restore reported {reported} pages as moved ({outcome:?}), and {gone} have moved");
    next_sample(&mut stage)?;
    let later = pages_seen(&mut stage, who.pid)?;
    ensure!(later == after, "after restore pages went from {after:?} to {later:?}");
    Ok(())
}

fn it_can_be_used_again<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = affinities(&mut stage, &who);
    sample(&mut stage)?;
    for cpu in [last, first, last] {
        act_done(&mut stage, move_thread(who.pid, who.threads[0], cpu))?;
        let at = thread(&next_sample(&mut stage)?, who.pid, who.threads[0])?.cpu;
        ensure!(at == Some(cpu), "after a restore the thread was sent to CPU {cpu} and is on {at:?}");
        stage.machine().restore()?;
        let after = affinities(&mut stage, &who);
        ensure!(after == before, "it was {before:?}, and after moving and restoring again {after:?}");
    }
    Ok(())
}
