//! Random small workloads from a fixed sequence, so that a failure can be repeated.

use isobar_model::num;
use isobar_model::profile::{Profile, Row};
use isobar_partition::model::{Bandwidth, PbbCache};

/// A linear congruential sequence.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    pub fn between(&mut self, from: usize, to: usize) -> usize {
        from + usize::try_from(self.below((to - from + 1) as u64)).unwrap()
    }

    /// From 0 to 1, in 1000 steps.
    pub fn part(&mut self) -> f64 {
        num::float(self.below(1001)) / 1000.0
    }

    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.between(0, of.len() - 1)]
    }
}

/// How figures are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Each value is drawn by itself; curves go up and down.
    Wild,
    /// Few distinct values, so many ties.
    Few,
    /// Falling miss curves, as programs have them.
    Falling,
    /// Few distinct values, and around each of them many that differ by less than a tie, like the
    /// ends of curves that approach their limit exponentially.
    Crowded,
}

pub fn profile(random: &mut Random, name: &str, ways: usize, shape: Shape) -> Profile {
    let (floor, knee, heavy) = (random.part(), 1.0 + 4.0 * random.part(), random.part());
    let mut row = |way: usize| {
        let (ipc, misses) = match shape {
            Shape::Wild => (0.5 + random.part(), 30.0 * random.part()),
            Shape::Few => (random.one_of(&[1.0, 1.0, 2.0]), random.one_of(&[0.0, 10.0, 10.0])),
            Shape::Crowded => {
                let near = 1.0 + num::float(random.below(8)) * 6.5e-12;
                (random.one_of(&[1.0, 1.0, 2.0]) * near, random.one_of(&[0.0, 10.0]))
            }
            Shape::Falling => {
                let rate = floor + (1.0 - floor) * (-num::float_len(way) / knee).exp();
                (2.0 / (1.0 + rate * 3.0 * heavy), 40.0 * heavy * rate)
            }
        };
        let stalls = random.one_of(&[0.25, 0.5, 0.75]);
        Row {
            ipc,
            llcmpki: misses / ipc,
            llcmpkc: misses,
            bandwidth_mbps: 200.0 * misses,
            stalls_total: stalls,
            stalls_l3_miss: stalls * random.one_of(&[0.0, 0.5, 0.9]),
            stalls_store_buf: random.one_of(&[0.0, 0.125]),
            ..Row::default()
        }
    };
    let rows = (1..=ways).map(&mut row).collect();
    Profile::new(name, rows).unwrap()
}

/// A workload; some programs occur twice.
pub fn workload(random: &mut Random, programs: usize, ways: usize, shape: Shape) -> Vec<Profile> {
    let mut made: Vec<Profile> = Vec::new();
    for index in 0..programs {
        let copy = index > 0 && random.below(5) == 0;
        let new = if copy { made[random.between(0, index - 1)].clone() } else { profile(random, "p", ways, shape) };
        made.push(new);
    }
    made
}

/// A model over a workload: of either kind, with a bandwidth limit that takes effect or without a
/// limit.
pub fn model(random: &mut Random, programs: usize, ways: usize, uma: bool) -> PbbCache {
    let shape = random.one_of(&[Shape::Wild, Shape::Few, Shape::Falling]);
    let table = random.between(2, ways + 1);
    let workload = workload(random, programs, table, shape);
    let limit = random.one_of(&[None, Some(4000.0), Some(9000.0), Some(15_000.0), Some(30_000.0)]);
    PbbCache::new(random.one_of(&[Bandwidth::Simple, Bandwidth::Stalls]), workload, ways, limit).uma(uma)
}
