//! LFOC+ (J. C. Saez, F. Castro, G. Fanizzi, M. Prieto-Matias: *LFOC+: A Fair OS-Level
//! Cache-Clustering Policy for Commodity Multicore Systems*, IEEE TC 2022), following algorithm 1
//! of C. Bilbao, J. C. Saez, M. Prieto-Matias: *Divide&Content*, IEEE TPDS 2023.
//!
//! | paper | here |
//! |---|---|
//! | ST, CS, LS | `of_class` with [`CacheClass`] |
//! | max_str_parts, gaps_per_str, ways_str | [`Settings`] |
//! | parts4str, used | `Budget` |
//! | pair_clustering | `pairs` |
//!
//! ```text
//! no sensitive program: one cluster of everything
//! 1: parts4str = min(2, ceil(|ST| / max_str_parts)) partitions of ways_str ways,
//!    ceil(|ST| / parts4str) streaming programs each
//! 2: sensitive programs share what is left, by pair clustering
//! 3: light-sharing programs fill the gaps of the streaming partitions, the rest the others in turn
//! ```
//!
//! *Properties.* All ways are used. A streaming program never shares with a sensitive one if there
//! are enough ways and classes of service for two clusters. At most two sensitive programs share if
//! there are enough ways and classes of service for that.
//!
//! *Departures from the paper.*
//! 1. Line 21, `gaps_avail = r - |TargetC| * gaps_per_str` with r the streaming programs of a
//!    partition, is never above 0, which contradicts the text ("by first populating partitions with
//!    streaming applications"). We read r as the capacity of the partition in gaps, of which each
//!    streaming program takes `gaps_per_str`. A way holds `max_str_parts` streaming programs (in
//!    LFOC, where the parameter comes from, a streaming partition is one way wide):
//!    `gaps_avail = (max_str_parts * ways - |TargetC|) * gaps_per_str`.
//! 2. If there are not enough ways for the streaming partitions and the least partition of a
//!    sensitive program, there is one streaming partition. If that is still too much, it has the
//!    least number of ways. If even that is too much, all programs share one cluster.
//! 3. If there are not enough classes of service, streaming programs first share one partition with
//!    each other. Then sensitive clusters are merged by least harm (see `units`). Then all programs
//!    share one cluster.
//! 4. Every partition has at least `min_ways`, because the hardware may require it.

mod pairs;
mod units;

pub use units::App;

use crate::solution::Cluster;
use isobar_model::CacheClass;

/// The parameters of algorithm 1, and two limits of the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `max_str_parts`: number of streaming programs that one streaming partition is meant for, and
    /// that one of its ways holds.
    pub max_streaming_parts: usize,
    /// `gaps_per_str`: number of light-sharing programs that take the place of one streaming
    /// program.
    pub gaps_per_streaming: usize,
    /// `ways_str`: number of ways of a streaming partition.
    pub ways_streaming: usize,
    /// Number of clusters for which the hardware has classes of service; `None` = no limit. 0 is
    /// read as 1.
    pub max_clusters: Option<usize>,
    /// Minimum number of ways of a partition (`min_cbm_bits`). 0 is read as 1.
    pub min_ways: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_streaming_parts: 5, gaps_per_streaming: 3, ways_streaming: 2, max_clusters: None, min_ways: 1 }
    }
}

/// The clusters of one LLC of `ways` ways; programs are positions in `apps`, ascending. Streaming
/// clusters come first. The clusters' ways add up to `ways`. Empty if `apps` is empty.
#[must_use]
pub fn partition(apps: &[App<'_>], ways: usize, settings: &Settings) -> Vec<Cluster> {
    clusters(apps, ways, settings, pairs::in_pairs)
}

/// The same with a partition of its own for every sensitive program (LFOC), as far as ways and
/// classes of service allow.
#[must_use]
pub fn partition_without_pairs(apps: &[App<'_>], ways: usize, settings: &Settings) -> Vec<Cluster> {
    clusters(apps, ways, settings, pairs::apart)
}

fn clusters(apps: &[App<'_>], ways: usize, settings: &Settings, split: pairs::Split) -> Vec<Cluster> {
    let of_class = |class| apps.iter().enumerate().filter(move |(_, app)| app.class == class).map(|(index, _)| index);
    let streaming: Vec<usize> = of_class(CacheClass::Streaming).collect();
    let sensitive: Vec<usize> = of_class(CacheClass::Sensitive).collect();
    let budget = if sensitive.is_empty() { None } else { Budget::of(streaming.len(), sensitive.len(), ways, settings) };
    let Some(budget) = budget else { return everything(apps.len(), ways) };
    let mut clusters = budget.streaming(&streaming);
    clusters.extend(budget.sensitive(&sensitive, apps, split));
    let (first, others) = clusters.split_at_mut(budget.parts);
    share_lightly(of_class(CacheClass::LightSharing), first, others, settings);
    clusters.iter_mut().for_each(|cluster| cluster.programs.sort_unstable());
    clusters
}

fn everything(programs: usize, ways: usize) -> Vec<Cluster> {
    if programs == 0 { Vec::new() } else { vec![Cluster { programs: (0..programs).collect(), ways }] }
}

/// How ways and clusters are split between streaming programs and sensitive ones.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// Number of streaming partitions: 0, 1 or 2.
    parts: usize,
    /// Ways of each streaming partition.
    ways_each: usize,
    /// Ways left for sensitive programs.
    left: usize,
    /// Clusters left for sensitive programs; at least 1.
    clusters_left: usize,
    least: usize,
}

impl Budget {
    /// The most generous budget that leaves at least one partition for sensitive programs; `None`
    /// if all programs must share one cluster.
    fn of(streaming: usize, sensitive: usize, ways: usize, settings: &Settings) -> Option<Self> {
        let least = settings.min_ways.clamp(1, ways.max(1));
        let most_clusters = settings.max_clusters.unwrap_or(usize::MAX);
        let wide = settings.ways_streaming.max(least);
        let wanted = streaming.div_ceil(settings.max_streaming_parts.max(1)).min(2);
        let parts = if most_clusters < wanted.saturating_add(sensitive) { wanted.min(1) } else { wanted };
        let budget = |(parts, ways_each): (usize, usize)| {
            let left = ways.checked_sub(parts * ways_each)?;
            let clusters_left = most_clusters.saturating_sub(parts);
            (left >= least && clusters_left > 0).then_some(Self { parts, ways_each, left, clusters_left, least })
        };
        [(parts, wide), (parts.min(1), wide), (parts.min(1), least)].into_iter().find_map(budget)
    }

    /// Step 1: as many streaming clusters as needed.
    fn streaming(self, streaming: &[usize]) -> Vec<Cluster> {
        let each = streaming.len().div_ceil(self.parts.max(1)).max(1);
        let cluster = |programs: &[usize]| Cluster { programs: programs.to_vec(), ways: self.ways_each };
        streaming.chunks(each).map(cluster).collect()
    }

    /// Step 2: the remaining ways and clusters go to sensitive programs.
    fn sensitive(self, sensitive: &[usize], apps: &[App<'_>], split: pairs::Split) -> Vec<Cluster> {
        let curves: Vec<units::Curves<'_>> = sensitive.iter().map(|index| units::Curves::of(&apps[*index])).collect();
        let limits = pairs::Limits {
            ways: self.left,
            least: self.least,
            clusters: self.clusters_left,
            others: sensitive.len() < apps.len(),
        };
        let named = |unit: units::Unit| Cluster {
            programs: unit.members.iter().map(|member| sensitive[*member]).collect(),
            ways: unit.ways,
        };
        split(&curves, limits).into_iter().map(named).collect()
    }
}

/// Step 3: light-sharing programs go to the streaming clusters while these have gaps, then to the
/// others in turn.
fn share_lightly(
    mut light: impl Iterator<Item = usize>,
    streaming: &mut [Cluster],
    others: &mut [Cluster],
    settings: &Settings,
) {
    for target in streaming {
        let free = (settings.max_streaming_parts * target.ways).saturating_sub(target.programs.len());
        target.programs.extend(light.by_ref().take(free * settings.gaps_per_streaming));
    }
    let count = others.len().max(1);
    light.enumerate().for_each(|(turn, program)| others[turn % count].programs.push(program));
}

#[cfg(test)]
mod tests;
