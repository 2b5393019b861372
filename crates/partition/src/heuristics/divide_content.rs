//! `divide-content` of a static workload (C. Bilbao, J. C. Saez, M. Prieto-Matias: *Divide&Content:
//! A Fair OS-Level Resource Manager for Contention Balancing on NUMA Multicores*, IEEE TPDS 2023,
//! section V; the simulations of section IV).
//!
//! ```text
//! load of a program: bandwidth; ways that it needs (light sharing 1, streaming 2, sensitive its
//!   critical point)
//! place the programs so that groups bear as much of either     see `balance`
//! LFOC+ on every LLC
//! ```
//!
//! *Departures from the paper.* (1) There is no placement to start from: programs are dealt round
//! robin first, and migrations are free. (2) The bandwidth of a program is taken from its profile
//! with the ways that it needs, because it is about to get these ways.

use super::dino::partitioned;
use super::entry::Setting;
use super::lfoc::lfoc_plus;
use crate::balance::{Group, Program, llc_load, place, study_limits};
use crate::class::{critical_ways, of_profile};
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::solution::Solution;
use isobar_model::profile::{Profile, Property};

pub(super) fn divide_content(model: &dyn StaticModel, setting: &Setting) -> Result<Solution, PartitionError> {
    let ways = model.ways();
    let loads: Vec<Program> = model.programs().iter().map(|profile| load(profile, ways, setting)).collect();
    let memory = |group| if model.shared_controller() { 0 } else { group };
    let groups: Vec<Group> =
        (0..setting.groups).map(|group| Group { slots: setting.cores_per_group, memory: memory(group) }).collect();
    let limits = study_limits(&loads, setting.groups, ways, setting.max_bandwidth);
    partitioned(lfoc_plus, &place(&loads, &groups, &limits), model, setting)
}

fn load(profile: &Profile, ways: usize, setting: &Setting) -> Program {
    let class = of_profile(profile, setting.classes);
    let critical = critical_ways(profile.column(Property::Slowdown), setting.classes).min(ways);
    let llc = llc_load(class, critical);
    Program { class, threads: [1, 0], bandwidth: profile.at(Property::Bandwidth, llc), llc, fixed: false }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, program};
    use super::*;

    #[test]
    fn sensitive_and_streaming_programs_are_spread_and_kept_apart() {
        // Two programs of each class on two LLCs of two cores: each LLC gets one of each, and LFOC+
        // gives the streaming program 2 of 4 ways.
        let sensitive = program(&[(0.5, 9.0), (0.8, 5.0), (1.0, 1.0), (1.0, 1.0)]);
        let streaming = program(&[(1.0, 20.0); 4]);
        let programs = [sensitive.clone(), streaming.clone(), sensitive, streaming];
        let got = answer("divide-content", &programs, 4, &Setting::new(2, 4));
        for group in got {
            assert_eq!(group.iter().map(|cluster| (cluster.0.len(), cluster.1)).collect::<Vec<_>>(), [(1, 2), (1, 2)]);
            assert_eq!(group.iter().map(|cluster| cluster.0[0] % 2).sum::<usize>(), 1, "one of each kind");
        }
    }
}
