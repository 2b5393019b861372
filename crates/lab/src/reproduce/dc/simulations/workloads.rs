//! The 240 workloads of section IV: 120 of 8 programs on platform A, 120 of 12 on platform B.

use super::super::draw::{EIGHT, Shares, TWELVE, WorkloadRng};
use super::super::programs::Pools;
use crate::error::LabError;
use isobar_model::num;
use isobar_sim::machine::find;
use isobar_sim::program::Library;

/// Number of cores, and so of programs, of a core group.
pub(super) const CORES: usize = 4;

/// A platform of the simulations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Platform {
    pub name: &'static str,
    pub machine: &'static str,
    /// Number of LLCs, each with a memory node of its own.
    pub groups: usize,
    shares: Shares,
    /// Each platform draws from streams of its own.
    stream: u64,
}

/// Platforms A and B.
pub(super) const PLATFORMS: [Platform; 2] = [
    Platform { name: "A", machine: "rome-ccx-2x4", groups: 2, shares: EIGHT, stream: 0 },
    Platform { name: "B", machine: "rome-ccx-3x4", groups: 3, shares: TWELVE, stream: 1 << 16 },
];

impl Platform {
    /// Number of programs in a workload: one per core.
    pub const fn programs(&self) -> usize {
        self.groups * CORES
    }

    /// The first `count` of its workloads.
    pub fn workloads(&self, library: &Library, count: usize, seed: u64) -> Result<Vec<Vec<&'static str>>, LabError> {
        let pools = Pools::on(&find(self.machine)?, library)?;
        let one = |number| self.dice(seed, number).programs(self.programs(), self.shares, &pools);
        Ok((0..num::narrow(count)).map(one).collect())
    }

    /// The generator with which a workload is drawn. It is used again for everything else that is
    /// random about the workload.
    pub fn dice(&self, seed: u64, number: u32) -> WorkloadRng {
        WorkloadRng::new(seed, self.stream + u64::from(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_sim::program::shipped;
    use std::collections::BTreeSet;

    #[test]
    fn workloads_fill_their_platforms_and_differ() {
        for (platform, programs) in PLATFORMS.iter().zip([8, 12]) {
            let all = platform.workloads(&shipped().unwrap(), 120, 1).unwrap();
            let different: BTreeSet<BTreeSet<_>> = all.iter().map(|one| one.iter().collect()).collect();
            assert!(all.len() == 120 && different.len() > 115, "{}", different.len());
            assert!(different.iter().all(|one| one.len() == programs));
        }
    }
}
