//! Workloads for tests of heuristics.

use super::by_name;
use super::entry::Setting;
use crate::model::{Bandwidth, PbbCache};
use crate::solution::Solution;
use isobar_model::profile::{Profile, Row};

/// A program from its IPC and its misses (the same number per instruction and per cycle), at 1, 2,
/// ... ways.
pub fn program(curve: &[(f64, f64)]) -> Profile {
    let row = |(ipc, misses): &(f64, f64)| Row { ipc: *ipc, llcmpki: *misses, llcmpkc: *misses, ..Row::default() };
    Profile::new("a", curve.iter().map(row).collect()).unwrap()
}

/// A heuristic's clusters as (programs, ways), by group.
pub fn answer(name: &str, programs: &[Profile], ways: usize, setting: &Setting) -> Vec<Vec<(Vec<usize>, usize)>> {
    let named = |solution: Solution| {
        let clusters = |group: Vec<crate::Cluster>| group.into_iter().map(|c| (c.programs, c.ways)).collect();
        solution.groups.into_iter().map(clusters).collect()
    };
    named(by_name(name).unwrap().run(&model(programs, ways), setting).unwrap())
}

/// The message with which a heuristic refuses.
pub fn refusal(name: &str, programs: &[Profile], ways: usize, setting: &Setting) -> String {
    by_name(name).unwrap().run(&model(programs, ways), setting).unwrap_err().to_string()
}

fn model(programs: &[Profile], ways: usize) -> PbbCache {
    PbbCache::new(Bandwidth::Simple, programs.to_vec(), ways, None)
}
