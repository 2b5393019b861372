//! Tracks which processes descend from the threads that isobar moved, and which threads their
//! owners bound: the kernel's events, applied to the ledger in the order in which they happened. A
//! child of a process in the ledger is entered before its parent can end, so daemons that fork
//! twice stay known. A thread that its owner binds is its owner's from then on, whatever its mask.
//!
//! What the kernel does not report is left to `inherited`, which recognises tasks by their masks.

use super::entries::{Owned, ProcessEntry};
use super::ledger::Ledger;
use super::namespaces::Makers;
use crate::kernel::identity;
use crate::kernel_events::{Event, Fork, KernelEvents, Pin, now};
use isobar_model::{CpuSet, Pid, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The kernel's events, and what is kept between readings of them.
#[derive(Debug)]
pub struct Lineage {
    pub(super) events: KernelEvents,
    /// When isobar last bound a thread, on the events' clock, and the mask that it had until then.
    /// A change by its owner that had not been read by then is contained in that mask.
    bound: BTreeMap<Tid, (u64, CpuSet)>,
    makers: Makers,
    ended: Ended,
    /// Number of affinity changes whose thread is not known.
    strange: u64,
}

/// Processes that had ended when their events were read, as parents of others. They are kept for
/// one more reading, because the event of a child may come with the next one.
#[derive(Debug, Default)]
struct Ended {
    reading: u64,
    processes: BTreeMap<Pid, (u64, ProcessEntry)>,
    /// Threads that their owners had bound.
    owned: BTreeMap<Tid, u64>,
}

impl Ended {
    fn age(&mut self) {
        let now = self.reading;
        self.processes.retain(|_, (reading, _)| *reading == now);
        self.owned.retain(|_, reading| *reading == now);
        self.reading += 1;
    }

    fn process(&self, pid: Pid) -> Option<&ProcessEntry> {
        self.processes.get(&pid).map(|(_, entry)| entry)
    }
}

impl Lineage {
    /// Follows these events.
    #[must_use]
    pub fn new(events: KernelEvents) -> Self {
        Self { events, bound: BTreeMap::new(), makers: Makers::default(), ended: Ended::default(), strange: 0 }
    }

    /// Notes that isobar has just bound this thread, which had the mask `before`.
    pub fn bound(&mut self, tid: Tid, before: CpuSet) {
        self.bound.insert(tid, (now(), before));
    }

    /// Which of the kernel's events are missed, a line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let strange = (self.strange > 0).then(|| {
            format!(
                "it is not known which process made {} changes of affinity: it has ended, or runs in a container; some \
                 may be bindings by owners",
                self.strange
            )
        });
        self.events.remarks().into_iter().chain(strange).collect()
    }

    /// Applies what happened since the last call.
    pub fn follow(&mut self, ledger: &mut Ledger) {
        let mut ended = std::mem::take(&mut self.ended);
        ended.age();
        for event in self.events.drain() {
            match event {
                Event::Fork(fork) => self.follow_fork(ledger, &mut ended, &fork),
                Event::Pin(pin) if pin.by == identity::own_pid() => {}
                Event::Pin(pin) => self.follow_pin(ledger, &mut ended, &pin),
            }
        }
        self.ended = ended;
    }

    /// Applies what happened since the last call, and returns whether all forks since the first
    /// change are known.
    pub fn follow_all(&mut self, ledger: &mut Ledger) -> bool {
        self.follow(ledger);
        self.events.forks_complete()
    }

    /// Forgets when threads were bound that are not in the ledger any more, and which process
    /// started which. It is not called while things are put back, because events of what a thread
    /// made just before are still to come.
    pub fn forget_the_old(&mut self, ledger: &Ledger) {
        self.makers.age();
        let known: BTreeSet<Tid> =
            ledger.processes.values().flat_map(|process| process.threads.keys().copied()).collect();
        self.bound.retain(|tid, _| known.contains(tid));
    }

    fn follow_pin(&mut self, ledger: &mut Ledger, ended: &mut Ended, pin: &Pin) {
        let Some(target) = self.makers.target(pin) else {
            self.strange += 1;
            return;
        };
        let overridden = self.bound.get(&target).filter(|(bound, _)| pin.time <= *bound);
        match (owned(target), overridden) {
            (Some(owned), Some((_, before))) => ledger.owner_had_wanted(owned.pid, target, before.clone()),
            (Some(owned), None) if is_family(ledger, owned.pid) => ledger.yield_to_owner(target, owned),
            (Some(_), None) => {}
            (None, _) => {
                ended.owned.insert(target, ended.reading);
            }
        }
    }

    fn follow_fork(&mut self, ledger: &mut Ledger, ended: &mut Ended, fork: &Fork) {
        // A new thread: its process is known or not, and the kernel does not say which thread made
        // it.
        if Tid(fork.child.0) != fork.child_thread {
            return;
        }
        self.makers.note(fork.parent, fork.child);
        // The id of a process that ended may have been reused.
        ended.processes.remove(&fork.child);
        let parent = ledger.processes.get(&fork.parent).or_else(|| ended.process(fork.parent));
        let by_owned = ledger.owned.contains_key(&fork.parent_thread) || ended.owned.contains_key(&fork.parent_thread);
        let bound = |parent: &&ProcessEntry| by_owned || self.may_be_bound_by_us(parent, fork);
        let Some(parent) = parent.filter(bound).cloned() else { return forget_reused(ledger, fork.child) };
        match identity::process(fork.child) {
            Some(child) => {
                ledger.adopt(fork.child, child.start, &parent);
                if by_owned {
                    ledger.yield_to_owner(fork.child_thread, Owned { pid: fork.child, start: child.start });
                }
            }
            None => {
                ended.processes.insert(fork.child, (ended.reading, parent));
                ended.owned.extend(by_owned.then_some((fork.child_thread, ended.reading)));
            }
        }
    }

    /// Whether the thread that made the child can have had a mask of ours: isobar moved it, or it
    /// is young enough to have inherited one. A thread that its owner had bound before isobar came,
    /// and that isobar left alone, hands on its owner's mask.
    fn may_be_bound_by_us(&self, parent: &ProcessEntry, fork: &Fork) -> bool {
        let thread = fork.parent_thread;
        let moved = parent.threads.contains_key(&thread) || self.bound.contains_key(&thread);
        let start = || identity::task(fork.parent, thread).map(|task| task.start);
        moved || start().is_none_or(|start| start >= parent.since)
    }
}

/// Drops the entry of a process that has ended and whose id was reused.
fn forget_reused(ledger: &mut Ledger, pid: Pid) {
    if ledger.processes.contains_key(&pid) {
        ledger.processes.retain(|other, entry| *other != pid || !identity::has_ended(pid, Tid(pid.0), entry.start));
    }
}

/// The process and the start time of a thread; `None` if it has ended.
fn owned(tid: Tid) -> Option<Owned> {
    let pid = identity::process_of(tid)?;
    Some(Owned { pid, start: identity::task(pid, tid)?.start })
}

fn is_family(ledger: &Ledger, pid: Pid) -> bool {
    ledger.processes.contains_key(&pid) || super::inherited::descends(ledger, pid)
}
