//! The search: applies small changes as long as one of them helps, then makes some random changes
//! and climbs again. It uses one thread and a fixed sequence of random numbers, and stops after a
//! given number of calls of the contention model.

use super::choices::Choice;
use super::exhaust;
use super::moves::{Change, Moves};
use isobar_model::num;
use isobar_sim::Workload;
use isobar_sim::arrangement::{Arrangement, Arranging, Room, Sharing, Stand};

/// Improvements below this fraction are not looked for: it is ten times the apparent improvement
/// that the model's limited accuracy may cause.
const STEP: f64 = 1e-7;
/// Cost of memory that does not fit: more than any slowdown.
const OVERFLOW: f64 = 1e6;
/// Number of random changes before the next climb begins.
const SHAKEN: u32 = 4;
/// Number of climbs in a row that may end without an improvement before the search returns to the
/// best.
const PATIENCE: u32 = 3;

/// Up to this many arrangements, all of them are evaluated.
const FEW: usize = 1000;

/// The search problem, and the limits of the search.
pub struct Search<'a> {
    pub workload: &'a Workload,
    pub choices: &'a [Vec<Choice>],
    pub questions: u64,
    pub stop: &'a dyn Fn() -> bool,
    /// A mean slowdown at which the search may stop.
    pub enough: f64,
}

/// The best arrangement found.
pub struct Found {
    pub arrangement: Arrangement,
    pub stopped: bool,
    /// Whether all arrangements were evaluated.
    pub exhausted: bool,
}

/// An arrangement with its mean slowdown, plus a penalty if memory does not fit.
#[derive(Clone)]
struct Judged {
    cost: f64,
    arrangement: Arrangement,
}

impl Search<'_> {
    pub fn run(&self, arranging: &mut Arranging<'_>) -> Found {
        let rooms = arranging.rooms().to_vec();
        let threads: usize = self.workload.apps.iter().map(|app| num::index(app.threads)).sum();
        let limits = limits(&rooms, threads);
        let moves = Moves { workload: self.workload, rooms: &rooms, choices: self.choices, limits: &limits };
        let mut climb = Climb { search: self, moves: &moves, arranging, stopped: false };
        if let Some(all) = exhaust::all(&moves, &self.dealt(&rooms, &limits, false), FEW)
            && let Some(best) = climb.best_of(all)
        {
            return Found { arrangement: best.arrangement, stopped: climb.stopped, exhausted: !climb.stopped };
        }
        let starts = [self.dealt(&rooms, &limits, false), self.dealt(&rooms, &limits, true)];
        let mut best: Option<Judged> = None;
        for start in starts {
            let judged = climb.judge(start);
            let top = climb.climb(judged);
            best = Some(best.filter(|best| best.cost <= top.cost).unwrap_or(top));
        }
        let best = best.map(|best| climb.shake(best));
        let arrangement = best.map(|best| best.arrangement);
        let arrangement = arrangement.unwrap_or_else(|| self.dealt(&rooms, &limits, false));
        Found { arrangement, stopped: climb.stopped, exhausted: false }
    }

    /// Deals threads to the caches in turn, as long as each has a free core, either by misses, the
    /// most first, or in the order of the workload. Pages are where the workload leaves them, and
    /// all applications share all ways.
    fn dealt(&self, rooms: &[Room], limits: &[(usize, usize)], by_misses: bool) -> Arrangement {
        let apps = &self.workload.apps;
        let mut order: Vec<usize> = (0..apps.len()).collect();
        if by_misses {
            let misses = |app: usize| apps[app].program.mpki.misses(0.0) * f64::from(apps[app].threads);
            order.sort_by(|a, b| misses(*b).total_cmp(&misses(*a)));
        }
        let stand = |choices: &Vec<Choice>| Stand { llcs: Vec::new(), pages: choices[0].pages.clone() };
        let mut stands: Vec<Stand> = self.choices.iter().map(stand).collect();
        let mut load = vec![0; rooms.len()];
        for app in order {
            for _ in 0..apps[app].threads {
                let fill = |room: &usize| num::float_len(load[*room]) / num::float_len(rooms[*room].cpus);
                let free = (0..rooms.len()).filter(|room| load[*room] < limits[*room].1);
                let room = free.min_by(|a, b| fill(a).total_cmp(&fill(b))).unwrap_or_default();
                load[room] += 1;
                stands[app].llcs.push(room);
            }
        }
        let sharing = |(number, room): (usize, &Room)| {
            let here = (0..apps.len()).filter(|app| stands[*app].llcs.contains(&number)).collect::<Vec<_>>();
            if here.is_empty() { Vec::new() } else { vec![Sharing { apps: here, ways: room.ways }] }
        };
        let ways = rooms.iter().enumerate().map(sharing).collect();
        Arrangement { apps: stands, ways }
    }
}

/// The minimum and maximum number of threads of each cache, so that no CPU is idle while another
/// has two threads.
fn limits(rooms: &[Room], threads: usize) -> Vec<(usize, usize)> {
    let cpus = rooms.iter().map(|room| room.cpus).sum::<usize>().max(1);
    let (fewest, most) = (if threads < cpus { 0 } else { threads / cpus }, threads.div_ceil(cpus).max(1));
    rooms.iter().map(|room| (room.cpus * fewest, room.cpus * most)).collect()
}

struct Climb<'a, 'b, 'c> {
    search: &'a Search<'a>,
    moves: &'a Moves<'a>,
    arranging: &'b mut Arranging<'c>,
    stopped: bool,
}

impl Climb<'_, '_, '_> {
    fn judge(&mut self, arrangement: Arrangement) -> Judged {
        let overflow = self.arranging.overflow(&arrangement) * OVERFLOW;
        let slowdowns = self.arranging.slowdowns(&arrangement);
        let mean = slowdowns.map(|all| all.iter().sum::<f64>() / num::float_len(all.len()));
        Judged { cost: mean.unwrap_or(f64::INFINITY) + overflow, arrangement }
    }

    /// The first of the best arrangements.
    fn best_of(&mut self, all: Vec<Arrangement>) -> Option<Judged> {
        let mut best: Option<Judged> = None;
        for arrangement in all {
            let new = self.judge(arrangement);
            if best.as_ref().is_none_or(|best| new.cost < best.cost * (1.0 - STEP)) {
                best = Some(new);
            }
            self.stopped |= (self.search.stop)();
            if self.stopped {
                break;
            }
        }
        best
    }

    /// Whether to end: the calls are used up, the result is good enough, or `stop` says so.
    fn ends(&mut self, best: f64) -> bool {
        self.stopped |= (self.search.stop)();
        self.stopped || best <= self.search.enough || self.arranging.asked() >= self.search.questions
    }

    /// Takes any change that helps, cycling through all of them, until none helps.
    fn climb(&mut self, mut here: Judged) -> Judged {
        let mut offset = 0;
        loop {
            let changes = self.moves.all(&here.arrangement);
            let mut better = None;
            for step in 0..changes.len() {
                if self.ends(here.cost) {
                    return here;
                }
                let number = (offset + step) % changes.len();
                let new = self.judge(self.moves.apply(&here.arrangement, changes[number]));
                if new.cost < here.cost * (1.0 - STEP) {
                    (better, offset) = (Some(new), number);
                    break;
                }
            }
            match better {
                Some(new) => here = new,
                None => return here,
            }
        }
    }

    /// Climbs again and again from near the best.
    fn shake(&mut self, mut best: Judged) -> Judged {
        let (mut lots, mut from, mut vain) = (Lots(1), best.clone(), 0);
        while !self.ends(best.cost) {
            let mut arrangement = from.arrangement.clone();
            for _ in 0..SHAKEN {
                let changes: Vec<Change> = self.moves.all(&arrangement);
                let Some(change) = lots.one_of(&changes) else { return best };
                arrangement = self.moves.apply(&arrangement, change);
            }
            let judged = self.judge(arrangement);
            let top = self.climb(judged);
            vain = if top.cost < from.cost * (1.0 - STEP) { 0 } else { vain + 1 };
            if top.cost < best.cost {
                best = top.clone();
            }
            from = if vain > PATIENCE { best.clone() } else { top };
            vain = if vain > PATIENCE { 0 } else { vain };
        }
        best
    }
}

/// A linear congruential sequence (Knuth's constants).
struct Lots(u64);

impl Lots {
    fn one_of<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let count = u64::try_from(of.len()).ok().filter(|count| *count > 0)?;
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = (self.0 >> 33) % count;
        of.get(usize::try_from(place).ok()?).copied()
    }
}
