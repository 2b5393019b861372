//! Small changes of an arrangement: a thread moves to another cache, two threads change places, an
//! application's pages move elsewhere, ways go from one set to another, or an application joins
//! another set of ways or gets a set of its own.

use super::choices::Choice;
use isobar_sim::Workload;
use isobar_sim::arrangement::{Arrangement, Room, Sharing};

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A thread of an application moves to a cache.
    Thread { app: usize, thread: usize, room: usize },
    /// Two threads change places.
    Exchange { one: (usize, usize), other: (usize, usize) },
    /// An application's pages move to one of its choices.
    Pages { app: usize, choice: usize },
    /// A way of a cache goes from one set to another.
    Way { room: usize, from: usize, to: usize },
    /// An application on a cache joins another set; with no set given, it gets a set of its own
    /// with half of the ways of its old set.
    Set { room: usize, app: usize, to: Option<usize> },
}

/// What may be changed, and within which limits.
pub struct Moves<'a> {
    pub workload: &'a Workload,
    pub rooms: &'a [Room],
    pub choices: &'a [Vec<Choice>],
    /// The minimum and maximum number of threads of each cache.
    pub limits: &'a [(usize, usize)],
}

impl Moves<'_> {
    /// All changes of an arrangement that respect the limits, threads and pages first.
    pub fn all(&self, at: &Arrangement) -> Vec<Change> {
        let mut all = Vec::new();
        self.threads(at, &mut all);
        for (app, choices) in self.choices.iter().enumerate() {
            let other = |choice: &usize| choices[*choice].pages != at.apps[app].pages;
            all.extend((0..choices.len()).filter(other).map(|choice| Change::Pages { app, choice }));
        }
        (0..self.rooms.len()).for_each(|room| self.ways(at, room, &mut all));
        all
    }

    fn threads(&self, at: &Arrangement, all: &mut Vec<Change>) {
        let mut load = vec![0; self.rooms.len()];
        at.apps.iter().flat_map(|stand| &stand.llcs).for_each(|room| load[*room] += 1);
        // Pinned applications stay where they are.
        let loose = || at.apps.iter().enumerate().filter(|(app, _)| !self.workload.apps[*app].pinned);
        for (app, stand) in loose() {
            for (thread, from) in firsts(&stand.llcs) {
                let may = |room: &usize| {
                    *room != from && load[*room] < self.limits[*room].1 && load[from] > self.limits[from].0
                };
                all.extend((0..self.rooms.len()).filter(may).map(|room| Change::Thread { app, thread, room }));
                for (other, stand) in loose().filter(|(other, _)| *other > app) {
                    if self.same(at, app, other) {
                        continue;
                    }
                    let there = firsts(&stand.llcs).into_iter().filter(|(_, room)| *room != from);
                    all.extend(
                        there.map(|(number, _)| Change::Exchange { one: (app, thread), other: (other, number) }),
                    );
                }
            }
        }
    }

    /// Whether two applications are the same to the model, so that exchanging them changes only
    /// which set of ways each is in.
    fn same(&self, at: &Arrangement, one: usize, other: usize) -> bool {
        let (a, b) = (&self.workload.apps[one], &self.workload.apps[other]);
        a.program == b.program
            && a.threads == b.threads
            && a.job == b.job
            && at.apps[one].pages == at.apps[other].pages
            && a.threads == 1
    }

    fn ways(&self, at: &Arrangement, room: usize, all: &mut Vec<Change>) {
        let sets = &at.ways[room];
        let most = isobar_model::num::index(self.rooms[room].classes).saturating_sub(1);
        for from in (0..sets.len()).filter(|from| sets[*from].ways > 1) {
            all.extend((0..sets.len()).filter(|to| *to != from).map(|to| Change::Way { room, from, to }));
        }
        for (number, set) in sets.iter().enumerate() {
            for app in set.apps.iter().copied() {
                let others = (0..sets.len()).filter(|to| *to != number);
                all.extend(others.map(|to| Change::Set { room, app, to: Some(to) }));
                if set.apps.len() > 1 && set.ways > 1 && sets.len() < most {
                    all.push(Change::Set { room, app, to: None });
                }
            }
        }
    }

    /// The arrangement after a change.
    pub fn apply(&self, at: &Arrangement, change: Change) -> Arrangement {
        let mut new = at.clone();
        match change {
            Change::Thread { app, thread, room } => self.carry(&mut new, app, thread, room, None),
            Change::Exchange { one, other } => {
                let (here, there) = (at.apps[one.0].llcs[one.1], at.apps[other.0].llcs[other.1]);
                let (set_here, set_there) = (set_of(at, here, one.0), set_of(at, there, other.0));
                self.carry(&mut new, one.0, one.1, there, set_there);
                self.carry(&mut new, other.0, other.1, here, set_here);
                tidy(&mut new.ways[here]);
                tidy(&mut new.ways[there]);
            }
            Change::Pages { app, choice } => new.apps[app].pages = self.choices[app][choice].pages.clone(),
            Change::Way { room, from, to } => {
                new.ways[room][from].ways -= 1;
                new.ways[room][to].ways += 1;
            }
            Change::Set { room, app, to } => regroup(&mut new.ways[room], app, to),
        }
        if let Change::Thread { app, thread, .. } = change {
            tidy(&mut new.ways[at.apps[app].llcs[thread]]);
        }
        new
    }

    /// Puts a thread on a cache, and its application into a set of the cache's ways: the given set,
    /// otherwise the largest. The set that it leaves may be empty until [`tidy`] is called.
    fn carry(&self, new: &mut Arrangement, app: usize, thread: usize, room: usize, set: Option<usize>) {
        let from = std::mem::replace(&mut new.apps[app].llcs[thread], room);
        if !new.apps[app].llcs.contains(&from) {
            new.ways[from].iter_mut().for_each(|set| set.apps.retain(|other| *other != app));
        }
        let sets = &mut new.ways[room];
        if sets.iter().any(|set| set.apps.contains(&app)) {
            return;
        }
        if sets.is_empty() {
            sets.push(Sharing { apps: Vec::new(), ways: self.rooms[room].ways });
        }
        let largest = (0..sets.len()).rev().max_by_key(|set| sets[*set].ways).unwrap_or_default();
        let set = &mut sets[set.unwrap_or(largest)];
        set.apps.push(app);
        set.apps.sort_unstable();
    }
}

/// The first thread of an application on each cache, because its threads are identical.
fn firsts(llcs: &[usize]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (thread, room) in llcs.iter().enumerate() {
        if found.iter().all(|(_, other)| other != room) {
            found.push((thread, *room));
        }
    }
    found
}

fn set_of(at: &Arrangement, room: usize, app: usize) -> Option<usize> {
    at.ways[room].iter().position(|set| set.apps.contains(&app))
}

/// Gives the ways of empty sets to the largest of the other sets.
fn tidy(sets: &mut Vec<Sharing>) {
    while let Some(empty) = sets.iter().position(|set| set.apps.is_empty()) {
        let ways = sets.remove(empty).ways;
        let largest = (0..sets.len()).rev().max_by_key(|set| sets[*set].ways);
        if let Some(heir) = largest {
            sets[heir].ways += ways;
        }
    }
}

fn regroup(sets: &mut Vec<Sharing>, app: usize, to: Option<usize>) {
    let Some(from) = sets.iter().position(|set| set.apps.contains(&app)) else { return };
    sets[from].apps.retain(|other| *other != app);
    match to {
        Some(to) => {
            sets[to].apps.push(app);
            sets[to].apps.sort_unstable();
            if sets[from].apps.is_empty() {
                sets[to].ways += sets[from].ways;
                sets.remove(from);
            }
        }
        None => {
            let half = sets[from].ways / 2;
            sets[from].ways -= half;
            sets.push(Sharing { apps: vec![app], ways: half });
        }
    }
}
