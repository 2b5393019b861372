//! Moving pages. The number of pages reported as moved has moved, from the source to the target of
//! the plan, and the sample that reports the move shows it. Pages move in parallel with the loop;
//! how long they take depends on the machine.

use crate::bench::{Bench, Identity, Stage, Subject};
use crate::look::{
    act, affinities, apply, apply_settled, gives_reason, held, home, migrate, moved, next_sample, nodes, pages_on,
    pages_seen, process, sample, settled, two_nodes, with_one, withdraw, without_effect,
};
use crate::verdict::{Assertion, Checked, Stop, ensure};
use isobar_model::{
    Action, ActionOutcome, Bytes, Machine, NodeId, NodeMap, PageMove, PageSelection, Pages, Pid, Sample, Seconds,
};

/// Page counts around the batches of a real machine (512 pages in one system call), and one page
/// alone.
const COUNTS: [u64; 7] = [1, 2, 511, 512, 513, 1024, 1025];

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("pages: exactly the requested number moves, across the borders of batches", the_requested_number_moves),
        ("pages: they go to the target node and to no other", they_go_where_sent),
        ("pages: where fewer exist than requested, the rest stays with a reason", the_rest_stays),
        ("pages: a full target takes what it can, and the rest stays with a reason", full_targets_take_little),
        ("pages: the whole resident set moves", the_whole_set_moves),
        ("pages: there and back again leaves every page where it was", there_and_back),
        ("pages: around samples and for one thread, the outcome is what the next sample shows", around_samples_too),
        ("pages: those of other processes stay", others_pages_stay),
        ("pages: no thread moves with them", threads_stay),
        ("pages: a request for none moves none", none_is_none),
        ("pages: from a node to itself is left alone", to_itself_is_left_alone),
        ("pages: to a node that does not exist is refused, and nothing moves", unknown_targets_are_refused),
        ("pages: from a node that does not exist nothing moves", unknown_sources_have_nothing),
        ("pages: moves are under way, then arrive, and samples say how far they are", under_way_then_there),
        ("pages: withdrawing stops the rest, and what has moved stays", withdrawing_stops_the_rest),
        (
            "pages: a withdrawal leaves what the same plan asks for, and what is not meant",
            only_what_is_meant_is_withdrawn,
        ),
        ("pages: of several processes at once, asked for until none is left, all move", several_at_once),
        ("pages: of a process that never was or has ended none move, and it is no error", strangers_are_no_error),
    ]
}

/// Carries out a migration and compares its outcome with the sample that reports it: the source
/// falls by the pages that moved, the target rises by them, no other node changes, and the other
/// witness sees the same. Returns how many pages moved.
fn migrated<S: Stage>(stage: &mut S, who: &Identity, action: Action) -> Result<u64, Stop> {
    let Action::MigratePages { from, to, pages: asked, .. } = action else {
        return Err(Stop::Fails("it is not a page migration".to_owned()));
    };
    let before = pages_seen(stage, who.pid)?;
    let (outcomes, sample) = apply_settled(stage, &[action])?;
    let outcome = &outcomes[0];
    let moved = moved(outcome, asked.0)?;
    let there = pages_on(&before, from);
    ensure!(moved <= asked.0 && moved <= there, "{asked} of {there} pages were asked for and {moved} moved");
    let after = pages_in(&sample, who.pid)?;
    let mut expected = before.clone();
    expected.entry(from).0 -= moved;
    expected.entry(to).0 += moved;
    let reported = format!("{moved} of {asked} pages moved from node {from} to node {to} by the outcome {outcome:?}");
    ensure!(after == held(&expected), "{reported}; before {before:?}, in the sample that reports it {after:?}");
    if let Some(witnessed) = stage.pages(who.pid) {
        ensure!(after == held(&witnessed), "{reported}; the sample shows {after:?}, the other witness {witnessed:?}");
    }
    Ok(moved)
}

/// The same for pages that are all on the source node, and must all move.
fn all_migrated<S: Stage>(stage: &mut S, who: &Identity, from: NodeId, to: NodeId, count: u64) -> Checked {
    let moved = migrated(stage, who, migrate(who.pid, from, to, count))?;
    ensure!(moved == count, "{count} pages were asked for from node {from} to node {to}, and {moved} moved");
    Ok(())
}

/// The pages of a process in the next sample.
fn pages_of<S: Stage>(stage: &mut S, pid: Pid) -> Result<NodeMap<Pages>, Stop> {
    pages_in(&next_sample(stage)?, pid)
}

fn pages_in(sample: &Sample, pid: Pid) -> Result<NodeMap<Pages>, Stop> {
    let pages = process(sample, pid)?.pages.as_ref().map(held);
    pages.ok_or_else(|| Stop::Fails(format!("the pages of process {pid} are not measured any more")))
}

fn the_requested_number_moves<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(32))?;
    for count in COUNTS {
        all_migrated(&mut stage, &who, from, to, count)?;
    }
    Ok(())
}

fn they_go_where_sent<B: Bench>(bench: &B) -> Checked {
    let nodes = nodes(bench, 2)?;
    for from in &nodes {
        let (mut stage, who) = with_one(bench, Subject::busy(1, *from).with_mib(8))?;
        for to in nodes.iter().filter(|to| *to != from) {
            all_migrated(&mut stage, &who, *from, *to, 100)?;
        }
    }
    Ok(())
}

fn the_rest_stays<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(4))?;
    let there = pages_on(&pages_seen(&mut stage, who.pid)?, from);
    let moved = migrated(&mut stage, &who, migrate(who.pid, from, to, there + 1000))?;
    ensure!(moved <= there, "{there} pages were there and {moved} moved");
    Ok(())
}

/// Nodes with more free memory than this are not filled for a test.
const MOST_FREE: Bytes = Bytes(8 << 30);

fn full_targets_take_little<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let free = sample(&mut bench.open(&[Subject::busy(1, from)])?)?.free.get(to).copied().unwrap_or_default();
    if free > MOST_FREE {
        return Err(Stop::Lacks(format!("node {to} has {} free: too much to fill for a test", free.human())));
    }
    let free_mib = 80;
    let mib = u32::try_from(free.0 >> 20).unwrap_or(u32::MAX).saturating_sub(free_mib);
    let (filler, subject) = (Subject::busy(1, to).with_mib(mib), Subject::busy(1, from).with_mib(2 * free_mib));
    let mut stage = bench.open(&[filler, subject])?;
    let who = stage.identity(1)?;
    let there = pages_on(&pages_seen(&mut stage, who.pid)?, from);
    let moved = migrated(&mut stage, &who, migrate(who.pid, from, to, there + 10))?;
    ensure!(moved < there, "node {to} had {free_mib} MiB free, {there} pages were asked for, and {moved} moved");
    Ok(())
}

fn the_whole_set_moves<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let subject = Subject::busy(2, from).with_mib(16);
    let (mut stage, who) = with_one(bench, subject)?;
    let there = pages_on(&pages_seen(&mut stage, who.pid)?, from);
    let moved = migrated(&mut stage, &who, migrate(who.pid, from, to, there))?;
    let touched = subject.pages();
    ensure!(moved >= touched, "{there} pages were there, {touched} of them its own, and {moved} moved");
    let again = migrated(&mut stage, &who, migrate(who.pid, from, to, touched))?;
    ensure!(again < touched, "all had gone, and {again} more went");
    Ok(())
}

fn there_and_back<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(8))?;
    let before = pages_seen(&mut stage, who.pid)?;
    all_migrated(&mut stage, &who, from, to, 1500)?;
    all_migrated(&mut stage, &who, to, from, 1500)?;
    let after = pages_of(&mut stage, who.pid)?;
    ensure!(after == before, "{before:?}, then {after:?}");
    Ok(())
}

fn around_samples_too<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, from).with_mib(16))?;
    for (select, for_thread) in [
        (PageSelection::AroundSamples, None),
        (PageSelection::AroundSamples, Some(who.threads[1])),
        (PageSelection::ResidentSet, Some(who.threads[0])),
    ] {
        let reason = "conformance".to_owned();
        let action = Action::MigratePages { pid: who.pid, from, to, pages: Pages(600), select, for_thread, reason };
        migrated(&mut stage, &who, action)?;
    }
    Ok(())
}

fn others_pages_stay<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let subject = Subject::busy(1, from).with_mib(8);
    let mut stage = bench.open(&[subject, subject])?;
    let (who, other) = (stage.identity(0)?, stage.identity(1)?);
    let before = pages_seen(&mut stage, other.pid)?;
    migrated(&mut stage, &who, migrate(who.pid, from, to, 1000))?;
    let after = pages_of(&mut stage, other.pid)?;
    ensure!(
        after == before,
        "pages of process {} moved, and those of {} went from {before:?} to {after:?}",
        who.pid,
        other.pid
    );
    Ok(())
}

fn threads_stay<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(2, from).with_mib(8))?;
    let before = affinities(&mut stage, &who);
    migrated(&mut stage, &who, migrate(who.pid, from, to, 1000))?;
    let after = affinities(&mut stage, &who);
    ensure!(after == before, "pages were moved, and affinities went from {before:?} to {after:?}");
    Ok(())
}

fn none_is_none<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(4))?;
    migrated(&mut stage, &who, migrate(who.pid, from, to, 0)).map(drop)
}

/// Carries out a migration that can move nothing, and checks that nothing moved.
fn in_vain<S: Stage>(stage: &mut S, who: &Identity, action: &Action) -> Result<ActionOutcome, Stop> {
    let before = pages_seen(stage, who.pid)?;
    let outcome = apply_settled(stage, std::slice::from_ref(action))?.0.remove(0);
    ensure!(without_effect(&outcome) && gives_reason(&outcome), "{action:?} came to {outcome:?}");
    let after = pages_of(stage, who.pid)?;
    ensure!(after == before, "{action:?} came to {outcome:?}, and pages went from {before:?} to {after:?}");
    Ok(outcome)
}

fn to_itself_is_left_alone<B: Bench>(bench: &B) -> Checked {
    let home = home(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home).with_mib(4))?;
    let outcome = in_vain(&mut stage, &who, &migrate(who.pid, home, home, 100))?;
    ensure!(matches!(outcome, ActionOutcome::LeftAlone { .. }), "from node {home} to itself came to {outcome:?}");
    Ok(())
}

/// Node numbers that the machine does not have: the next one, the kernel's highest and more, and a
/// number that the kernel never uses.
fn unknown_nodes<B: Bench>(bench: &B) -> Result<[NodeId; 4], Stop> {
    let highest = bench.topology()?.nodes().iter().map(|node| node.id.0).max().unwrap_or(0);
    Ok([highest + 1, 1_023, 70_000, u32::MAX].map(NodeId))
}

fn unknown_targets_are_refused<B: Bench>(bench: &B) -> Checked {
    let home = home(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home).with_mib(4))?;
    for to in unknown_nodes(bench)? {
        let outcome = in_vain(&mut stage, &who, &migrate(who.pid, home, to, 100))?;
        ensure!(matches!(outcome, ActionOutcome::Refused { .. }), "node {to} as a target came to {outcome:?}");
    }
    Ok(())
}

fn unknown_sources_have_nothing<B: Bench>(bench: &B) -> Checked {
    let home = home(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, home).with_mib(4))?;
    for from in unknown_nodes(bench)? {
        let outcome = in_vain(&mut stage, &who, &migrate(who.pid, from, home, 100))?;
        let refused = matches!(outcome, ActionOutcome::Refused { .. });
        ensure!(refused || moved(&outcome, 100)? == 0, "node {from} as a source came to {outcome:?}");
    }
    Ok(())
}

fn strangers_are_no_error<B: Bench>(bench: &B) -> Checked {
    let home = home(bench)?;
    let elsewhere = nodes(bench, 2).map_or(home, |nodes| nodes[1]);
    let mut stage = bench.open(&[Subject::busy(1, home).with_mib(4), Subject::busy(1, home).with_mib(4).short()])?;
    let (who, old) = (stage.identity(0)?, stage.identity(1)?);
    next_sample(&mut stage)?;
    stage.replace(1)?;
    for pid in [old.pid, Pid(4_000_000_000), Pid(0)] {
        let outcome = in_vain(&mut stage, &who, &migrate(pid, home, elsewhere, 100))?;
        let ordinary = matches!(outcome, ActionOutcome::Vanished | ActionOutcome::LeftAlone { .. });
        ensure!(ordinary, "pages of process {pid}, which is not there, came to {outcome:?}");
    }
    Ok(())
}

/// The number of a migration that is under way.
fn number(outcome: &ActionOutcome) -> Result<u64, Stop> {
    match outcome {
        ActionOutcome::Queued { number, .. } => Ok(*number),
        _ => Err(Stop::Fails(format!("pages were to be under way, and came to {outcome:?}"))),
    }
}

/// The figures of a migration add up, and never go back.
fn goes_forward(before: Option<&PageMove>, now: &PageMove) -> Checked {
    let settled = now.pages.0 - now.left().0;
    ensure!(now.moved().0 <= settled && settled <= now.pages.0, "{now:?} does not add up");
    let Some(before) = before else { return Ok(()) };
    let forward = now.moved() >= before.moved() && now.age >= before.age && now.copying >= before.copying;
    ensure!(forward && !before.ended, "{before:?} became {now:?}");
    Ok(())
}

fn under_way_then_there<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(40))?;
    let there = pages_seen(&mut stage, who.pid)?;
    let number = number(&act(&mut stage, migrate(who.pid, from, to, 10_000))?)?;
    let (mut before, pause) = (None::<PageMove>, Seconds(stage.epoch().0 / 30.0));
    for _ in 0..3_000 {
        let now = sample(&mut stage)?;
        let flight = now.page_moves.iter().find(|flight| flight.number == number);
        let flight = flight.ok_or_else(|| Stop::Fails(format!("no sample reports what became of {before:?}")))?;
        goes_forward(before.as_ref(), flight)?;
        ensure!((flight.pid, flight.from, flight.to) == (who.pid, from, to), "{flight:?} is another");
        if flight.ended {
            ensure!(flight.moved() == Pages(10_000), "10000 pages were there to move, and {flight:?} came of it");
            let arrived = pages_on(&pages_in(&now, who.pid)?, to).saturating_sub(pages_on(&there, to));
            ensure!(arrived == 10_000, "10000 pages moved, and the sample shows {arrived} more");
            let later = next_sample(&mut stage)?.page_moves;
            ensure!(later.is_empty(), "the end was reported, and then {later:?}");
            return Ok(());
        }
        before = Some(flight.clone());
        stage.machine().wait(pause)?;
    }
    Err(Stop::Fails(format!("the pages do not arrive: {before:?}")))
}

fn withdrawing_stops_the_rest<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let (mut stage, who) = with_one(bench, Subject::busy(1, from).with_mib(64))?;
    let there = pages_seen(&mut stage, who.pid)?;
    let number = number(&act(&mut stage, migrate(who.pid, from, to, 16_000))?)?;
    // The migration may have ended before the withdrawal.
    act(&mut stage, withdraw(who.pid, to))?;
    let (now, flights) = settled(&mut stage, &[number])?;
    let gone = moved(&flights[0].outcome, 16_000)?;
    let shown = |pages: &NodeMap<Pages>| pages_on(pages, to).saturating_sub(pages_on(&there, to));
    let arrived = shown(&pages_in(&now, who.pid)?);
    ensure!(arrived == gone, "{flights:?} was the end, and the sample shows {arrived} more pages on the target");
    for _ in 0..3 {
        let later = shown(&pages_of(&mut stage, who.pid)?);
        ensure!(later == gone, "the rest of {flights:?} was withdrawn, and then {later} pages are there");
    }
    let again = act(&mut stage, withdraw(who.pid, to))?;
    ensure!(
        matches!(again, ActionOutcome::LeftAlone { .. }),
        "nothing was under way, and withdrawing came to {again:?}"
    );
    Ok(())
}

fn only_what_is_meant_is_withdrawn<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let subject = Subject::busy(1, from).with_mib(16);
    let mut stage = bench.open(&[subject, subject])?;
    let (who, other) = (stage.identity(0)?, stage.identity(1)?);
    pages_seen(&mut stage, who.pid)?;
    let first = number(&act(&mut stage, migrate(who.pid, from, to, 1500))?)?;
    // Withdraws nothing of `first`: one withdrawal names the other process, the other names the
    // other node. Nor is the plan's own migration withdrawn.
    let plan = [migrate(other.pid, from, to, 700), withdraw(other.pid, to), withdraw(who.pid, from)];
    let outcomes = apply(&mut stage, &plan)?;
    let second = number(&outcomes[0])?;
    for outcome in &outcomes[1..] {
        ensure!(matches!(outcome, ActionOutcome::LeftAlone { .. }), "nothing was to be withdrawn: {outcomes:?}");
    }
    let (_, flights) = settled(&mut stage, &[first, second])?;
    let moved: Vec<u64> = flights.iter().map(|flight| flight.moved().0).collect();
    ensure!(moved == [1500, 700], "1500 and 700 pages were asked for, none withdrawn, and {flights:?} came of it");
    Ok(())
}

/// Asks for all pages again and again, as policies do. Pages that are not accepted are not refused.
fn several_at_once<B: Bench>(bench: &B) -> Checked {
    let (from, to) = two_nodes(bench)?;
    let mut stage = bench.open(&[Subject::busy(1, from).with_mib(12); 3])?;
    let subjects = [stage.identity(0)?, stage.identity(1)?, stage.identity(2)?];
    for who in &subjects {
        pages_seen(&mut stage, who.pid)?;
    }
    let mut left = vec![3_000; subjects.len()];
    for _ in 0..60 {
        let asking = subjects.iter().zip(&left).filter(|(_, left)| **left > 0);
        let plan: Vec<Action> = asking.map(|(who, left)| migrate(who.pid, from, to, *left)).collect();
        if plan.is_empty() {
            return Ok(());
        }
        let (outcomes, _) = apply_settled(&mut stage, &plan)?;
        for (outcome, left) in outcomes.iter().zip(left.iter_mut().filter(|left| **left > 0)) {
            let gone = moved(outcome, *left)?;
            ensure!(gone > 0, "{left} pages were left to move, and none moved: {outcome:?}");
            *left -= gone;
        }
    }
    Err(Stop::Fails(format!("{left:?} pages are still to move")))
}
