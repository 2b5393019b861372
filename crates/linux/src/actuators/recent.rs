//! Tracks how long a mask that isobar gave may appear as an inherited one. A task inherits the mask
//! that its maker has, so a mask that no thread of a process has any more soon cannot be inherited:
//! a thread that has it later has it from its owner. "Soon", because sensors may overlook a new
//! thread of a process for a while.

use super::ledger::Ledger;
use super::mask_set::MaskSet;
use isobar_model::{CpuSet, Pid};
use std::collections::{BTreeMap, BTreeSet};

/// Number of samples after which even a sleeping thread has been read twice (see
/// [`crate::sensors::threads::table`]).
const LONG: u64 = 34;

/// When each mask of each process was last in use, counted in samples.
#[derive(Debug, Default)]
pub struct Recent {
    sample: u64,
    used: BTreeMap<(Pid, CpuSet), u64>,
}

impl Recent {
    /// Advances by one sample, and removes masks from the processes' histories that have not been
    /// in use for long. `kept` are masks that tasks of a process still have because the kernel
    /// refused to free them: those are in use, so that a restore reports the tasks.
    pub fn forget_the_old(&mut self, ledger: &mut Ledger, kept: &BTreeSet<(Pid, CpuSet)>) {
        self.sample += 1;
        for (&pid, process) in &mut ledger.processes {
            let mut current = MaskSet::default();
            process.threads.values().for_each(|thread| current.add(&thread.ours));
            kept.range((pid, CpuSet::new())..).take_while(|one| one.0 == pid).for_each(|one| current.insert(&one.1));
            let mut recent = MaskSet::default();
            for mask in process.history.masks().filter(|mask| self.is_recent(pid, mask, current.contains(mask))) {
                recent.insert(&mask);
            }
            process.history = recent;
        }
        let is_known = |(pid, mask): &(Pid, CpuSet)| {
            ledger.processes.get(pid).is_some_and(|process| process.history.contains(mask))
        };
        self.used.retain(|key, _| is_known(key));
    }

    /// Notes a mask, and returns whether it was in use lately. It counts as used when it is in use,
    /// and when it is first seen here.
    fn is_recent(&mut self, pid: Pid, mask: &CpuSet, current: bool) -> bool {
        let used = self.used.entry((pid, mask.clone())).or_insert(self.sample);
        if current {
            *used = self.sample;
        }
        self.sample - *used <= LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actuators::entries::{Entry, Original};
    use isobar_model::{CpuId, Tid};

    fn moved_to(ledger: &mut Ledger, cpu: u32) {
        let original = Original { cpus: "0-3".parse().unwrap(), ..Original::default() };
        let (pid, tid) = (Pid(7), Tid(7));
        let (cpu, mask) = (CpuId(cpu), [CpuId(cpu)].into_iter().collect());
        let entry = Entry { pid, pid_start: 1, tid, tid_start: 1, original, placed: None, cpu, mask };
        ledger.intend(&entry, 5);
        ledger.done(&entry, &entry.mask);
    }

    #[test]
    fn a_cpu_that_is_not_in_use_is_forgotten_after_a_while() {
        let (mut ledger, mut recent) = (Ledger::new("boot".into()), Recent::default());
        moved_to(&mut ledger, 1);
        recent.forget_the_old(&mut ledger, &BTreeSet::new());
        moved_to(&mut ledger, 2);
        let history = |ledger: &Ledger| ledger.processes[&Pid(7)].history.to_string();
        for _ in 0..LONG {
            recent.forget_the_old(&mut ledger, &BTreeSet::new());
            assert_eq!(history(&ledger), "1-2");
        }
        recent.forget_the_old(&mut ledger, &BTreeSet::new());
        assert_eq!(history(&ledger), "2", "in use, however long");
        moved_to(&mut ledger, 1);
        recent.forget_the_old(&mut ledger, &BTreeSet::new());
        assert_eq!(history(&ledger), "1-2", "in use again");
    }
    #[test]
    fn a_mask_that_the_kernel_refuses_to_lift_is_in_use() {
        let (mut ledger, mut recent) = (Ledger::new("boot".into()), Recent::default());
        moved_to(&mut ledger, 1);
        moved_to(&mut ledger, 2);
        let kept = [(Pid(7), "1".parse().unwrap()), (Pid(8), "2".parse().unwrap())].into();
        for _ in 0..=2 * LONG {
            recent.forget_the_old(&mut ledger, &kept);
        }
        assert_eq!(ledger.processes[&Pid(7)].history.to_string(), "1-2");
    }
}
