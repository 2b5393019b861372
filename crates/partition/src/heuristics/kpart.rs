//! `kpart` (N. El-Sayed, A. Mukkara, P.-A. Tsai, H. Kasture, X. Ma, D. Sanchez: *KPart: A Hybrid
//! Cache Partitioning-Sharing Technique for Commodity Multicores*, HPCA 2018, section III).
//!
//! ```text
//! build the hierarchy of clusters, by the cost of sharing in misses per cycle (see `hierarchy`)
//! for K = programs, ..., 1 clusters (no more than partitions there are):
//!     give the K clusters their ways by lookahead
//!     estimate every program's performance from its share of its cluster's ways
//! take the K with the greatest estimated weighted speedup
//! ```
//!
//! *Departures from the paper.* (1) The lookahead optimises the clusters' estimated weighted
//! speedup, which is the paper's own objective, instead of their misses. With misses, a program
//! that misses much and hardly slows down would take ways from a program that slows down a lot. The
//! curve of a cluster is the sum of its members' speedups at their shares, so that one estimate
//! decides both K and the ways. (2) Profiles are given; KPart's DynaWay, which measures them, is
//! not part of a static study. (3) Among equal estimates, more clusters win.

use super::entry::Setting;
use super::hierarchy::{Pool, levels, shared};
use super::lookahead::{lookahead, value};
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::solution::{Cluster, Group};
use isobar_model::profile::Property;
use std::collections::BTreeMap;

pub(super) fn kpart(model: &dyn StaticModel, programs: &[usize], setting: &Setting) -> Result<Group, PartitionError> {
    let column = |property| programs.iter().map(move |program| model.programs()[*program].column(property)).collect();
    let estimate =
        Estimate { misses: column(Property::Llcmpkc), slowdowns: column(Property::Slowdown), ways: model.ways() };
    let mut curves = BTreeMap::new();
    let mut best: Option<(f64, Vec<Cluster>)> = None;
    for level in levels(&estimate.misses, model.ways()) {
        if level.len() > setting.most_clusters(model.ways()) {
            continue;
        }
        let (speedup, clusters) = estimate.sized(level, setting.least(model.ways()), &mut curves);
        if best.as_ref().is_none_or(|(greatest, _)| speedup > *greatest) {
            best = Some((speedup, clusters));
        }
    }
    let clusters = best.map(|(_, clusters)| clusters).unwrap_or_default();
    Ok(clusters.into_iter().map(|cluster| cluster.named(programs)).collect())
}

/// The curves from which performance is estimated.
struct Estimate<'a> {
    misses: Vec<&'a [f64]>,
    slowdowns: Vec<&'a [f64]>,
    ways: usize,
}

impl Estimate<'_> {
    /// The clusters of a level with their ways, and their estimated weighted speedup. `curves`
    /// caches curves by members.
    fn sized(
        &self,
        level: Vec<Pool>,
        least: usize,
        curves: &mut BTreeMap<Vec<usize>, Vec<f64>>,
    ) -> (f64, Vec<Cluster>) {
        for pool in &level {
            if !curves.contains_key(&pool.members) {
                curves.insert(pool.members.clone(), self.lost(&pool.members));
            }
        }
        let of_level: Vec<&[f64]> = level.iter().map(|pool| curves[&pool.members].as_slice()).collect();
        let given = lookahead(&of_level, self.ways, least);
        let speedup = of_level.iter().zip(&given).map(|(curve, ways)| -value(curve, *ways)).sum();
        let clusters = level.into_iter().zip(given).map(|(pool, ways)| Cluster { programs: pool.members, ways });
        (speedup, clusters.collect())
    }

    /// Minus the weighted speedup of a cluster at 1, 2, ... ways, because the lookahead minimises.
    fn lost(&self, members: &[usize]) -> Vec<f64> {
        let slowdowns = shared(members, &self.misses, &self.slowdowns, self.ways);
        slowdowns.iter().map(|slowdowns| -slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum::<f64>()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, program};
    use super::*;

    #[test]
    fn as_many_clusters_as_promise_the_most() {
        // Two streaming programs that do not slow down, and one that needs 3 of 4 ways (speedups
        // 0.25, 0.5, 1, 1). Three clusters leave it 2 ways: 2.5. Two clusters, with the streaming
        // programs together on one way: 3. One cluster: it gets less than 3 of 4 ways.
        let stream = program(&[(1.0, 20.0); 4]);
        let needs = program(&[(0.25, 20.0), (0.5, 20.0), (1.0, 1.0), (1.0, 1.0)]);
        let got = answer("kpart", &[stream.clone(), needs, stream], 4, &Setting::new(1, 3));
        assert_eq!(got[0], [(vec![0, 2], 1), (vec![1], 3)]);
    }

    #[test]
    fn more_programs_than_ways_still_fit() {
        let programs = vec![program(&[(1.0, 5.0), (1.0, 4.0)]); 5];
        let got = answer("kpart", &programs, 2, &Setting::new(1, 5));
        assert!(got[0].len() <= 2 && got[0].iter().map(|cluster| cluster.1).sum::<usize>() == 2);
    }
}
