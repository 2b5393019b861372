//! Divides the ways of a cache into two partitions: one for programs that gain little from more
//! space but fill it all the same, the other for the rest. If the machine supports it, the programs
//! in the first partition may also be limited to a share of the memory bandwidth. The effect of a
//! division is predicted from the miss curves, without sampling: programs are never slowed down
//! only to be measured. A division is a trial like any other change. An exploration is a division
//! that is not likely to pay and is tried to learn what space is worth to programs.
//!
//! A program that comes to a divided cache gets the partition that its name had. A division makes
//! way when a program without a known partition is brought to its cache, or when the last program
//! leaves one of the partitions. It comes back if that move is rolled back. It ends when the
//! programs that are there now would be faster without it.

use super::config::Config;
use super::division::{Division, Proposal, best, members};
use super::guests::is_open;
use super::memory::Memory;
use super::part::{Guests, Part};
use super::predict::{Predictors, solutions};
use super::programs::Programs;
use super::reading::FEW;
use super::scene::{Arrangement, Scene};
use crate::divide_content::capacity::Capacity;
use crate::kit::domains::Domains;
use isobar_model::{Action, LlcId, Observation, Pid, Tid, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Clusters of the programs that make little use of space, and of the rest.
const NAMES: [(&str, bool); 2] = [("isobar-streams", true), ("isobar-rest", false)];

/// Fewest arrangements that must be solvable in an epoch for an exploration to be considered.
const EXPLORE_SOLUTIONS: u32 = 6;

/// The divisions of all caches.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    divided: BTreeMap<usize, Division>,
    /// By cache, the division that one on trial replaced.
    before: BTreeMap<usize, Division>,
    /// The caches whose earlier division is to be asked for again.
    again: BTreeSet<usize>,
    /// Divisions that come back once the threads for which they made way are back: those that wait
    /// for another epoch, and those that are due.
    returning: Vec<(usize, Division)>,
    due: Vec<(usize, Division)>,
    /// By cache, until when it is left alone, and how many divisions in a row did not help.
    rests: BTreeMap<usize, (f64, u32)>,
    /// The cache that was considered last.
    turn: usize,
    /// By cache, the number of epochs until an exploration is next considered. That costs as much
    /// as everything else, and what is not known stays unknown meanwhile.
    waits: BTreeMap<usize, u32>,
    /// By cache, until when it is not explored, and how many explorations in a row did not help. If
    /// such a cache is divided, its division was an exploration that brought nothing.
    explored: BTreeMap<usize, (f64, u32)>,
}

impl Ways {
    /// Goes back to earlier divisions. Which caches were considered stays.
    pub fn go_back(&mut self, before: Self) {
        let (turn, waits) = (self.turn, std::mem::take(&mut self.waits));
        *self = Self { turn, waits, ..before };
    }

    /// What a program may take of a cache.
    #[must_use]
    pub fn part(&self, llc: usize, pid: Pid) -> Part {
        let part = |division: &Division| {
            let own = division.members.iter().find(|(member, _)| *member == pid);
            own.map(|(_, streams)| division.part(*streams))
        };
        self.divided.get(&llc).and_then(part).unwrap_or(Part::ALL)
    }

    /// Whether a cache is divided.
    #[must_use]
    pub fn is_divided(&self, llc: usize) -> bool {
        self.divided.contains_key(&llc)
    }

    /// What each program would take of the caches that are divided, if it came to them.
    #[must_use]
    pub fn guests(&self, seen: &Observation, scene: &Scene) -> Guests {
        let programs = || seen.processes.iter().zip(&scene.traits);
        let of = |division: &Division| programs().map(|(one, own)| division.guest(&one.name, own.protected)).collect();
        self.divided.iter().map(|(llc, division)| (*llc, of(division))).collect()
    }

    /// Adapts divisions to the programs that are there now. A program that comes gets the part that
    /// its name had, otherwise that of the rest. A division is removed if all programs together
    /// would be faster without it. It is also removed, unless it is on trial, if a bandwidth share
    /// costs a program more than twice the fraction `most`.
    pub fn follow(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        predictors: &Predictors<'_>,
        (on_trial, most): (Option<usize>, f64),
        actions: &mut Vec<Action>,
    ) {
        let (scene, memory) = (predictors.scene, predictors.memory);
        for (llc, division) in std::mem::take(&mut self.due) {
            self.divided.entry(llc).or_insert(division);
            self.again.insert(llc);
        }
        self.due = std::mem::take(&mut self.returning);
        let llcs: Vec<usize> = self.divided.keys().copied().collect();
        let again = std::mem::take(&mut self.again);
        for llc in llcs {
            let Some(division) = self.divided.get_mut(&llc) else { continue };
            let now = members(seen, scene, memory, llc);
            let same = division.members.iter().map(|(pid, _)| *pid).eq(now.iter().map(|(pid, _)| *pid));
            let protected = |unit: usize| scene.traits[scene.units[unit].program].protected;
            let claims = now.iter().any(|(pid, at)| protected(*at) && division.members.contains(&(*pid, true)));
            let changed = !same || claims || again.contains(&llc);
            let most = Some(most).filter(|_| division.is_limited() && on_trial != Some(llc));
            if changed {
                division.take(seen, scene, &now);
            } else if most.is_none() {
                continue;
            }
            if let Some(why) = division.outlived(predictors, &now, changed, most) {
                self.remove(seen, llc, why, actions);
            } else if changed {
                let division = division.clone();
                set(seen, domains, memory, (llc, &division), "divided as before", actions);
            }
        }
    }

    /// Removes the divisions of caches between which threads move, if these caches are open to all
    /// `after` the move. Returns what was removed.
    pub fn open(
        &mut self,
        seen: &Observation,
        memory: &Memory,
        caches: &[usize],
        after: &Arrangement,
        actions: &mut Vec<Action>,
    ) -> Vec<(usize, Division)> {
        let mut opened = Vec::new();
        for llc in caches.iter().copied().filter(|llc| is_open(memory, after, *llc, None)) {
            opened.extend(self.divided.get(&llc).map(|division| (llc, division.clone())));
            self.remove(seen, llc, "a program moves to or from this cache", actions);
        }
        opened
    }

    /// Brings divisions that made way for threads back once those threads are back.
    pub fn close(&mut self, opened: &[(usize, Division)]) {
        self.returning.extend(opened.iter().cloned());
    }

    /// Removes a division.
    pub fn remove(&mut self, seen: &Observation, llc: usize, why: &str, actions: &mut Vec<Action>) {
        self.before.remove(&llc);
        let (Some(division), Some(id)) = (self.divided.remove(&llc), id(seen, llc)) else { return };
        for (name, streams) in NAMES {
            actions.push(Action::SetWays {
                llc: id,
                cluster: name.to_owned(),
                way_mask: division.part(streams).mask,
                memory_bandwidth_percent: None,
                threads: Vec::new(),
                reason: format!("all programs may use every way: {why}"),
            });
        }
    }

    /// The machine refused a division, so there is none.
    pub fn forget(&mut self, llc: LlcId, machine: &Topology) {
        if let Some(at) = machine.llcs().iter().position(|other| other.id == llc) {
            self.divided.remove(&at);
            self.before.remove(&at);
        }
    }

    /// A division did not help: its cache is left alone, twice as long each time. If it was an
    /// exploration, only explorations are held back.
    pub fn fail(&mut self, llc: usize, explored: bool, now: f64, rest: f64) {
        let rests = if explored { &mut self.explored } else { &mut self.rests };
        let (until, failures) = rests.entry(llc).or_default();
        *until = now + rest * f64::from(1u32 << (*failures).min(12));
        *failures += 1;
    }

    /// The best division of the next cache, if it pays, or if it might pay by what is not known yet
    /// of its programs.
    pub fn propose(
        &mut self,
        seen: &Observation,
        (predictors, programs): (&Predictors<'_>, &Programs),
        config: &Config,
        margin: f64,
        explores: bool,
    ) -> Option<Proposal> {
        let (scene, memory) = (predictors.scene, predictors.memory);
        let llcs = seen.machine.llcs();
        let next = (0..llcs.len()).map(|k| (self.turn + 1 + k) % llcs.len()).find(|llc| {
            let rests = self.rests.get(llc).is_some_and(|(until, _)| seen.time.0 < *until);
            !rests && !self.before.contains_key(llc)
        })?;
        self.turn = next;
        let capacity = Capacity::of(&seen.machine, &llcs[next]).filter(Capacity::is_divisible)?;
        let asked = (next, capacity, margin);
        let likely = best(seen, (predictors, None), config, asked);
        // A division that pays is not given up for a hope. An exploration that neither harmed nor
        // helped is given up.
        let pays = self.divided.contains_key(&next) && !self.explored.contains_key(&next);
        if likely.is_some() || !explores || pays {
            return likely;
        }
        if !self.may_explore(seen, (scene, memory, config), next) {
            return None;
        }
        let hoped = scene.hoped(memory, programs);
        best(seen, (&Predictors::of(&hoped, memory), Some(predictors)), config, asked)
    }

    /// Whether to consider an exploration of a cache now. That is not done often, not if a single
    /// solution takes long, and only if all programs are known and some of them can be separated.
    fn may_explore(
        &mut self,
        seen: &Observation,
        (scene, memory, config): (&Scene, &Memory, &Config),
        llc: usize,
    ) -> bool {
        let rests = self.explored.get(&llc).is_some_and(|(until, _)| seen.time.0 < *until);
        let quick = solutions(config, scene.units.len()) >= EXPLORE_SOLUTIONS;
        if rests || !quick || !are_unlike(seen, scene, memory, llc) {
            return false;
        }
        // Each cache has its turn once in as many epochs as there are caches.
        let turns = u32::try_from(seen.machine.llcs().len()).unwrap_or(u32::MAX);
        let wait = self.waits.entry(llc).or_default();
        if *wait > 0 {
            *wait = wait.saturating_sub(turns);
            return false;
        }
        *wait = config.watch_epochs.saturating_sub(1);
        true
    }

    /// Carries a proposal out.
    pub fn divide(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        memory: &Memory,
        proposal: &Proposal,
        why: &str,
        actions: &mut Vec<Action>,
    ) {
        set(seen, domains, memory, (proposal.llc, &proposal.division), why, actions);
        if let Some(old) = self.divided.insert(proposal.llc, proposal.division.clone()) {
            self.before.insert(proposal.llc, old);
        }
    }

    /// Keeps a division that brought something.
    pub fn keep(&mut self, llc: usize) {
        self.stay(llc);
        self.rests.remove(&llc);
        self.explored.remove(&llc);
    }

    /// Keeps an exploration, whether or not it brought anything.
    pub fn stay(&mut self, llc: usize) {
        self.before.remove(&llc);
    }

    /// Rolls a division back. The division that it replaced is asked for again when divisions are
    /// next followed.
    pub fn take_back(&mut self, seen: &Observation, llc: usize, why: &str, actions: &mut Vec<Action>) {
        match self.before.remove(&llc) {
            Some(old) => {
                self.divided.insert(llc, old);
                self.again.insert(llc);
            }
            None => self.remove(seen, llc, why, actions),
        }
    }
}

/// Whether programs of at least two names that miss share a cache, all programs on it are known,
/// and no program that misses has a limit set by its owner. Only such programs are separated by an
/// exploration.
fn are_unlike(seen: &Observation, scene: &Scene, memory: &Memory, llc: usize) -> bool {
    let list = members(seen, scene, memory, llc);
    let traits = |at: usize| &scene.traits[scene.units[at].program];
    let missing = || list.iter().filter(|(_, at)| traits(*at).misses > FEW);
    let names: BTreeSet<&str> = missing().map(|(_, at)| &*seen.processes[scene.units[*at].program].name).collect();
    list.iter().all(|(_, at)| traits(*at).known)
        && names.len() > 1
        && !missing().any(|(_, at)| traits(*at).most.is_some())
}

/// Adds the actions that ask for a division.
fn set(
    seen: &Observation,
    domains: &Domains,
    memory: &Memory,
    (llc, division): (usize, &Division),
    why: &str,
    actions: &mut Vec<Action>,
) {
    let Some(id) = id(seen, llc) else { return };
    for (name, streams) in NAMES {
        let own = |pid: Pid| division.members.contains(&(pid, streams));
        let here = |thread: &isobar_model::Thread| {
            let domain = thread.cpu.and_then(|cpu| domains.domain_of(cpu));
            domain.is_some_and(|domain| memory.places[domain.0].llc == llc)
        };
        let threads: Vec<Tid> = seen
            .threads()
            .filter(|(process, thread)| own(process.pid) && here(thread))
            .map(|(_, thread)| thread.tid)
            .collect();
        let Part { mask, percent } = division.part(streams);
        let share = Some(percent).filter(|percent| *percent < 100);
        let ways = mask.count_ones();
        let what = share.map_or_else(
            || format!("{ways} ways"),
            |percent| format!("{ways} ways and {percent} % of the memory bandwidth"),
        );
        actions.push(Action::SetWays {
            llc: id,
            cluster: name.to_owned(),
            way_mask: mask,
            memory_bandwidth_percent: share,
            threads,
            reason: format!(
                "{what} for {}: {why}",
                if streams { "the streaming programs" } else { "all other programs" }
            ),
        });
    }
}

fn id(seen: &Observation, llc: usize) -> Option<LlcId> {
    seen.machine.llcs().get(llc).map(|llc| llc.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread};

    /// A cache with programs 1 and 2 in two parts is opened for program 3, and that is rolled back.
    /// The same division is there again one epoch later, and not while threads are on their way.
    #[test]
    fn a_division_that_made_way_comes_back_when_threads_have() {
        let running = (1..=3).map(|pid| process(pid, vec![thread(pid, if pid < 3 { pid } else { 5 }, 20.0)]));
        let seen = observation("node:2 core:4", running.collect());
        let domains = Domains::of(&seen.machine);
        let (scene, memory, _) = stage(&seen, 1, &Idle::default());
        let (streams, rest) = (Part { mask: 0b11, percent: 100 }, Part { mask: 0b1100, percent: 100 });
        let members = vec![(Pid(1), true), (Pid(2), false)];
        let names = BTreeMap::new();
        let mut ways = Ways::default();
        ways.divided.insert(0, Division { members: members.clone(), streams, rest, names });
        let mut actions = Vec::new();
        let opened = ways.open(&seen, &memory, &[0, 1], &scene.base, &mut actions);
        assert!(opened.len() == 1 && actions.len() == 2 && ways.divided.is_empty(), "{actions:?}");
        ways.close(&opened);
        let follow = |ways: &mut Ways| {
            let mut actions = Vec::new();
            ways.follow(&seen, &domains, &Predictors::of(&scene, &memory), (None, 0.05), &mut actions);
            actions.len()
        };
        assert!(follow(&mut ways) == 0 && ways.divided.is_empty());
        // Two actions: the division is asked for again, or removed as no longer of use by what is
        // known.
        assert!(follow(&mut ways) == 2 && follow(&mut ways) == 0);
    }
}
