//! What must be true after an end: every thread has all CPUs or those that its owner wanted, or
//! isobar reported that it does not. The verdict is based on procfs and on isobar's output.

use crate::evidence::{Cpus, Task, listed};
use crate::family::Family;
use crate::setup::Setup;
use crate::subject::{Id, Subject, Wish};
use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::Duration;

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A thread is still bound by isobar, and isobar did not report it
    Bound,
    /// An owner's wish was lifted
    Owner,
    /// A state file is left without a message, or `restore` did not finish
    State,
    /// Files beside the state file
    Litter,
    /// Isobar took too long to end
    Slow,
    /// A process is left
    Process,
    /// Isobar ended before it was made to end
    Early,
    /// The recording does not open, lacks epochs, or leads to other decisions
    Recording,
}

impl Class {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Owner => "owner's pin lifted",
            Self::State => "state file",
            Self::Litter => "litter",
            Self::Slow => "slow",
            Self::Process => "process left",
            Self::Early => "ended early",
            Self::Recording => "recording",
        }
    }
}

/// Something wrong.
pub type Problem = (Class, String);

/// The state of the threads after the end.
#[derive(Default)]
pub struct Threads {
    /// What is wrong with them.
    pub problems: Vec<Problem>,
    /// Threads that are wrong, but were reported by isobar.
    pub reported: usize,
    /// Pins to the same CPU that isobar had chosen, which cannot be distinguished from isobar's own
    /// from outside: how many are still there, and how many were lifted.
    pub same: (usize, usize),
}

/// Time between looks.
const BETWEEN: Duration = Duration::from_millis(200);

/// A thread whose CPUs are not as they should be.
struct Wrong {
    task: Task,
    wish: Option<Wish>,
}

/// Looks three times. A thread is wrong if it is wrong in two consecutive looks, because in one
/// look it may be between its wish and its pin.
pub fn threads(setup: &Setup, family: &mut Family, subject: &Subject, said: &str) -> Threads {
    let mut found: BTreeMap<Id, Wrong> = BTreeMap::new();
    let mut before = look(setup, family, subject);
    for _ in 0..2 {
        sleep(BETWEEN);
        let now = look(setup, family, subject);
        let ids: BTreeSet<Id> = before.keys().copied().collect();
        found.extend(before.into_iter().filter(|(id, _)| now.contains_key(id)));
        before = now.into_iter().filter(|(id, _)| !ids.contains(id)).collect();
    }
    judged(setup, found, subject, family, said)
}

fn judged(setup: &Setup, found: BTreeMap<Id, Wrong>, subject: &Subject, family: &mut Family, said: &str) -> Threads {
    let mut threads = Threads::default();
    for wrong in found.into_values() {
        if is_reported(said, &wrong.task) {
            threads.reported += 1;
        } else {
            threads.problems.push(wrong.problem(&setup.cpus));
        }
    }
    let wishes = subject.wishes();
    for task in subject.tasks(family) {
        let same = wishes.get(&(task.tid, task.start)).filter(|wish| wish.is_invisible());
        threads.same.0 += usize::from(same.is_some_and(|wish| wish.cpus == task.cpus));
        threads.same.1 += usize::from(same.is_some_and(|wish| wish.cpus != task.cpus));
    }
    threads
}

/// Threads whose CPUs are neither as they were nor as their owner wants them.
fn look(setup: &Setup, family: &mut Family, subject: &Subject) -> BTreeMap<Id, Wrong> {
    let tasks = subject.tasks(family);
    let wishes = subject.wishes();
    let wrong = tasks.into_iter().filter_map(|task| {
        let id = (task.tid, task.start);
        let wish = wishes.get(&id).cloned();
        let fine = match &wish {
            Some(wish) => task.cpus == wish.cpus || (wish.is_invisible() && task.cpus == setup.cpus),
            None => task.cpus == setup.cpus,
        };
        (!fine).then_some((id, Wrong { task, wish }))
    });
    wrong.collect()
}

/// Whether a thread without an owner's wish is bound, which shows that isobar is at work.
pub fn is_bound_by_isobar(setup: &Setup, family: &mut Family, subject: &Subject) -> bool {
    look(setup, family, subject).values().any(|wrong| wrong.wish.is_none())
}

impl Wrong {
    fn problem(&self, all: &Cpus) -> Problem {
        let Task { pid, tid, parent, start, cpus } = &self.task;
        let orphan = if *parent == i32::try_from(std::process::id()).unwrap_or(0) { ", an orphan" } else { "" };
        let who = format!("thread {tid} of process {pid} (parent {parent}{orphan}; started at tick {start})");
        let (has, all) = (listed(cpus), listed(all));
        match &self.wish {
            Some(wish) => {
                let (wanted, kind) = (listed(&wish.cpus), &wish.kind);
                (Class::Owner, format!("{who} has cpus {has}; its owner pinned it to {wanted} (pin of kind `{kind}`)"))
            }
            None => (Class::Bound, format!("{who} has cpus {has}; before isobar came it had {all}")),
        }
    }
}

/// Words in lines that report something left.
const TELLING: &[&str] =
    &["left", "still", "not put back", "could not", "cannot", "missed", "inherit", "refused", "bound"];
/// Words in lines that report something else: decisions, owners' threads that are not moved, whole
/// observations.
const OTHER: &[&str] = &["left alone", "belongs on", "\"observation\"", "[done]"];

/// Whether isobar reports a thread, by its id or by its process's id, as left in a wrong state.
fn is_reported(said: &str, task: &Task) -> bool {
    let named = |line: &str| names(line, task.pid) || names(line, task.tid);
    let telling = |line: &str| {
        let line = line.to_lowercase();
        TELLING.iter().any(|word| line.contains(word)) && !OTHER.iter().any(|word| line.contains(word))
    };
    said.lines().any(|line| named(line) && telling(line))
}

/// Whether a number appears in a line by itself, not as a part of a longer number.
fn names(line: &str, number: i32) -> bool {
    let number = number.to_string();
    line.split(|c: char| !c.is_ascii_digit()).any(|part| part == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: i32, tid: i32) -> Task {
        Task { pid, tid, start: 1, parent: 1, cpus: Cpus::from([0]) }
    }

    #[test]
    fn only_a_line_that_names_the_thread_and_says_what_is_left_counts() {
        let said = |text| is_reported(text, &task(12, 345));
        assert!(said("put back: 3 changes; still bound: 12, 99"));
        assert!(said("thread 345 could not be put back"));
        assert!(!said("still bound: 120, 3456"), "parts of longer numbers");
        assert!(!said("thread 345 to cpu 1: soak/1 belongs on cpu 1 [done]"), "a decision");
        assert!(!said("thread 345 is left alone: pinned by its owner"));
        assert!(!said("  12 soak 345"), "a table");
    }
}
