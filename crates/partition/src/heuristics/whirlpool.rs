//! `whirlpool` (A. Mukkara, N. Beckmann, D. Sanchez: *Whirlpool: Improving Dynamic Cache Management with Static Data Classification*,
//! ASPLOS 2016, section 4 and appendix B), with programs in the place of a program's data structures.
//!
//! ```text
//! merge the nearest two pools, by miss curves (MPKI), until `pools` are left        see `hierarchy`
//! give the pools their ways by lookahead on their joint miss curves
//! ```
//!
//! *Departures from the paper.* (1) Whirlpool divides the data of one program into pools; the simulator that Divide&Content's authors use
//! applies its clustering to the programs of a workload, and so do we. (2) Three pools, as WhirlTool's evaluation takes; fewer where
//! programs, ways or classes of service are fewer. The recorded solutions of the simulator have one pool throughout, which is `none`.

use super::Setting;
use super::hierarchy::{Pool, levels};
use super::lookahead::lookahead;
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::profile::Property;
use crate::solution::{Cluster, Group};

/// Pools that are kept.
const POOLS: usize = 3;

pub(super) fn whirlpool(
    model: &dyn StaticModel,
    programs: &[usize],
    setting: &Setting,
) -> Result<Group, PartitionError> {
    let ways = model.ways();
    let misses: Vec<&[f64]> =
        programs.iter().map(|program| model.programs()[*program].column(Property::Llcmpki)).collect();
    let pools = POOLS.min(setting.most_clusters(ways)).min(programs.len());
    let mut levels = levels(&misses, ways);
    let level = levels.swap_remove(programs.len() - pools);
    let curves: Vec<&[f64]> = level.iter().map(|pool| pool.misses.as_slice()).collect();
    let given = lookahead(&curves, ways, setting.least(ways));
    let cluster = |(pool, ways): (&Pool, usize)| Cluster {
        programs: pool.members.iter().map(|member| programs[*member]).collect(),
        ways,
    };
    Ok(level.iter().zip(given).map(cluster).collect())
}
