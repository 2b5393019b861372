//! The four steps of section V.B on one pair of groups.
//!
//! ```text
//! 1  programs that moved recently or that their user bound stay; the others are sorted into MT,
//!    CS, ST and LS
//! 2  programs with several threads, the largest first: packed on the side that holds most of them,
//!    else on the other, where there are slots
//! 3  sensitive programs by falling L_LLC to the lower AG_LLC; streaming ones by falling L_BW to
//!    the lower AG_BW; light-sharing ones stay where there is a slot; without slots on one side: to
//!    the side with more of them
//! 4  while the AG_BW are further apart than `bw_load_thr`: threads of streaming programs with
//!    several threads change places with light-sharing threads of the other side, those of programs
//!    with several threads first
//! ```
//!
//! *Properties*: no thread is lost. No side gets more threads than slots, as long as all threads
//! fit and the fixed threads leave enough slots. The result is either less uneven than the start
//! (by the larger of the two gaps, in thresholds) or the start itself. Equal loads keep a program
//! where it is.
//!
//! *Departures from the paper*
//! 1. A program on both sides counts with its ways on both and with its bandwidth by threads.
//! 2. A program with the same number of threads on both sides is packed on the side with the lower
//!    load of the resource that its class needs.
//! 3. Step 4 takes a free slot before a swap: one migration instead of two. If no streaming program
//!    with several threads is left on the side with more bandwidth, it takes a sensitive program:
//!    since step 2 packed it, it is an equal load for its node.
//! 4. Two similar single-threaded programs that would change places stay (`Run::uncross`): the
//!    loads would be the same.
//! 5. A result that is no less uneven than the start is dropped. So is a result that leaves an
//!    imbalance without clearly reducing it ([`Limits::least_gain`]): migrations cost, and the next
//!    turn would move a program again.
//! 6. Loads are compared as parts of what each side has ([`Limits::weight`]), and a program goes to
//!    the side that ends lower with it. On equal sides this is the side that is lower without it.

use super::load::{Limits, Pressure, Program, Side, bear, is_better, pressures};
use isobar_model::{CacheClass, num};

/// For each program, the number of its threads on each side after balancing.
#[must_use]
pub fn balance(programs: &[Program], sides: &[Side; 2], limits: &Limits) -> Vec<[usize; 2]> {
    let mut run = Run::new(programs, sides, limits);
    run.pack();
    run.place_sensitive();
    run.place_streaming();
    run.place_light();
    run.even_out();
    run.uncross();
    run.better_than_start(sides)
}

struct Run<'a> {
    programs: &'a [Program],
    limits: &'a Limits,
    assigned: Vec<Option<[usize; 2]>>,
    load: [Pressure; 2],
    /// Free slots by side. May fall below 0 if there are more threads than CPUs.
    free: [i64; 2],
}

impl<'a> Run<'a> {
    /// Step 1 of the algorithm.
    fn new(programs: &'a [Program], sides: &[Side; 2], limits: &'a Limits) -> Self {
        let load = sides.map(|side| Pressure { llc: 0.0, bandwidth: side.other_bandwidth });
        let free = sides.map(|side| signed(side.slots));
        let mut run = Self { programs, limits, assigned: vec![None; programs.len()], load, free };
        for (index, program) in programs.iter().enumerate().filter(|(_, program)| program.fixed) {
            run.assign(index, program.threads);
        }
        run
    }

    fn assign(&mut self, index: usize, threads: [usize; 2]) {
        bear(&self.programs[index], threads, &mut self.load);
        self.free.iter_mut().zip(threads).for_each(|(free, threads)| *free -= signed(threads));
        self.assigned[index] = Some(threads);
    }

    /// The programs that are not assigned yet and pass `wanted`, the largest key first, equal keys
    /// by position.
    fn waiting(&self, wanted: impl Fn(&Program) -> bool, key: impl Fn(&Program) -> f64) -> Vec<usize> {
        let open = |index: &usize| self.assigned[*index].is_none() && wanted(&self.programs[*index]);
        let mut found: Vec<usize> = (0..self.programs.len()).filter(open).collect();
        found.sort_by(|a, b| key(&self.programs[*b]).total_cmp(&key(&self.programs[*a])));
        found
    }

    /// Step 2 of the algorithm.
    fn pack(&mut self) {
        for index in self.waiting(|program| program.count() > 1, |program| num::float_len(program.count())) {
            let program = &self.programs[index];
            let order = self.preferred(program);
            let fits = order.into_iter().find(|side| self.free[*side] >= signed(program.count()));
            self.assign(index, fits.map_or(program.threads, |side| whole(program, side)));
        }
    }

    /// The side with most of a program's threads, then the other side.
    fn preferred(&self, program: &Program) -> [usize; 2] {
        let first = match program.threads[0].cmp(&program.threads[1]) {
            std::cmp::Ordering::Greater => 0,
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal if program.class == CacheClass::Sensitive => {
                usize::from(self.llc_gap(program.llc) > 0.0)
            }
            std::cmp::Ordering::Equal => usize::from(self.bandwidth_gap(program.bandwidth) > 0.0),
        };
        [first, 1 - first]
    }

    /// The LLC load of side 0 minus that of side 1, weighted, each with this load added to its own.
    fn llc_gap(&self, load: f64) -> f64 {
        let ([a, b], [one, other]) = (self.limits.weigh(&self.load), self.limits.weight);
        (a.llc - b.llc) + load * (one.llc - other.llc)
    }

    /// The same for bandwidth.
    fn bandwidth_gap(&self, load: f64) -> f64 {
        let ([a, b], [one, other]) = (self.limits.weigh(&self.load), self.limits.weight);
        (a.bandwidth - b.bandwidth) + load * (one.bandwidth - other.bandwidth)
    }

    /// Step 3 for sensitive programs (CS).
    fn place_sensitive(&mut self) {
        for index in self.waiting(|program| program.class == CacheClass::Sensitive, |program| program.llc) {
            let side = self.lower(index, self.llc_gap(self.programs[index].llc));
            self.assign(index, whole(&self.programs[index], side));
        }
    }

    /// Step 3 for streaming programs (ST). If both sides use one memory node, only the LLC can be
    /// evened out.
    fn place_streaming(&mut self) {
        for index in self.waiting(|program| program.class == CacheClass::Streaming, |program| program.bandwidth) {
            let gap = if self.limits.shared_memory {
                self.llc_gap(self.programs[index].llc)
            } else {
                let gap = self.bandwidth_gap(self.programs[index].bandwidth);
                if gap.abs() <= self.limits.bandwidth_tie { 0.0 } else { gap }
            };
            let side = self.lower(index, gap);
            self.assign(index, whole(&self.programs[index], side));
        }
    }

    /// Step 3 for light-sharing programs (LS).
    fn place_light(&mut self) {
        for index in self.waiting(|_| true, |_| 0.0) {
            let side = self.lower(index, 0.0);
            self.assign(index, whole(&self.programs[index], side));
        }
    }

    /// The side with the lower load (`gap` is side 0 minus side 1), or the program's own side on a
    /// tie. If a side has no slot left, the side with more slots.
    fn lower(&self, index: usize, gap: f64) -> usize {
        let own = usize::from(self.programs[index].threads[1] > 0);
        let [a, b] = self.free;
        match (a > 0 && b > 0, gap == 0.0) {
            (true, true) => own,
            (true, false) => usize::from(gap > 0.0),
            (false, _) if a == b => own,
            (false, _) => usize::from(b > a),
        }
    }

    /// Step 4 of the algorithm.
    fn even_out(&mut self) {
        // Every turn moves a heavy thread to the other side for good, so the number of threads
        // bounds the number of turns.
        let most = self.programs.iter().map(Program::count).sum::<usize>();
        for _ in 0..if self.limits.shared_memory { 0 } else { most } {
            let gap = self.bandwidth_gap(0.0);
            let from = usize::from(gap < 0.0);
            if gap.abs() <= self.limits.bandwidth_gap || !self.shift(from, gap.abs()) {
                return;
            }
        }
    }

    /// Moves one thread of a heavy program away from a side, into a free slot or in exchange for a
    /// light-sharing thread; false if no such move narrows the gap.
    fn shift(&mut self, from: usize, gap: f64) -> bool {
        let Some(heavy) = self.heaviest(from) else { return false };
        // Converts the gap into thread bandwidth: a thread leaves one side and joins the other, so
        // the mean of both weights applies.
        let [one, other] = self.limits.weight;
        let gap = gap / f64::midpoint(one.bandwidth, other.bandwidth);
        if self.free[1 - from] > 0 {
            let narrows = each(&self.programs[heavy]) < gap;
            if narrows {
                self.step(heavy, from);
            }
            return narrows;
        }
        let Some(light) = self.lightest(1 - from) else { return false };
        let change = each(&self.programs[heavy]) - each(&self.programs[light]);
        let narrows = change > 0.0 && change < gap;
        if narrows {
            self.step(heavy, from);
            self.step(light, 1 - from);
        }
        narrows
    }

    fn there(&self, index: usize, side: usize) -> bool {
        !self.programs[index].fixed && self.assigned[index].is_some_and(|threads| threads[side] > 0)
    }

    /// Of the movable programs with several threads on a side, the one with the most bandwidth per
    /// thread; streaming programs come first, light-sharing programs never.
    fn heaviest(&self, side: usize) -> Option<usize> {
        let heavy = |index: &usize| {
            let program = &self.programs[*index];
            program.class != CacheClass::LightSharing && program.count() > 1 && self.there(*index, side)
        };
        let order = |a: &usize, b: &usize| {
            let (one, other) = (&self.programs[*a], &self.programs[*b]);
            let streams = |program: &Program| program.class == CacheClass::Streaming;
            streams(one).cmp(&streams(other)).then(each(one).total_cmp(&each(other))).then(b.cmp(a))
        };
        (0..self.programs.len()).filter(heavy).max_by(order)
    }

    /// Of the movable light-sharing programs on a side, the one with the least bandwidth per
    /// thread; programs with several threads come first.
    fn lightest(&self, side: usize) -> Option<usize> {
        let light = |index: &usize| self.programs[*index].class == CacheClass::LightSharing && self.there(*index, side);
        let key = |index: &usize| (self.programs[*index].count() < 2, each(&self.programs[*index]));
        let order = |a: &usize, b: &usize| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        };
        (0..self.programs.len()).filter(light).min_by(order)
    }

    /// Records one thread of a program as moved from a side to the other.
    fn step(&mut self, index: usize, from: usize) {
        let program = &self.programs[index];
        let Some(threads) = &mut self.assigned[index] else { return };
        threads[from] -= 1;
        threads[1 - from] += 1;
        let (left, joined) = (threads[from] == 0, threads[1 - from] == 1);
        self.free[from] += 1;
        self.free[1 - from] -= 1;
        self.load[from].bandwidth -= each(program);
        self.load[1 - from].bandwidth += each(program);
        self.load[from].llc -= if left { program.llc } else { 0.0 };
        self.load[1 - from].llc += if joined { program.llc } else { 0.0 };
    }

    /// Two single-threaded programs of the same class and with similar loads that would change
    /// places stay where they are.
    fn uncross(&mut self) {
        for a in 0..self.programs.len() {
            if let Some(b) = self.crossed(a, 0).and_then(|_| (0..self.programs.len()).find(|b| self.alike(a, *b))) {
                self.assigned[a] = Some(self.programs[a].threads);
                self.assigned[b] = Some(self.programs[b].threads);
            }
        }
    }

    /// `Some` if a single-threaded program leaves a side.
    fn crossed(&self, index: usize, from: usize) -> Option<()> {
        let program = &self.programs[index];
        let leaves = program.count() == 1 && program.threads[from] == 1;
        (leaves && self.assigned[index] != Some(program.threads)).then_some(())
    }

    fn alike(&self, a: usize, b: usize) -> bool {
        let (one, other) = (&self.programs[a], &self.programs[b]);
        self.crossed(b, 1).is_some()
            && one.class == other.class
            && one.llc == other.llc
            && (one.bandwidth - other.bandwidth).abs() <= self.limits.bandwidth_tie
    }

    /// The result, or the start if the result is no better.
    fn better_than_start(self, sides: &[Side; 2]) -> Vec<[usize; 2]> {
        let found: Vec<[usize; 2]> =
            self.assigned.iter().zip(self.programs).map(|(found, program)| found.unwrap_or(program.threads)).collect();
        let mut after = sides.map(|side| Pressure { llc: 0.0, bandwidth: side.other_bandwidth });
        self.programs.iter().zip(&found).for_each(|(program, threads)| bear(program, *threads, &mut after));
        if is_better(&pressures(self.programs, sides), &after, self.limits) {
            found
        } else {
            self.programs.iter().map(|program| program.threads).collect()
        }
    }
}

/// All threads of a program on one side.
const fn whole(program: &Program, side: usize) -> [usize; 2] {
    let mut threads = [0; 2];
    threads[side] = program.count();
    threads
}

/// Bandwidth of one thread.
fn each(program: &Program) -> f64 {
    program.bandwidth / num::float_len(program.count().max(1))
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
