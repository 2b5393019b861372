//! Draws workloads at random by a seed. It knows shares of classes and names, but no machine.
//!
//! The paper says of its 240 workloads that they were "randomly generated [...] by combining SPEC
//! CPU2006 and CPU2017 programs", and of its 30 mixes that they "combine varying amounts" of the
//! three classes. Their programs are in figure 9, which our text of the paper lacks. So each
//! program's class is drawn with the shares found in the authors' published lists with the same
//! number of programs (PBBCache, `workloads8.txt` to `workloads20.txt`, by the classes here). Then
//! a program of that class is drawn that the workload does not have yet.

use super::programs::Pools;
use isobar_model::num;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Fractions of a workload's programs that are streaming and sensitive; the rest share lightly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    pub streaming: f64,
    pub sensitive: f64,
}

/// Lists of 8 programs: 29 and 51 % of 368.
pub(super) const EIGHT: Shares = Shares { streaming: 0.29, sensitive: 0.51 };
/// Lists of 12: 31 and 33 % of 504.
pub(super) const TWELVE: Shares = Shares { streaming: 0.31, sensitive: 0.33 };
/// Lists of 16: 23 and 31 % of 624.
pub(super) const SIXTEEN: Shares = Shares { streaming: 0.23, sensitive: 0.31 };
/// Lists of 20: 22 and 25 % of 1,060.
pub(super) const TWENTY: Shares = Shares { streaming: 0.22, sensitive: 0.25 };

/// A random number generator of its own for each workload.
#[derive(Clone, Debug)]
pub(super) struct WorkloadRng(ChaCha8Rng);

impl WorkloadRng {
    /// The generator for one workload of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// A number below `count`, uniformly distributed. The same on every platform.
    pub fn below(&mut self, count: usize) -> usize {
        let count = u64::from(num::narrow(count));
        usize::try_from((u64::from(self.0.next_u32()) * count) >> 32).unwrap_or_default()
    }

    /// A number from 0 to 1.
    pub fn part(&mut self) -> f64 {
        num::float(u64::from(self.0.next_u32())) / num::float(1 << 32)
    }

    /// `count` different items of a list, in the order drawn; all of them if the list has no more.
    pub fn some<T: Copy>(&mut self, count: usize, of: &[T]) -> Vec<T> {
        let mut left = of.to_vec();
        (0..count.min(of.len())).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }

    /// `count` different single-threaded programs.
    pub fn programs(&mut self, count: usize, shares: Shares, pools: &Pools) -> Vec<&'static str> {
        let mut left = pools.clone();
        (0..count).filter_map(|_| self.program(shares, &mut left)).collect()
    }

    /// A program of the class drawn, or of the next class that has any left.
    fn program(&mut self, shares: Shares, left: &mut Pools) -> Option<&'static str> {
        let drawn = self.part();
        let first = match drawn {
            part if part < shares.streaming => 0,
            part if part < shares.streaming + shares.sensitive => 1,
            _ => 2,
        };
        let pools = [&mut left.streaming, &mut left.sensitive, &mut left.light];
        let mut order: Vec<_> = pools.into_iter().enumerate().collect();
        order.rotate_left(first);
        let (_, pool) = order.into_iter().find(|(_, pool)| !pool.is_empty())?;
        let index = self.below(pool.len());
        Some(pool.remove(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools() -> Pools {
        Pools {
            streaming: vec!["s1", "s2"],
            sensitive: vec!["c1", "c2", "c3", "c4"],
            light: vec!["l1", "l2", "l3", "l4"],
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_and_nothing_twice() {
        let drawn = |stream| WorkloadRng::new(1, stream).programs(8, EIGHT, &pools());
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
        let mut sorted = drawn(3);
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 8);
        assert_eq!(WorkloadRng::new(1, 0).programs(11, EIGHT, &pools()).len(), 10);
    }

    #[test]
    fn classes_come_as_often_as_their_shares_say() {
        let wanted = Shares { streaming: 0.2, sensitive: 0.5 };
        let firsts: Vec<_> =
            (0..4000).map(|stream| WorkloadRng::new(7, stream).programs(1, wanted, &pools())[0]).collect();
        let part = |class: char| num::float_len(firsts.iter().filter(|name| name.starts_with(class)).count()) / 4000.0;
        assert!((part('s') - 0.2).abs() < 0.03 && (part('c') - 0.5).abs() < 0.03, "{} {}", part('s'), part('c'));
    }

    #[test]
    fn some_are_different_ones() {
        let mut drawn = WorkloadRng::new(1, 0).some(19, &super::super::programs::PARALLEL);
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!((drawn.len(), WorkloadRng::new(1, 0).some(2, &[1, 2, 3]).len()), (19, 2));
    }
}
