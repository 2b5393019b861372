//! The final pass for multithreaded programs (DINO, section 3.3.3): threads of one program are
//! brought onto one domain if that does not change the layout.
//!
//! | paper | here |
//! |---|---|
//! | thread A, in the order of the tuples | position, in the order of the seats |
//! | B: same program, not yet iterated, another domain than A | positions after A's domain |
//! | C: in A's domain, another program, same class as B | a position of A's domain |
//! | switch B and C in the new solution | `Pass::switch` |
//!
//! *Properties*: a switch exchanges two threads of one class, so every domain keeps its classes.
//! Every switch increases the number of pairs of threads of one program that share a domain, so the
//! pass converges over intervals, and two programs cannot take the same core from each other in
//! turns.
//!
//! *Departures from the paper*: (1) a switch must bring together more pairs of threads than it
//! separates; as printed, the algorithm considers only A's program. (2) B and C must be allowed to
//! run on the same CPUs, because otherwise the next layout would undo the switch. (3) At most
//! [`TRY_B`] threads B are considered for each A, and at most [`TRY_C`] threads C for each B, which
//! keeps the pass linear in the number of threads.

use super::class::Class;
use crate::kit::domains::{Domains, SeatId};
use crate::kit::group::Member;
use std::ops::Range;

/// Number of threads B that are considered for one A.
pub const TRY_B: usize = 4;
/// Number of threads C that are considered for one B.
pub const TRY_C: usize = 64;

/// A thread with its seat in the new solution.
#[derive(Clone, Copy, Debug)]
pub struct Tuple<'a> {
    /// The thread.
    pub member: Member<'a>,
    /// Its class.
    pub class: Class,
    /// Its group: the threads that may run on the same CPUs.
    pub group: usize,
    /// Its seat.
    pub seat: SeatId,
}

/// Visits every thread A once, in the order of the seats, and switches B and C if both are found.
/// The tuples come back in the order of their seats. Returns the positions that were switched: that
/// of the thread that joins its program, and that of the thread that gave way to it.
pub fn colocate(domains: &Domains, tuples: &mut [Tuple<'_>]) -> Vec<(usize, usize)> {
    tuples.sort_unstable_by_key(|tuple| (tuple.seat, tuple.member.index));
    let mut pass = Pass::new(domains, tuples);
    let mut switched = Vec::new();
    if pass.programs.is_empty() {
        return switched;
    }
    for a in 0..pass.tuples.len() {
        if let Some((b, c)) = pass.find(a) {
            pass.switch(b, c);
            switched.push((c, b));
        }
    }
    switched
}

struct Pass<'t, 'a> {
    domains: &'t Domains,
    tuples: &'t mut [Tuple<'a>],
    /// The positions in each domain.
    ranges: Vec<Range<usize>>,
    /// Programs with several threads.
    programs: Vec<Program>,
    /// The program at each position, if it has several threads.
    program_at: Vec<Option<usize>>,
}

struct Program {
    /// Ascending.
    positions: Vec<usize>,
    /// Number of threads in each domain.
    count: Vec<u32>,
}

/// The programs with several threads, and which of them is at each position.
fn programs(domains: &Domains, tuples: &[Tuple<'_>]) -> (Vec<Program>, Vec<Option<usize>>) {
    let processes = tuples.iter().map(|tuple| tuple.member.process + 1).max().unwrap_or(0);
    let mut threads = vec![0; processes];
    tuples.iter().for_each(|tuple| threads[tuple.member.process] += 1);
    let mut number = vec![None; processes];
    let mut programs: Vec<Program> = Vec::new();
    let mut program_at = vec![None; tuples.len()];
    for (position, tuple) in tuples.iter().enumerate().filter(|(_, tuple)| threads[tuple.member.process] > 1) {
        let program = *number[tuple.member.process].get_or_insert_with(|| {
            let positions = Vec::with_capacity(threads[tuple.member.process]);
            programs.push(Program { positions, count: vec![0; domains.domains.len()] });
            programs.len() - 1
        });
        programs[program].positions.push(position);
        programs[program].count[domains.seat(tuple.seat).domain.0] += 1;
        program_at[position] = Some(program);
    }
    (programs, program_at)
}

impl<'t, 'a> Pass<'t, 'a> {
    fn new(domains: &'t Domains, tuples: &'t mut [Tuple<'a>]) -> Self {
        let (programs, program_at) = programs(domains, tuples);
        let start = |domain: usize| tuples.partition_point(|tuple| domains.seat(tuple.seat).domain.0 < domain);
        let ranges = (0..domains.domains.len()).map(|domain| start(domain)..start(domain + 1)).collect();
        Self { domains, tuples, ranges, programs, program_at }
    }

    fn domain(&self, position: usize) -> usize {
        self.domains.seat(self.tuples[position].seat).domain.0
    }

    /// B and C for the thread at position `a`, if both are found.
    fn find(&self, a: usize) -> Option<(usize, usize)> {
        let program = &self.programs[self.program_at[a]?];
        let here = &self.ranges[self.domain(a)];
        let first = program.positions.partition_point(|position| *position < here.end);
        let later = program.positions[first..].iter().take(TRY_B);
        later.copied().find_map(|b| self.find_c(a, b, here).map(|c| (b, c)))
    }

    /// Searches from the thread after A, round to the one before A.
    fn find_c(&self, a: usize, b: usize, here: &Range<usize>) -> Option<usize> {
        let round = (a + 1..here.end).chain(here.start..a);
        round.take(TRY_C).find(|c| {
            let (joining, leaving) = (&self.tuples[b], &self.tuples[*c]);
            joining.member.process != leaving.member.process
                && joining.class == leaving.class
                && joining.group == leaving.group
                && self.gain(b, *c) > 0
        })
    }

    /// How much the number of pairs of threads of one program on one domain grows if the threads at
    /// `b` and `c` change places.
    fn gain(&self, b: usize, c: usize) -> i64 {
        let (from, to) = (self.domain(b), self.domain(c));
        self.gain_of(b, from, to) + self.gain_of(c, to, from)
    }

    fn gain_of(&self, position: usize, from: usize, to: usize) -> i64 {
        self.program_at[position].map_or(0, |program| {
            let count = &self.programs[program].count;
            i64::from(count[to]) - (i64::from(count[from]) - 1)
        })
    }

    fn switch(&mut self, b: usize, c: usize) {
        self.relocate(b, c);
        self.relocate(c, b);
        self.program_at.swap(b, c);
        self.tuples.swap(b, c);
        let seat = self.tuples[b].seat;
        self.tuples[b].seat = self.tuples[c].seat;
        self.tuples[c].seat = seat;
    }

    /// Books that the program at `from` has a thread at `to` instead.
    fn relocate(&mut self, from: usize, to: usize) {
        let (old, new) = (self.domain(from), self.domain(to));
        let Some(program) = self.program_at[from] else { return };
        let Program { positions, count } = &mut self.programs[program];
        count[old] -= 1;
        count[new] += 1;
        if let Ok(index) = positions.binary_search(&from) {
            positions.remove(index);
        }
        let index = positions.partition_point(|position| *position < to);
        positions.insert(index, to);
    }
}
