//! `lfoc` and `lfoc+` for a static workload: classes and curves come from the profiles, and the
//! clusters from [`super::lfoc_plus`].
//!
//! `lfoc` (A. Garcia-Garcia, J. C. Saez, F. Castro, M. Prieto-Matias: *LFOC: A Lightweight
//! Fairness-Oriented Cache Clustering Policy for Commodity Multicores*, ICPP 2019) is the same
//! algorithm without pairs: streaming partitions are one way wide, and every sensitive program has
//! a partition of its own, sized by lookahead on slowdown curves.

use super::entry::Setting;
use super::lfoc_plus::{App, Settings, partition, partition_without_pairs};
use crate::class::of_profile;
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::solution::Group;
use isobar_model::profile::Property;

pub(super) fn lfoc(model: &dyn StaticModel, programs: &[usize], setting: &Setting) -> Result<Group, PartitionError> {
    let settings = Settings { ways_streaming: 1, ..settings(setting) };
    let clusters = partition_without_pairs(&apps(model, programs, setting), model.ways(), &settings);
    Ok(clusters.into_iter().map(|cluster| cluster.named(programs)).collect())
}

pub(super) fn lfoc_plus(
    model: &dyn StaticModel,
    programs: &[usize],
    setting: &Setting,
) -> Result<Group, PartitionError> {
    let clusters = partition(&apps(model, programs, setting), model.ways(), &settings(setting));
    Ok(clusters.into_iter().map(|cluster| cluster.named(programs)).collect())
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

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, program};
    use super::*;

    #[test]
    fn classes_come_from_the_profiles() {
        // Sensitive: slowdowns 2, 1.25, 1, 1. Streaming: 20 misses and no slowdown. Light sharing:
        // neither. LFOC's streaming partition has one way, LFOC+'s has two. The light-sharing
        // program goes into the streaming partition.
        let sensitive = program(&[(0.5, 9.0), (0.8, 5.0), (1.0, 1.0), (1.0, 1.0)]);
        let streaming = program(&[(1.0, 20.0); 4]);
        let light = program(&[(1.0, 1.0); 4]);
        let got = |name| answer(name, &[sensitive.clone(), streaming.clone(), light.clone()], 4, &Setting::new(1, 3));
        assert_eq!(got("lfoc")[0], [(vec![0], 3), (vec![1, 2], 1)]);
        assert_eq!(got("lfoc+")[0], [(vec![0], 2), (vec![1, 2], 2)]);
    }
}
