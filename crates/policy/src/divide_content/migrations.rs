//! Decides which threads change their group, and which CPUs they get: the CPUs of threads that
//! leave are free for those that come.

use super::core_groups::CoreGroups;
use super::partitioner::Partitioner;
use crate::kit::load::Load;
use isobar_model::{Action, CpuId, Observation, Pid, Process, Thread, Tid};
use isobar_partition::balance::Program;

/// A thread that changes its group.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// The group that it leaves.
    pub from: usize,
    /// The group that it joins.
    pub to: usize,
}

/// A thread that is to change its group.
struct Leaving<'a> {
    process: &'a Process,
    thread: &'a Thread,
    from: usize,
    to: usize,
}

/// A balancing of two groups: their programs, by position, as they are now, and the threads that
/// each program will have on either side.
pub struct Balanced<'a> {
    /// The two groups.
    pub pair: [usize; 2],
    /// Positions of the programs in the observation.
    pub members: &'a [usize],
    /// The programs as they are now.
    pub programs: &'a [Program],
    /// Threads of each program on either side afterwards.
    pub after: &'a [[usize; 2]],
}

/// The seat of every thread, as far as it is planned.
#[derive(Debug, Default)]
pub struct Migrations {
    load: Load,
    /// Threads that this epoch's plan moves.
    moving: Vec<Tid>,
    /// Threads that were asked to stay on a group, ascending. A thread that does not stay is not
    /// asked again.
    asked: Vec<(Tid, usize)>,
}

impl Migrations {
    /// Begins an epoch: every thread sits where it ran.
    pub fn observe(&mut self, seen: &Observation, CoreGroups { domains, .. }: &CoreGroups) {
        self.moving.clear();
        self.load = Load::of(domains, vec![0; domains.seats.len()]);
        let seats = seen.threads().filter_map(|(_, thread)| domains.seat_of(thread.cpu?));
        seats.for_each(|seat| self.load.add(domains, seat));
    }

    /// Adds the actions of a balancing; `why` states the pair's loads in words. A thread stays if
    /// every CPU of the other group has more threads than its own.
    pub fn carry_out(
        &mut self,
        seen: &Observation,
        partitioner: &Partitioner,
        balanced: &Balanced<'_>,
        why: &str,
        actions: &mut Vec<Action>,
    ) -> Vec<Moved> {
        let core_groups = partitioner.groups();
        let domains = &core_groups.domains;
        let leaving = leaving(seen, partitioner, balanced);
        let seat = |thread: &Thread| domains.seat_of(thread.cpu?);
        leaving.iter().filter_map(|one| seat(one.thread)).for_each(|seat| self.load.remove(domains, seat));
        let mut moved = Vec::with_capacity(leaving.len());
        for Leaving { process, thread, from, to } in leaving {
            let Some(old) = seat(thread) else { continue };
            let best = core_groups.best(&self.load, to, thread);
            let best = best.filter(|best| self.load.on(*best) <= self.load.on(old));
            self.load.add(domains, best.unwrap_or(old));
            let Some(best) = best else { continue };
            let id = core_groups.list[to].id;
            let reason = format!("{why}: {} goes to llc {id}", process.name);
            actions.push(Action::MoveThread {
                pid: process.pid,
                tid: thread.tid,
                cpu: domains.seat(best).cpu,
                cpus: None,
                reason,
            });
            self.moving.push(thread.tid);
            moved.push(Moved { pid: process.pid, tid: thread.tid, from, to });
        }
        moved
    }

    /// Binds unbound threads where they run, or on another CPU of the group if they share one,
    /// because the kernel's scheduler would otherwise change the groups. Each thread is asked once
    /// on each group. If there are more threads than CPUs, the kernel distributes unbound threads
    /// over the CPUs. It cannot do so with threads that are bound to one CPU, so these are spread
    /// here.
    pub fn settle(&mut self, seen: &Observation, partitioner: &Partitioner, actions: &mut Vec<Action>) {
        let groups = 0..partitioner.groups().list.len();
        let threads: usize = groups.clone().map(|group| partitioner.crowd(group)).sum();
        let crowded = threads > partitioner.groups().domains.seats.len();
        let before = std::mem::take(&mut self.asked);
        for (process, thread) in seen.threads() {
            let (Some(group), false) = (partitioner.llc_of(thread), thread.pinned || self.moving.contains(&thread.tid))
            else {
                continue;
            };
            let moved = match thread.bound {
                Some(false) if crowded || partitioner.is_oversubscribed(group) => None,
                Some(false) => {
                    self.asked.push((thread.tid, group));
                    let is_new = before.binary_search(&(thread.tid, group)).is_err();
                    is_new.then(|| self.bind(partitioner.groups(), group, thread)).flatten()
                }
                Some(true) => self.spread(partitioner.groups(), group, thread),
                None => None,
            };
            let Some((cpu, reason)) = moved else { continue };
            actions.push(Action::MoveThread { pid: process.pid, tid: thread.tid, cpu, cpus: None, reason });
        }
        self.asked.sort_unstable();
    }

    fn bind(&mut self, core_groups: &CoreGroups, group: usize, thread: &Thread) -> Option<(CpuId, String)> {
        let cpu = self.own_cpu(core_groups, group, thread)?;
        let llc = core_groups.list[group].id;
        Some((cpu, format!("stays on llc {llc}: bound because the kernel's scheduler could move it elsewhere")))
    }

    /// A CPU of a bound thread's group that has at least two threads fewer than the thread's own.
    fn spread(&mut self, core_groups: &CoreGroups, group: usize, thread: &Thread) -> Option<(CpuId, String)> {
        let domains = &core_groups.domains;
        let own = domains.seat_of(thread.cpu?)?;
        let here = self.load.on(own);
        let best = core_groups.best(&self.load, group, thread).filter(|best| self.load.on(*best) + 2 <= here)?;
        let there = self.load.on(best);
        self.load.remove(domains, own);
        self.load.add(domains, best);
        let cpu = domains.seat(best).cpu;
        Some((cpu, format!("its cpu has {here} threads, cpu {cpu} of the same llc has {there}")))
    }

    /// The CPU on which a thread stays: its own if no other thread is there.
    fn own_cpu(&mut self, core_groups: &CoreGroups, group: usize, thread: &Thread) -> Option<CpuId> {
        let domains = &core_groups.domains;
        let own = domains.seat_of(thread.cpu?)?;
        let allowed = thread.may_run_on(thread.cpu?);
        if allowed && self.load.on(own) <= 1 {
            return thread.cpu;
        }
        self.load.remove(domains, own);
        let best = core_groups.best(&self.load, group, thread);
        self.load.add(domains, best.unwrap_or(own));
        best.map(|seat| domains.seat(seat).cpu)
    }
}

/// The threads that change sides. Of a program that gives some away, those with the highest ids
/// leave first, and its reference thread last.
fn leaving<'a>(seen: &'a Observation, partitioner: &Partitioner, balanced: &Balanced<'_>) -> Vec<Leaving<'a>> {
    let mut leaving = Vec::new();
    for ((member, program), after) in balanced.members.iter().zip(balanced.programs).zip(balanced.after) {
        let side = usize::from(after[1] < program.threads[1]);
        let count = program.threads[side].saturating_sub(after[side]);
        if count == 0 {
            continue;
        }
        let (from, to) = (balanced.pair[side], balanced.pair[1 - side]);
        let process = &seen.processes[*member];
        let reference = partitioner.programs()[*member].reference;
        let here = |thread: &&Thread| partitioner.llc_of(thread) == Some(from);
        let mut threads: Vec<&Thread> = process.threads.iter().filter(here).collect();
        threads.sort_by_key(|thread| (Some(thread.tid) == reference, std::cmp::Reverse(thread.tid)));
        leaving.extend(threads.into_iter().take(count).map(|thread| Leaving { process, thread, from, to }));
    }
    leaving
}
