//! Selects the threads that take part in a layout, and groups them by the CPUs that they may use.
//! Threads that may run on the same CPUs are laid out together, the most confined group first. Each
//! group stays within its CPUs and takes into account which seats are taken. On most machines there
//! is one group.
//!
//! Two kinds of threads are left out: threads pinned by their owner, which keep their seats and
//! take them from others, and threads of which nothing is known yet.

use super::domains::{Domains, SeatId};
use isobar_model::{CpuSet, Observation, Pid, Thread};
use std::collections::BTreeMap;

/// A thread that a policy may place.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its process.
    pub pid: Pid,
    /// The process's position in the observation.
    pub process: usize,
    /// The thread's position among all threads of the observation.
    pub index: usize,
    /// The thread.
    pub thread: &'a Thread,
    /// Where it runs now.
    pub seat: Option<SeatId>,
}

impl Member<'_> {
    /// Whether an action is needed to have it on a seat: it runs elsewhere, or it is there only by
    /// chance, where the kernel's scheduler may move it at any time.
    #[must_use]
    pub fn must_go_to(&self, seat: SeatId) -> bool {
        self.seat != Some(seat) || self.thread.bound == Some(false)
    }
}

/// Threads that may run on the same CPUs.
#[derive(Debug)]
pub struct Group<'a> {
    /// The CPUs, if they are not all.
    pub allowed: Option<&'a CpuSet>,
    /// Members, ascending by pid, then tid, as positions in [`Groups::members`].
    pub members: Vec<usize>,
}

/// All groups of an observation.
#[derive(Debug)]
pub struct Groups<'a> {
    /// Every thread that may be placed, ascending by pid, then tid.
    pub members: Vec<Member<'a>>,
    /// The most confined first; the unconfined last.
    pub groups: Vec<Group<'a>>,
    /// Number of threads on each seat that no plan moves.
    pub load: Vec<u32>,
    /// Threads left out because they are pinned by their owner.
    pub pinned: usize,
    /// Threads left out because they were not measured.
    pub unmeasured: usize,
}

impl<'a> Groups<'a> {
    /// Groups the threads of an observation; `known` says whether enough is known of a thread
    /// (given its position among all) to place it.
    pub fn of(seen: &'a Observation, domains: &Domains, known: impl Fn(usize, &Thread) -> bool) -> Self {
        let total = seen.processes.iter().map(|process| process.threads.len()).sum();
        let mut found = Self {
            members: Vec::with_capacity(total),
            groups: Vec::new(),
            load: vec![0; domains.seats.len()],
            pinned: 0,
            unmeasured: 0,
        };
        let mut index = 0;
        for (number, process) in seen.processes.iter().enumerate() {
            for thread in &process.threads {
                let known = known(index, thread);
                let member = Member { pid: process.pid, process: number, index, thread, seat: None };
                found.add(member, known, process.elsewhere, domains);
                index += 1;
            }
        }
        found.form(seen.machine.online());
        found
    }

    fn add(&mut self, mut member: Member<'a>, known: bool, elsewhere: bool, domains: &Domains) {
        member.seat = member.thread.cpu.and_then(|cpu| domains.seat_of(cpu));
        if member.thread.pinned {
            self.pinned += usize::from(!elsewhere);
            let runs = member.thread.instructions != Some(0);
            if let Some(seat) = member.seat.filter(|_| runs) {
                self.load[seat.0] += 1;
            }
        } else if known {
            self.members.push(member);
        } else {
            self.unmeasured += 1;
        }
    }

    fn form(&mut self, online: &CpuSet) {
        let mut confined: BTreeMap<(usize, &CpuSet), Vec<usize>> = BTreeMap::new();
        let mut free = Vec::with_capacity(self.members.len());
        for (index, member) in self.members.iter().enumerate() {
            match member.thread.allowed_cpus.as_ref().filter(|allowed| !online.is_subset(allowed)) {
                Some(allowed) => confined.entry((allowed.len(), allowed)).or_default().push(index),
                None => free.push(index),
            }
        }
        self.groups = confined.into_iter().map(|((_, cpus), members)| Group { allowed: Some(cpus), members }).collect();
        if !free.is_empty() {
            self.groups.push(Group { allowed: None, members: free });
        }
    }

    /// What was left out, in words; empty if nothing was.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.members.is_empty() && self.unmeasured > 0 {
            notes.push(format!("nothing to decide: no miss rate was measured for {}", threads(self.unmeasured)));
        } else if self.unmeasured > 0 {
            notes.push(format!("{} left alone: not measured yet", threads(self.unmeasured)));
        }
        if self.pinned > 0 {
            notes.push(format!("{} left alone: pinned by their owner", threads(self.pinned)));
        }
        notes
    }
}

fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}
