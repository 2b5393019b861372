//! Runs algorithm 1 on the programs of one LLC: from what is known of each program to the wanted
//! clusters, with masks and threads. This file knows the order in which clusters are laid. It does
//! not know when they are set, or which clusters the LLC has now ([`super::clusters`]).

use super::capacity::Capacity;
use super::clusters::{Kind, Wanted};
use super::config::Config;
use super::programs::Program;
use isobar_model::{CacheClass, Tid};
use isobar_partition::heuristics::lfoc_plus::{App, partition};

/// A cluster of algorithm 1: what it is for, its programs by position, and its number of ways.
type Found = (Kind, Vec<usize>, usize);

/// The wanted clusters, each with its programs (by position in `list`), in the order in which they
/// are laid. `members` are the LLC's threads with their program, ascending by program. Empty if
/// ways cannot be divided or no program needs protection.
#[must_use]
pub fn cluster(
    list: &[Program],
    members: &[(usize, Tid)],
    capacity: Capacity,
    config: &Config,
) -> Vec<(Vec<usize>, Wanted)> {
    let mut here: Vec<usize> = members.iter().map(|(program, _)| *program).collect();
    here.dedup();
    let clusters = found(list, &here, capacity, config);
    let masks = capacity.masks(clusters.iter().map(|(_, _, ways)| *ways));
    let percent = Some(config.streaming_bandwidth_percent).filter(|percent| *percent > 0);
    let wanted = |((kind, programs, _), mask): (Found, u64)| {
        let percent = percent.filter(|_| kind == Kind::Streaming);
        let threads = threads(members, &programs);
        (programs, Wanted { kind, mask, percent, threads })
    };
    clusters.into_iter().zip(masks).map(wanted).collect()
}

/// Algorithm 1 for the programs of an LLC, in the order in which clusters are laid. Empty if ways
/// cannot be divided, if there is only one program, if none is sensitive, or if all would be in one
/// cluster.
fn found(list: &[Program], here: &[usize], capacity: Capacity, config: &Config) -> Vec<Found> {
    let class = |at: &usize| class_of(&list[*at]);
    if !capacity.is_divisible() || here.len() < 2 || !here.iter().any(|at| class(at) == CacheClass::Sensitive) {
        return Vec::new();
    }
    let apps: Vec<App<'_>> = here.iter().map(|at| app(&list[*at])).collect();
    let found = partition(&apps, capacity.ways, &config.algorithm(capacity.max_clusters, capacity.min_ways));
    if found.len() < 2 {
        return Vec::new();
    }
    let by_kind = found.into_iter().map(|cluster| {
        let programs: Vec<usize> = cluster.programs.iter().map(|at| here[*at]).collect();
        (kind(programs.iter().map(class)), programs, cluster.ways)
    });
    let mut clusters: Vec<Found> = by_kind.collect();
    // Sensitive partitions are kept away from the end of the cache that others may use.
    clusters.sort_by_key(|(kind, _, _)| *kind);
    clusters
}

/// The threads of some programs, ascending.
fn threads(members: &[(usize, Tid)], programs: &[usize]) -> Vec<Tid> {
    let own = members.iter().filter(|(program, _)| programs.contains(program));
    let mut threads: Vec<Tid> = own.map(|(_, tid)| *tid).collect();
    threads.sort_unstable();
    threads
}

/// The class of a program. A program without a profile counts as light-sharing, as most programs
/// are, and is then the first to be put beside streaming programs.
fn class_of(program: &Program) -> CacheClass {
    program.profile.as_ref().map_or(CacheClass::LightSharing, |profile| profile.class)
}

fn app(program: &Program) -> App<'_> {
    match program.profile.as_ref().filter(|profile| profile.class == CacheClass::Sensitive) {
        Some(profile) => App { class: profile.class, slowdown: &profile.slowdown, llcmpkc: &profile.llcmpkc },
        None => App { class: class_of(program), slowdown: &[], llcmpkc: &[] },
    }
}

/// What a cluster is for, given the classes of its programs.
fn kind(classes: impl Iterator<Item = CacheClass>) -> Kind {
    let mut kind = Kind::Light;
    for class in classes {
        match class {
            CacheClass::Sensitive => return Kind::Sensitive,
            CacheClass::Streaming => kind = Kind::Streaming,
            CacheClass::LightSharing => {}
        }
    }
    kind
}
