//! Threads that may have begun to make another before they were put back, and have not ended that:
//! what they make has the mask that we gave them, and is seen only when it is made.

use super::ledger::Ledger;
use crate::kernel::cloning::{self, Making};
use crate::kernel::identity;
use crate::kernel::stat::Stat;
use isobar_model::{Pid, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The threads of all processes that were changed, looked at since all were put back.
#[derive(Debug)]
pub struct Forking {
    /// When all were put back, in ticks since boot: younger threads have nothing of ours.
    since: u64,
    /// What these had begun before they were put back has ended.
    done: BTreeSet<(Pid, Tid, u64)>,
    at_work: BTreeMap<(Pid, Tid, u64), AtWork>,
}

#[derive(Clone, Copy, Debug)]
struct AtWork {
    /// User time at the first look, in clock ticks.
    user_ticks: u64,
    /// Whether it was in a call that makes a thread or a process at the last look.
    seen: bool,
}

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// No thread can be at work still.
    Done,
    /// Threads are running of which that cannot be said yet.
    Running,
    /// A thread is in a call that makes another.
    AtWork,
}

impl Forking {
    /// From now on.
    pub fn begin() -> Self {
        Self { since: identity::ticks_now(), done: BTreeSet::new(), at_work: BTreeMap::new() }
    }

    /// Looks at the threads of the ledger's processes, at each until it cannot be at work any more.
    pub fn look(&mut self, ledger: &Ledger) -> Look {
        let mut at_work = BTreeMap::new();
        let processes = ledger.processes.iter().filter(|(pid, entry)| identity::lives(**pid, Tid(pid.0), entry.start));
        for (pid, tid, stat) in processes.flat_map(|(pid, _)| threads(*pid)) {
            let one = (pid, tid, stat.start);
            if stat.start > self.since || self.done.contains(&one) {
                continue;
            }
            let look = cloning::look(pid, tid, &stat);
            let first = self.at_work.get(&one).map(|before| before.user_ticks);
            match look {
                Making::Perhaps { user_ticks, seen } if first.is_none_or(|first| !look.is_over_since(first)) => {
                    at_work.insert(one, AtWork { user_ticks: first.unwrap_or(user_ticks), seen });
                }
                _ => drop(self.done.insert(one)),
            }
        }
        self.at_work = at_work;
        match (self.at_work.is_empty(), self.at_work.values().any(|one| one.seen)) {
            (true, _) => Look::Done,
            (false, false) => Look::Running,
            (false, true) => Look::AtWork,
        }
    }

    /// The threads that were seen at work at the last look, by process.
    pub fn left(&self) -> BTreeMap<Pid, usize> {
        let mut left = BTreeMap::new();
        let seen = self.at_work.iter().filter(|(_, one)| one.seen);
        seen.for_each(|((pid, ..), _)| *left.entry(*pid).or_default() += 1);
        left
    }
}

fn threads(pid: Pid) -> impl Iterator<Item = (Pid, Tid, Stat)> {
    let task = move |tid| identity::task(pid, tid).map(|task| (pid, tid, task));
    identity::threads(pid).into_iter().filter_map(task)
}
