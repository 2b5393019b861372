//! Undoing one action: its thread or its pages are as they were before, and the effects of other
//! actions remain.

use crate::bench::{Bench, Stage, Subject};
use crate::look::{
    act, apply, apply_settled, gives_reason, home, migrate, move_thread, moved, next_sample, only, pages_on,
    pages_seen, sample, settled, two_cpus, two_nodes, with_one, without_effect,
};
use crate::verdict::{Assertion, Checked, Stop, ensure};
use isobar_model::{Action, ActionOutcome, Machine};

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("undo: a thread is as it was, and what else was moved stays moved", one_thread_is_free),
        ("undo: after two moves of a thread it is as before the first", as_before_the_first),
        ("undo: twice says why it does nothing", twice_says_why),
        ("undo: what the owner changed after us stays the owner's", the_owners_word_stands),
        ("undo: a thread that has ended is left alone", the_ended_are_ordinary),
        ("undo: pages go back that the action moved", pages_go_back),
        ("undo: a withdrawal cannot be taken back, and says so", withdrawals_stay),
        ("undo: a thread that was freed can be moved and put back again", it_can_be_moved_again),
    ]
}

fn undo<S: Stage>(stage: &mut S, action: &Action, outcome: &ActionOutcome) -> Result<ActionOutcome, Stop> {
    Ok(stage.machine().undo(action, outcome)?)
}

/// Moves a thread, which must succeed.
fn do_move<S: Stage>(stage: &mut S, action: &Action) -> Checked {
    let outcome = act(stage, action.clone())?;
    ensure!(outcome == ActionOutcome::Done, "the move came to {outcome:?}");
    Ok(())
}

fn undo_done<S: Stage>(stage: &mut S, action: &Action) -> Checked {
    let outcome = undo(stage, action, &ActionOutcome::Done)?;
    ensure!(outcome == ActionOutcome::Done, "taking {action:?} back came to {outcome:?}");
    Ok(())
}

fn one_thread_is_free<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let before = stage.affinity(who.pid, who.threads[0]);
    sample(&mut stage)?;
    let both = [0, 1].map(|thread| move_thread(who.pid, who.threads[thread], last));
    let outcomes = apply(&mut stage, &both)?;
    ensure!(outcomes.iter().all(|one| *one == ActionOutcome::Done), "the moves came to {outcomes:?}");
    undo_done(&mut stage, &both[0])?;
    let (free, bound) = (stage.affinity(who.pid, who.threads[0]), stage.affinity(who.pid, who.threads[1]));
    ensure!(free == before, "it was {before:?} and is {free:?}");
    ensure!(bound == Some(only(last)), "the other thread was sent to CPU {last} and may run on {bound:?}");
    stage.machine().restore()?;
    let after = stage.affinity(who.pid, who.threads[1]);
    ensure!(after == before, "restored, the other thread may run on {after:?}, and not on {before:?}");
    Ok(())
}

fn as_before_the_first<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home(bench)?))?;
    let before = stage.affinity(who.pid, who.threads[0]);
    sample(&mut stage)?;
    do_move(&mut stage, &move_thread(who.pid, who.threads[0], last))?;
    next_sample(&mut stage)?;
    let second = move_thread(who.pid, who.threads[0], first);
    do_move(&mut stage, &second)?;
    undo_done(&mut stage, &second)?;
    let after = stage.affinity(who.pid, who.threads[0]);
    ensure!(after == before, "it was {before:?} and is {after:?}");
    Ok(())
}

fn twice_says_why<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home(bench)?))?;
    sample(&mut stage)?;
    let action = move_thread(who.pid, who.threads[0], last);
    do_move(&mut stage, &action)?;
    undo_done(&mut stage, &action)?;
    let before = stage.affinity(who.pid, who.threads[0]);
    let again = undo(&mut stage, &action, &ActionOutcome::Done)?;
    ensure!(without_effect(&again) && gives_reason(&again), "the second time came to {again:?}");
    let after = stage.affinity(who.pid, who.threads[0]);
    ensure!(after == before, "the second time made {after:?} of {before:?}");
    Ok(())
}

fn the_owners_word_stands<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home(bench)?))?;
    sample(&mut stage)?;
    let action = move_thread(who.pid, who.threads[0], last);
    do_move(&mut stage, &action)?;
    stage.pin(who.threads[0], &only(first))?;
    let outcome = undo(&mut stage, &action, &ActionOutcome::Done)?;
    ensure!(without_effect(&outcome) && gives_reason(&outcome), "its owner had bound it, and undo came to {outcome:?}");
    let affinity = stage.affinity(who.pid, who.threads[0]);
    ensure!(affinity == Some(only(first)), "its owner wanted CPU {first}, and undo made it {affinity:?}");
    Ok(())
}

fn the_ended_are_ordinary<B: Bench>(bench: &B) -> Checked {
    let (_, last) = two_cpus(bench)?;
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?).short()])?;
    let who = stage.identity(0)?;
    sample(&mut stage)?;
    let action = move_thread(who.pid, who.threads[0], last);
    do_move(&mut stage, &action)?;
    stage.replace(0)?;
    let outcome = undo(&mut stage, &action, &ActionOutcome::Done)?;
    ensure!(without_effect(&outcome), "its thread had ended, and undo came to {outcome:?}");
    Ok(())
}

fn pages_go_back<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(8))?;
    let before = pages_seen(&mut stage, who.pid)?;
    let action = migrate(who.pid, from, to, 600);
    let outcome = act(&mut stage, action.clone())?;
    if let ActionOutcome::Queued { number, .. } = outcome {
        settled(&mut stage, &[number])?;
    }
    let there = pages_on(&pages_seen(&mut stage, who.pid)?, to).saturating_sub(pages_on(&before, to));
    ensure!(there == 600, "600 pages were asked for and {there} moved");
    // The pages of another action stay.
    let (others, _) = apply_settled(&mut stage, &[migrate(who.pid, from, to, 200)])?;
    ensure!(moved(&others[0], 200)? == 200, "the second migration came to {others:?}");
    let back = undo(&mut stage, &action, &outcome)?;
    if let ActionOutcome::Queued { number, .. } = back {
        settled(&mut stage, &[number])?;
    }
    next_sample(&mut stage)?;
    let left = pages_on(&pages_seen(&mut stage, who.pid)?, to).saturating_sub(pages_on(&before, to));
    ensure!(left == 200, "800 pages were moved, those of one action taken back ({back:?}), and {left} are there");
    Ok(())
}

fn withdrawals_stay<B: Bench>(bench: &B) -> Checked {
    let home = home(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home))?;
    sample(&mut stage)?;
    let outcome = undo(&mut stage, &crate::look::withdraw(who.pid, home), &ActionOutcome::Done)?;
    ensure!(without_effect(&outcome) && gives_reason(&outcome), "it came to {outcome:?}");
    Ok(())
}

fn it_can_be_moved_again<B: Bench>(bench: &B) -> Checked {
    let (first, last) = two_cpus(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home(bench)?))?;
    let before = stage.affinity(who.pid, who.threads[0]);
    sample(&mut stage)?;
    let action = move_thread(who.pid, who.threads[0], last);
    do_move(&mut stage, &action)?;
    undo_done(&mut stage, &action)?;
    next_sample(&mut stage)?;
    do_move(&mut stage, &move_thread(who.pid, who.threads[0], first))?;
    stage.machine().restore()?;
    let after = stage.affinity(who.pid, who.threads[0]);
    ensure!(after == before, "it was {before:?}, and after undo, another move and restore {after:?}");
    Ok(())
}
