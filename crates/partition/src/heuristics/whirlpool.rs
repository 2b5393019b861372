//! `whirlpool` (A. Mukkara, N. Beckmann, D. Sanchez: *Whirlpool: Improving Dynamic Cache Management
//! with Static Data Classification*, ASPLOS 2016, section 4 and appendix B), applied to programs
//! instead of a program's data structures.
//!
//! ```text
//! merge the nearest two pools, by miss curves (MPKI), until `pools` are left (see `hierarchy`)
//! give the pools their ways by lookahead on their joint miss curves
//! ```
//!
//! *Departures from the paper.* (1) Whirlpool divides the data of one program into pools. The
//! simulator that Divide&Content's authors use applies its clustering to the programs of a
//! workload, and so does this heuristic. (2) There are three pools, as in WhirlTool's evaluation,
//! or fewer if there are fewer programs, ways or classes of service. The recorded solutions of the
//! simulator have one pool throughout, which is the same as `none`.

use super::entry::Setting;
use super::hierarchy::{Pool, levels};
use super::lookahead::lookahead;
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::solution::{Cluster, Group};
use isobar_model::profile::Property;

/// Number of pools that are kept.
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

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, program};
    use super::*;

    #[test]
    fn programs_that_stream_become_one_pool() {
        // Two streaming programs, and two with a cliff at 3 ways, which they would lose if pooled.
        // Three pools and 8 ways: each cliff gets its 3 ways, and no pool gains from the last way,
        // which goes to the first pool.
        let stream = program(&[(1.0, 20.0); 8]);
        let cliff = |deep| {
            let misses = [30.0, 30.0, deep, deep, deep, deep, deep, deep];
            program(&misses.map(|misses| (1.0, misses)))
        };
        let programs = [cliff(2.0), stream.clone(), cliff(1.0), stream];
        let got = answer("whirlpool", &programs, 8, &Setting::new(1, 4));
        assert_eq!(got[0], [(vec![0], 4), (vec![1, 3], 1), (vec![2], 3)]);
        let one = Setting { max_clusters: Some(1), ..Setting::new(1, 4) };
        assert_eq!(answer("whirlpool", &programs, 8, &one)[0], [(vec![0, 1, 2, 3], 8)]);
    }
}
