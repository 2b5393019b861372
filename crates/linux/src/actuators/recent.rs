//! For how long a CPU that we gave may turn up as an inherited mask. A task inherits the mask that
//! its maker has, so a CPU that no thread of a process is bound to any more is soon out of the
//! question: then a thread on that CPU was bound by its owner. Sensors may overlook a new thread of
//! a process for a while, hence "soon".

use super::ledger::Ledger;
use isobar_model::{CpuId, CpuSet, Pid};
use std::collections::BTreeMap;

/// Samples after which even a sleeper has been read twice (see [`crate::sensors::threads::table`]).
const LONG: u64 = 34;

/// When each CPU of each process was last in use, in samples.
#[derive(Debug, Default)]
pub struct Recent {
    sample: u64,
    used: BTreeMap<(Pid, CpuId), u64>,
}

impl Recent {
    /// One sample later: takes CPUs out of the processes' histories that have not been in use for
    /// long.
    pub fn forget_the_old(&mut self, ledger: &mut Ledger) {
        self.sample += 1;
        for (&pid, process) in &mut ledger.processes {
            let current: CpuSet = process.threads.values().flat_map(|thread| thread.ours.iter()).collect();
            process.history.iter().for_each(|cpu| self.note(pid, cpu, current.contains(cpu)));
            let recent = |cpu: &CpuId| self.used.get(&(pid, *cpu)).is_some_and(|used| self.sample - used <= LONG);
            process.history = process.history.iter().filter(recent).collect();
        }
        self.used
            .retain(|(pid, cpu), _| ledger.processes.get(pid).is_some_and(|process| process.history.contains(*cpu)));
    }

    /// A CPU counts as used when it is, and when it is first seen here.
    fn note(&mut self, pid: Pid, cpu: CpuId, current: bool) {
        let used = self.used.entry((pid, cpu)).or_insert(self.sample);
        if current {
            *used = self.sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actuators::entries::{Entry, Original};
    use isobar_model::Tid;

    fn moved_to(ledger: &mut Ledger, cpu: u32) {
        let original = Original { cpus: "0-3".parse().unwrap(), pinned: false };
        let (pid, tid) = (Pid(7), Tid(7));
        let entry = Entry { pid, pid_start: 1, tid, tid_start: 1, original, placed: None, cpu: CpuId(cpu) };
        ledger.intend(&entry, 5);
        ledger.done(&entry);
    }

    #[test]
    fn a_cpu_that_is_not_in_use_is_forgotten_after_a_while() {
        let (mut ledger, mut recent) = (Ledger::new("boot".into()), Recent::default());
        moved_to(&mut ledger, 1);
        recent.forget_the_old(&mut ledger);
        moved_to(&mut ledger, 2);
        let history = |ledger: &Ledger| ledger.processes[&Pid(7)].history.to_string();
        for _ in 0..LONG {
            recent.forget_the_old(&mut ledger);
            assert_eq!(history(&ledger), "1-2");
        }
        recent.forget_the_old(&mut ledger);
        assert_eq!(history(&ledger), "2", "in use, however long");
        moved_to(&mut ledger, 1);
        recent.forget_the_old(&mut ledger);
        assert_eq!(history(&ledger), "1-2", "in use again");
    }
}
