//! Watches threads that may have begun to make another task before they were put back and have not
//! finished. What they make has the mask that isobar gave them, and is seen only once it exists.

use super::ledger::Ledger;
use crate::kernel::cloning::{self, Making};
use crate::kernel::identity;
use crate::kernel::stat::Stat;
use isobar_model::{Pid, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The threads of all changed processes, watched since all of them were put back.
#[derive(Debug)]
pub struct Forking {
    /// When all were put back, in ticks since boot. Younger threads have no mask of ours.
    since: u64,
    /// Threads that have finished whatever they had begun before they were put back.
    done: BTreeSet<(Pid, Tid, u64)>,
    at_work: BTreeMap<(Pid, Tid, u64), AtWork>,
}

#[derive(Clone, Copy, Debug)]
struct AtWork {
    /// User time at the first look, in clock ticks.
    user_ticks: u64,
    /// Whether it was in a call that makes a thread or a process, at the last look.
    seen: bool,
}

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkState {
    /// No thread can still be making another.
    Done,
    /// Running threads may still be making others; that cannot be decided yet.
    Running,
    /// A thread is in a call that makes another.
    AtWork,
}

impl Forking {
    /// Starts watching now.
    pub fn begin() -> Self {
        Self { since: identity::ticks_now(), done: BTreeSet::new(), at_work: BTreeMap::new() }
    }

    /// Looks at the threads of the ledger's processes, at each until it cannot be making another
    /// any more.
    pub fn look(&mut self, ledger: &Ledger) -> ForkState {
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
            (true, _) => ForkState::Done,
            (false, false) => ForkState::Running,
            (false, true) => ForkState::AtWork,
        }
    }

    /// Number of threads that were seen in such a call at the last look, by process.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actuators::entries::ProcessEntry;
    use std::process::{Child, Command};
    use std::time::Instant;

    /// A shell that counts; it also ends by itself.
    struct Spinner(Child);

    impl Spinner {
        fn start() -> Self {
            let count = "i=0; while [ $i -lt 20000000 ]; do i=$((i + 1)); done";
            let spinner = Self(Command::new("sh").args(["-c", count]).spawn().expect("a shell is there"));
            let began = Instant::now();
            while spinner.user_ticks() == 0 && began.elapsed().as_secs() < 20 {}
            spinner
        }

        fn pid(&self) -> Pid {
            Pid(self.0.id())
        }

        fn user_ticks(&self) -> u64 {
            identity::process(self.pid()).map_or(0, |stat| stat.user_ticks)
        }

        fn ledger(&self) -> Ledger {
            let mut ledger = Ledger::new("boot".to_owned());
            let start = identity::process(self.pid()).expect("it lives").start;
            ledger.processes.insert(self.pid(), ProcessEntry::new(start, start));
            ledger
        }
    }

    impl Drop for Spinner {
        fn drop(&mut self) {
            let _ = self.0.kill().and_then(|()| self.0.wait());
        }
    }

    #[test]
    fn a_running_thread_is_waited_for_until_it_has_been_outside_the_kernel() {
        let spinner = Spinner::start();
        let (ledger, mut forking) = (spinner.ledger(), Forking::begin());
        let before = spinner.user_ticks();
        assert_eq!(forking.look(&ledger), ForkState::Running);
        let began = Instant::now();
        while forking.look(&ledger) == ForkState::Running && began.elapsed().as_secs() < 20 {}
        assert_eq!(forking.look(&ledger), ForkState::Done);
        assert!(spinner.user_ticks() >= before + 2, "two ticks of user time have passed");
        assert_eq!(forking.left(), BTreeMap::new(), "it was not seen in a fork");
    }

    #[test]
    fn threads_younger_than_the_put_back_are_not_waited_for() {
        let spinner = Spinner::start();
        let mut forking = Forking { since: 0, ..Forking::begin() };
        assert_eq!(forking.look(&spinner.ledger()), ForkState::Done);
    }

    #[test]
    fn a_process_whose_id_is_anothers_now_is_not_looked_at() {
        let spinner = Spinner::start();
        let mut ledger = spinner.ledger();
        ledger.processes.values_mut().for_each(|entry| entry.start -= 1);
        assert_eq!(Forking::begin().look(&ledger), ForkState::Done);
    }
}
