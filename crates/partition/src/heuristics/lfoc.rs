//! `lfoc` and `lfoc+` of a static workload: classes and curves come from the profiles, the clusters from [`super::lfoc_plus`].
//!
//! `lfoc` (A. Garcia-Garcia, J. C. Saez, F. Castro, M. Prieto-Matias: *LFOC: A Lightweight Fairness-Oriented Cache Clustering Policy for
//! Commodity Multicores*, ICPP 2019) is the same algorithm without pairs: streaming partitions are one way wide, and every sensitive
//! program has a partition of its own, sized by lookahead on slowdown curves.

use super::Setting;
use super::lfoc_plus::{App, Settings, partition, partition_without_pairs};
use crate::class::of_profile;
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::profile::Property;
use crate::solution::{Cluster, Group};

pub(super) fn lfoc(model: &dyn StaticModel, programs: &[usize], setting: &Setting) -> Result<Group, PartitionError> {
    let settings = Settings { ways_streaming: 1, ..settings(setting) };
    Ok(named(partition_without_pairs(&apps(model, programs, setting), model.ways(), &settings), programs))
}

pub(super) fn lfoc_plus(
    model: &dyn StaticModel,
    programs: &[usize],
    setting: &Setting,
) -> Result<Group, PartitionError> {
    Ok(named(partition(&apps(model, programs, setting), model.ways(), &settings(setting)), programs))
}

fn settings(setting: &Setting) -> Settings {
    Settings { max_clusters: setting.max_clusters, min_ways: setting.min_ways, ..Settings::default() }
}

fn apps<'a>(model: &'a dyn StaticModel, programs: &[usize], setting: &Setting) -> Vec<App<'a>> {
    let app = |program: &usize| {
        let profile = &model.programs()[*program];
        App {
            class: of_profile(profile, setting.classes),
            slowdown: profile.column(Property::Slowdown),
            llcmpkc: profile.column(Property::Llcmpkc),
        }
    };
    programs.iter().map(app).collect()
}

/// Positions in `programs` become positions in the workload.
fn named(mut clusters: Vec<Cluster>, programs: &[usize]) -> Group {
    let name = |cluster: &mut Cluster| cluster.programs.iter_mut().for_each(|program| *program = programs[*program]);
    clusters.iter_mut().for_each(name);
    clusters
}
