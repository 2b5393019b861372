//! Words the reasons of LFOC+'s actions. They are written only for what changes.

use super::clusters::Kind;
use super::profile::Departure;
use super::programs::Program;
use crate::kit::words::listed;
use isobar_model::{CacheClass, Pid, num};
use std::fmt::Write;

/// Why a cluster is removed while others are made.
pub const UNUSED: &str = "no program is in this cluster any more";

/// Maximum number of programs that are named in one reason.
const NAMED: usize = 3;

/// Why an LLC has no partitions: no program has to be protected from another.
pub const NOTHING_TO_PROTECT: &str = "no sensitive program shares this cache with another: all programs use all ways";
/// The same, because a part of the partitions was refused and the rest alone would protect no
/// program.
pub const REFUSED: &str = "a partition of this cache was refused: all programs use all ways until the next attempt";
/// The same, because there are more threads than CPUs (section V.A).
pub const OVERSUBSCRIBED: &str = "more threads than CPUs: the cache is not partitioned";

/// Why a cluster has its ways.
#[must_use]
pub fn cluster(kind: Kind, programs: &[&Program], ways: usize) -> String {
    let of = |class: CacheClass| {
        let own = move |program: &&&Program| program.profile.as_ref().map(|profile| profile.class) == Some(class);
        programs.iter().filter(own)
    };
    let mut reason = String::with_capacity(96);
    let main = match kind {
        Kind::Sensitive => CacheClass::Sensitive,
        _ => CacheClass::Streaming,
    };
    let others = programs.len() - of(main).count();
    match kind {
        Kind::Sensitive => {
            for (index, program) in of(main).take(NAMED).enumerate() {
                let Some(profile) = &program.profile else { continue };
                let alone =
                    profile.slowdown.get(ways.saturating_sub(1)).or(profile.slowdown.last()).copied().unwrap_or(1.0);
                let percent = num::round((alone - 1.0) * 100.0);
                let comma = if index > 0 { ", " } else { "" };
                let _ = write!(
                    reason,
                    "{comma}{} is sensitive: {percent} % slower with only these ways, less than 5 % slower with {} or \
                     more",
                    program.name, profile.critical
                );
            }
        }
        Kind::Streaming => {
            let names: Vec<&str> = of(main).map(|program| &*program.name).collect();
            reason.push_str(&listed(&names, NAMED));
            reason.push_str(" stream: they gain nothing from more ways and would evict the data of others");
        }
        _ => reason.push_str("light-sharing programs need few ways"),
    }
    if others > 0 && kind != Kind::Light {
        let plural = if others == 1 { "program" } else { "programs" };
        let _ = write!(reason, "; together with {others} light-sharing {plural}");
    }
    reason
}

/// Why a cluster of the sampling mode is as it is. The index 0 stands for the sampled program's
/// cluster, 1 for that of the others, and `None` for a cluster that is removed.
#[must_use]
pub fn sampling(
    index: Option<usize>,
    pid: Pid,
    name: &str,
    (ways, of): (usize, usize),
    again: Option<Departure>,
) -> String {
    match (index, again) {
        (Some(0), None) => format!("sampling: how fast is {name} (process {pid}) with {ways} of {of} ways?"),
        (Some(0), Some(departure)) => {
            format!(
                "sampling again: how fast is {name} (process {pid}) with {ways} of {of} ways? {}",
                departure.words()
            )
        }
        (Some(_), _) => format!("kept apart while {name} (process {pid}) is sampled"),
        (None, _) => format!("ways freed for the sampling of {name} (process {pid})"),
    }
}
