//! Cache ways. The threads of a cluster may fill the ways of the plan and no other thread loses
//! any; classes of service are taken and returned; a refused action changes nothing; and `restore`
//! gives every thread every way again.
//!
//! Clusters of different LLCs may share a class of service, so a thread's ways are checked only on
//! the LLC of its own cluster.

use crate::bench::{Bench, Stage, Subject};
use crate::look::{act, apply, gives_reason, home, sample};
use crate::verdict::{Assertion, Checked, Stop, ensure};
use isobar_model::{Action, ActionOutcome, LlcId, Machine, Tid};

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("set_ways: a cluster's threads get its ways, and no other thread does", only_the_cluster_s_threads),
        ("set_ways: a thread is in one cluster or in none", one_cluster_or_none),
        ("set_ways: a cluster without threads gives its class back", the_empty_give_back),
        ("set_ways: a cluster whose threads have ended gives its class back", the_ended_give_back),
        ("set_ways: one name on two LLCs is two clusters", two_llcs_two_clusters),
        ("set_ways: masks that are empty, too wide or with gaps are refused and change nothing", masks_are_refused),
        ("set_ways: one class too many is refused and leaves nothing behind", one_class_too_many),
        ("set_ways: threads that ended are ordinary", the_ended_are_ordinary),
        ("undo: a cluster's threads may fill every way again, and other clusters stand", one_cluster_taken_back),
        ("restore: every thread may fill every way again, and twice is harmless", every_way_again),
    ]
}

/// What can be allocated on an LLC.
#[derive(Clone, Copy)]
struct Cache {
    llc: LlcId,
    /// All of its ways.
    all: u64,
    /// Number of clusters that it can have at once: one class is left for all other threads.
    clusters: usize,
}

impl Cache {
    /// Two masks: the two lowest ways, and all other ways.
    const fn parts(&self) -> (u64, u64) {
        (0b11, self.all & !0b11)
    }

    /// A mask for the cluster with this number, different from that of its neighbours.
    const fn part(&self, number: usize) -> u64 {
        if number.is_multiple_of(2) { self.parts().0 } else { self.parts().1 }
    }

    fn set(&self, cluster: &str, way_mask: u64, threads: &[Tid]) -> Action {
        let (cluster, threads, reason) = (cluster.to_owned(), threads.to_vec(), "conformance".to_owned());
        Action::SetWays { llc: self.llc, cluster, way_mask, memory_bandwidth_percent: None, threads, reason }
    }

    /// One cluster for each thread, named by number.
    fn each(&self, threads: &[Tid]) -> Vec<Action> {
        let one = |(number, tid): (usize, &Tid)| self.set(&format!("c{number}"), self.part(number), &[*tid]);
        threads.iter().enumerate().map(one).collect()
    }
}

/// The LLCs whose ways can be allocated; all have the same masks.
fn caches<B: Bench>(bench: &B, needs: usize) -> Result<Vec<Cache>, Stop> {
    let topology = bench.topology()?;
    let lacks = |why: String| Err(Stop::LacksWays(why));
    let Some(allocation) = topology.allocation() else {
        return lacks("needs cache allocation (resctrl), this machine has none".to_owned());
    };
    let (all, clusters) = (allocation.cbm_mask, isobar_model::num::index(allocation.num_closids.saturating_sub(1)));
    if all.trailing_ones() < 4 || clusters < 2 || allocation.min_cbm_bits > 2 {
        return lacks(format!("needs 4 ways, 3 classes and masks of 2 bits, this machine has {allocation:?}"));
    }
    let there: Vec<_> = topology.llcs().iter().map(|llc| Cache { llc: llc.id, all, clusters }).collect();
    if there.len() < needs {
        return lacks(format!("needs {needs} LLCs, this machine has {}", there.len()));
    }
    Ok(there)
}

/// A stage with these subjects, sampled once, and the threads of each subject.
fn open<B: Bench>(bench: &B, subjects: &[Subject]) -> Result<(B::Stage, Vec<Vec<Tid>>), Stop> {
    let mut stage = bench.open(subjects)?;
    let threads = (0..subjects.len()).map(|subject| Ok(stage.identity(subject)?.threads));
    let threads = threads.collect::<Result<_, Stop>>()?;
    sample(&mut stage)?;
    Ok((stage, threads))
}

/// One subject with this number of threads on the first LLC.
fn one<B: Bench>(bench: &B, threads: usize) -> Result<(B::Stage, Vec<Tid>), Stop> {
    let subject = Subject::busy(isobar_model::num::narrow(threads), home(bench)?);
    let (stage, mut threads) = open(bench, &[subject])?;
    Ok((stage, threads.swap_remove(0)))
}

fn first<B: Bench>(bench: &B) -> Result<Cache, Stop> {
    Ok(caches(bench, 1)?[0])
}

/// Carries out actions that must succeed.
fn done<S: Stage>(stage: &mut S, actions: &[Action]) -> Checked {
    let outcomes = apply(stage, actions)?;
    let all = outcomes.iter().all(|outcome| *outcome == ActionOutcome::Done);
    ensure!(all, "{actions:?} came to {outcomes:?}");
    Ok(())
}

/// Carries out an action that must be refused, with a reason.
fn refused<S: Stage>(stage: &mut S, action: &Action) -> Checked {
    let outcome = act(stage, action.clone())?;
    ensure!(is_refusal(&outcome), "{action:?} came to {outcome:?}");
    Ok(())
}

fn is_refusal(outcome: &ActionOutcome) -> bool {
    matches!(outcome, ActionOutcome::Refused { .. }) && gives_reason(outcome)
}

/// Checks with the other witness which ways threads may fill.
fn expect<S: Stage>(stage: &mut S, cache: Cache, when: &str, expected: &[(Tid, u64)]) -> Checked {
    for (tid, mask) in expected {
        let Some(found) = stage.ways(cache.llc, *tid) else {
            return Err(Stop::Fails(format!("{when}: no witness knows what thread {tid} may fill")));
        };
        ensure!(found == *mask, "{when}: thread {tid} may fill {found:#x} of LLC {}, expected {mask:#x}", cache.llc);
    }
    Ok(())
}

/// The same mask for several threads.
fn with(threads: &[Tid], mask: u64) -> Vec<(Tid, u64)> {
    threads.iter().map(|tid| (*tid, mask)).collect()
}

fn only_the_cluster_s_threads<B: Bench>(bench: &B) -> Checked {
    let (cache, home) = (first(bench)?, home(bench)?);
    let (low, high) = cache.parts();
    let (mut stage, who) = open(bench, &[Subject::busy(3, home), Subject::busy(2, home)])?;
    let (inside, outside) = (&who[0][..2], [&who[0][2..], &who[1][..]].concat());
    expect(&mut stage, cache, "before", &with(&who.concat(), cache.all))?;
    done(&mut stage, &[cache.set("a", low, inside)])?;
    expect(&mut stage, cache, "in the cluster", &with(inside, low))?;
    expect(&mut stage, cache, "beside the cluster", &with(&outside, cache.all))?;
    done(&mut stage, &[cache.set("a", high, inside)])?;
    expect(&mut stage, cache, "with another mask", &with(inside, high))?;
    expect(&mut stage, cache, "beside the other mask", &with(&outside, cache.all))
}

fn one_cluster_or_none<B: Bench>(bench: &B) -> Checked {
    let cache = first(bench)?;
    let (low, high) = cache.parts();
    let (mut stage, who) = one(bench, 3)?;
    done(&mut stage, &[cache.set("a", low, &who[..2])])?;
    done(&mut stage, &[cache.set("b", high, &who[1..2])])?;
    let moved = [(who[0], low), (who[1], high), (who[2], cache.all)];
    expect(&mut stage, cache, "after the second moved on", &moved)?;
    done(&mut stage, &[cache.set("a", low, &who[1..])])?;
    let left = [(who[0], cache.all), (who[1], low), (who[2], low)];
    expect(&mut stage, cache, "after the first was named no more", &left)
}

fn the_empty_give_back<B: Bench>(bench: &B) -> Checked {
    let cache = first(bench)?;
    let (mut stage, who) = one(bench, cache.clusters)?;
    let last = cache.clusters - 1;
    done(&mut stage, &cache.each(&who))?;
    done(&mut stage, &[cache.set("d", cache.part(last + 1), &who[last..])])?;
    expect(&mut stage, cache, "in the class of a cluster that all left", &[(who[last], cache.part(last + 1))])?;
    done(&mut stage, &[cache.set("d", cache.part(0), &[])])?;
    expect(&mut stage, cache, "after its cluster was emptied", &[(who[last], cache.all)])?;
    done(&mut stage, &[cache.set("e", cache.part(last), &who[last..])])?;
    // Ways that the same plan frees count as free.
    done(&mut stage, &[cache.set("c0", cache.part(0), &[]), cache.set("f", cache.part(1), &who[..1])])?;
    expect(&mut stage, cache, "at the end", &[(who[0], cache.part(1)), (who[last], cache.part(last))])
}

fn the_ended_give_back<B: Bench>(bench: &B) -> Checked {
    let (cache, home) = (first(bench)?, home(bench)?);
    let stays = Subject::busy(isobar_model::num::narrow(cache.clusters), home);
    let (mut stage, who) = open(bench, &[stays, Subject::busy(1, home).short()])?;
    let (spare, used) = (who[0][0], &who[0][1..]);
    done(&mut stage, &cache.each(&[used, &who[1][..]].concat()))?;
    refused(&mut stage, &cache.set("d", cache.part(0), &[spare]))?;
    stage.replace(1)?;
    let new = stage.identity(1)?.threads;
    sample(&mut stage)?;
    done(&mut stage, &[cache.set("d", cache.part(0), &[spare])])?;
    expect(&mut stage, cache, "in the class of the ended", &[(spare, cache.part(0)), (used[0], cache.part(0))])?;
    expect(&mut stage, cache, "in the place of the ended", &with(&new, cache.all))
}

fn two_llcs_two_clusters<B: Bench>(bench: &B) -> Checked {
    let caches = caches(bench, 2)?;
    let (here, there) = (caches[0], caches[1]);
    let (low, high) = here.parts();
    let (mut stage, who) = one(bench, 3)?;
    done(&mut stage, &[here.set("a", low, &who[..1]), there.set("a", high, &who[1..2])])?;
    let both = |stage: &mut B::Stage, when: &str, mask: u64| {
        expect(stage, here, when, &[(who[0], mask), (who[2], here.all)])?;
        expect(stage, there, when, &[(who[1], high), (who[2], there.all)])
    };
    both(&mut stage, "one name on two LLCs", low)?;
    done(&mut stage, &[here.set("a", low << 1, &who[..1])])?;
    both(&mut stage, "after one of the two got other ways", low << 1)?;
    done(&mut stage, &[here.set("a", low, &[])])?;
    expect(&mut stage, here, "after one of the two was emptied", &[(who[0], here.all)])?;
    expect(&mut stage, there, "after the other was emptied", &[(who[1], high)])
}

fn masks_are_refused<B: Bench>(bench: &B) -> Checked {
    let cache = first(bench)?;
    let (low, _) = cache.parts();
    let (mut stage, who) = one(bench, cache.clusters)?;
    done(&mut stage, &[cache.set("a", low, &who[..1])])?;
    let beyond = cache.all.checked_add(1).map(|beyond| beyond | cache.all);
    let wrong = [Some(0), beyond, beyond.map(|beyond| beyond & !cache.all), Some(0b1001)];
    for mask in wrong.into_iter().flatten() {
        for (cluster, threads) in [("a", &who[..1]), ("b", &who[1..2])] {
            let outcome = act(&mut stage, cache.set(cluster, mask, threads))?;
            if mask == 0b1001 && outcome == ActionOutcome::Done {
                // Some caches accept masks with gaps; then the threads may fill exactly these ways.
                expect(&mut stage, cache, "with gaps", &with(threads, mask))?;
                done(&mut stage, &[cache.set("b", low, &[]), cache.set("a", low, &who[..1])])?;
                continue;
            }
            ensure!(is_refusal(&outcome), "the mask {mask:#x} came to {outcome:?}");
            expect(&mut stage, cache, "after a refusal", &[(who[0], low), (who[1], cache.all)])?;
        }
    }
    // A refused action does not use up a class.
    done(&mut stage, &[cache.set("a", low, &[])])?;
    done(&mut stage, &cache.each(&who))
}

fn one_class_too_many<B: Bench>(bench: &B) -> Checked {
    let cache = first(bench)?;
    let (mut stage, who) = one(bench, cache.clusters + 1)?;
    let as_asked: Vec<_> = who[..cache.clusters].iter().enumerate().map(|(at, tid)| (*tid, cache.part(at))).collect();
    let outcomes = apply(&mut stage, &cache.each(&who))?;
    let (last, others) = outcomes.split_last().ok_or_else(|| Stop::Fails("no outcomes".to_owned()))?;
    ensure!(others.iter().all(|outcome| *outcome == ActionOutcome::Done), "clusters that fit came to {others:?}");
    ensure!(is_refusal(last), "one cluster more than {} came to {last:?}", cache.clusters);
    expect(&mut stage, cache, "clusters that fit", &as_asked)?;
    expect(&mut stage, cache, "the thread for which no class was left", &with(&who[cache.clusters..], cache.all))?;
    // A thread whose new cluster is refused also stays in its old cluster.
    done(&mut stage, &[cache.set("c0", cache.part(0), &[who[0], who[cache.clusters]])])?;
    refused(&mut stage, &cache.set("more", cache.part(1), &who[cache.clusters..]))?;
    expect(&mut stage, cache, "after another try", &as_asked)?;
    expect(&mut stage, cache, "in its own cluster still", &with(&who[cache.clusters..], cache.part(0)))
}

fn the_ended_are_ordinary<B: Bench>(bench: &B) -> Checked {
    let (cache, home) = (first(bench)?, home(bench)?);
    let (low, high) = cache.parts();
    let (mut stage, who) = open(bench, &[Subject::busy(2, home), Subject::busy(2, home).short()])?;
    let stranger = Tid(4_000_000_000);
    done(&mut stage, &[cache.set("a", low, &[who[0][0], stranger])])?;
    let outcome = act(&mut stage, cache.set("b", high, &[stranger]))?;
    ensure!(outcome == ActionOutcome::Vanished, "a cluster without threads came to {outcome:?}");
    done(&mut stage, &[cache.set("c", high, &[&who[0][1..], &who[1][..]].concat())])?;
    stage.replace(1)?;
    let new = stage.identity(1)?.threads;
    let outcome = act(&mut stage, cache.set("d", high, &who[1]))?;
    ensure!(outcome == ActionOutcome::Vanished, "a cluster of the ended came to {outcome:?}");
    done(&mut stage, &[cache.set("c", high, &[&who[0][1..], &who[1][..]].concat())])?;
    expect(&mut stage, cache, "who goes on", &[(who[0][0], low), (who[0][1], high)])?;
    expect(&mut stage, cache, "who came after the ended", &with(&new, cache.all))
}

fn one_cluster_taken_back<B: Bench>(bench: &B) -> Checked {
    let cache = first(bench)?;
    let (low, high) = cache.parts();
    let (mut stage, who) = one(bench, 3)?;
    let both = [cache.set("a", low, &who[..1]), cache.set("b", high, &who[1..2])];
    done(&mut stage, &both)?;
    let outcome = stage.machine().undo(&both[0], &ActionOutcome::Done)?;
    ensure!(outcome == ActionOutcome::Done, "taking cluster a back came to {outcome:?}");
    expect(&mut stage, cache, "after one was taken back", &[(who[0], cache.all), (who[1], high)])?;
    stage.machine().restore()?;
    expect(&mut stage, cache, "after restore", &with(&who, cache.all))
}

fn every_way_again<B: Bench>(bench: &B) -> Checked {
    let cache = first(bench)?;
    let (low, high) = cache.parts();
    let (mut stage, who) = one(bench, 3)?;
    for when in ["after restore", "after using it again, and restoring again"] {
        done(&mut stage, &[cache.set("a", low, &who[..1]), cache.set("b", high, &who[1..2])])?;
        expect(&mut stage, cache, "before restore", &[(who[0], low), (who[1], high)])?;
        stage.machine().restore()?;
        expect(&mut stage, cache, when, &with(&who, cache.all))?;
        let again = stage.machine().restore()?;
        ensure!(again.effective() == 0, "there was nothing left to put back, and it did {again:?}");
        expect(&mut stage, cache, "after restoring twice", &with(&who, cache.all))?;
        sample(&mut stage)?;
    }
    Ok(())
}
