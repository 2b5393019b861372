//! Threads that may have begun to make another before they were put back, and have not ended that:
//! what they make has the mask that we gave them, and is seen only when it is made.

use super::ledger::Ledger;
use crate::kernel::cloning::{self, Making};
use crate::kernel::identity;
use crate::kernel::stat::Stat;
use isobar_model::{Pid, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The threads of all processes that were changed, looked at since all were put back.
#[derive(Debug, Default)]
pub struct Forking {
    /// What these had begun before they were put back has ended.
    done: BTreeSet<(Pid, Tid, u64)>,
    /// Their user time at the first look, in clock ticks.
    at_work: BTreeMap<(Pid, Tid, u64), u64>,
}

impl Forking {
    /// Looks at every thread of the ledger's processes; whether some may still be at work. Those
    /// that are not are looked at once.
    pub fn look(&mut self, ledger: &Ledger) -> bool {
        let mut at_work = BTreeMap::new();
        for (pid, tid, stat) in ledger.processes.keys().flat_map(|pid| threads(*pid)) {
            let one = (pid, tid, stat.start);
            if self.done.contains(&one) {
                continue;
            }
            let look = cloning::look(pid, tid, &stat);
            let first = self.at_work.get(&one).copied();
            match (look, first) {
                (Making::Perhaps { user_ticks }, None) => drop(at_work.insert(one, user_ticks)),
                (Making::Perhaps { .. }, Some(first)) if !look.is_over_since(first) => {
                    at_work.insert(one, first);
                }
                _ => drop(self.done.insert(one)),
            }
        }
        self.at_work = at_work;
        !self.at_work.is_empty()
    }

    /// The threads that were still at work at the last look, by process.
    pub fn left(&self) -> BTreeMap<Pid, usize> {
        let mut left = BTreeMap::new();
        self.at_work.keys().for_each(|(pid, ..)| *left.entry(*pid).or_default() += 1);
        left
    }
}

fn threads(pid: Pid) -> impl Iterator<Item = (Pid, Tid, Stat)> {
    let task = move |tid| identity::task(pid, tid).map(|task| (pid, tid, task));
    identity::threads(pid).into_iter().filter_map(task)
}
