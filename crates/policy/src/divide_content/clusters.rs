//! The clusters that an LLC has now, and the actions that lead to others. Names stay with their
//! threads, and only what differs is set.

use isobar_model::{Action, LlcId, Tid};
use std::fmt;

/// What a cluster is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Sensitive programs, together with light-sharing ones.
    Sensitive,
    /// Light-sharing programs only.
    Light,
    /// Streaming programs, together with light-sharing ones.
    Streaming,
    /// The program that is sampled.
    Sampling,
    /// All other programs while one is sampled.
    Rest,
}

/// A cluster's name, such as `streaming-0` or `sampling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    kind: Kind,
    number: u32,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Sensitive => write!(f, "sensitive-{}", self.number),
            Kind::Light => write!(f, "light-{}", self.number),
            Kind::Streaming => write!(f, "streaming-{}", self.number),
            Kind::Sampling => f.write_str("sampling"),
            Kind::Rest => f.write_str("rest"),
        }
    }
}

/// A wanted cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What it is for.
    pub kind: Kind,
    /// Its ways.
    pub mask: u64,
    /// Its share of the memory bandwidth, in per cent.
    pub percent: Option<u32>,
    /// Its threads, ascending.
    pub threads: Vec<Tid>,
}

/// A cluster as it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cluster {
    name: Name,
    mask: u64,
    percent: Option<u32>,
    threads: Vec<Tid>,
    /// Whether the cluster did not exist before it was last set.
    is_new: bool,
    /// Whether a change to the cluster was refused: it exists, but as it was before.
    outdated: bool,
}

/// The clusters of one LLC.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    now: Vec<Cluster>,
    /// The clusters that the last change removed.
    removed: Vec<Cluster>,
}

impl Clusters {
    /// Whether the LLC has no clusters.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.now.is_empty()
    }

    /// The number of ways of a thread's cluster; `None` if the thread is in none, or if the ways
    /// are not certain.
    #[must_use]
    pub fn ways_of(&self, tid: Tid) -> Option<usize> {
        let own = self.now.iter().find(|cluster| !cluster.outdated && cluster.threads.binary_search(&tid).is_ok());
        own.map(|cluster| isobar_model::num::index(cluster.mask.count_ones()))
    }

    /// The actions that turn the clusters into the wanted ones. Clusters that are not wanted are
    /// removed first, so that their classes of service are free. `here` says whether a thread still
    /// runs somewhere (a thread that ended left its cluster by itself). `why` gives the reasons: of
    /// a cluster by position, of removals with `None`.
    pub fn change(
        &mut self,
        llc: LlcId,
        wanted: Vec<Wanted>,
        whole: u64,
        here: impl Fn(Tid) -> bool,
        why: impl Fn(Option<usize>) -> String,
        actions: &mut Vec<Action>,
    ) {
        let names = self.names(&wanted);
        let kept = |cluster: &Cluster| names.contains(&cluster.name);
        for cluster in self.now.iter().filter(|cluster| !kept(cluster)) {
            actions.push(set(llc, cluster.name, whole, None, Vec::new(), why(None)));
        }
        let mut before = std::mem::take(&mut self.now);
        for (index, (wanted, name)) in wanted.into_iter().zip(names).enumerate() {
            let old = before.iter().position(|cluster| cluster.name == name).map(|at| before.swap_remove(at));
            let is_new = old.is_none();
            if let Some(same) = old.filter(|old| is_so(old, &wanted, &here)) {
                self.now.push(same);
                continue;
            }
            let Wanted { mask, percent, threads, .. } = wanted;
            actions.push(set(llc, name, mask, percent, threads.clone(), why(Some(index))));
            self.now.push(Cluster { name, mask, percent, threads, is_new, outdated: false });
        }
        self.removed = before;
    }

    /// Records that the last change of a cluster was refused: a new cluster does not exist, and an
    /// existing one still does.
    pub fn refused(&mut self, name: &str) {
        let of_name = |cluster: &Cluster| cluster.name.to_string() == name;
        if let Some(at) = self.now.iter().position(of_name) {
            if self.now[at].is_new {
                self.now.remove(at);
            } else {
                self.now[at].outdated = true;
            }
        } else if let Some(at) = self.removed.iter().position(of_name) {
            let old = self.removed.swap_remove(at);
            self.now.push(Cluster { outdated: true, is_new: false, ..old });
        }
    }

    /// For each wanted cluster, the name of the existing cluster of its kind that holds most of its
    /// threads, or else a free name.
    fn names(&self, wanted: &[Wanted]) -> Vec<Name> {
        let mut names: Vec<Option<Name>> = vec![None; wanted.len()];
        for (index, cluster) in wanted.iter().enumerate() {
            let shared =
                |old: &Cluster| old.threads.iter().filter(|tid| cluster.threads.binary_search(tid).is_ok()).count();
            let free = self.now.iter().filter(|old| old.name.kind == cluster.kind && !names.contains(&Some(old.name)));
            let best = free.map(|old| (shared(old), old.name)).filter(|(shared, _)| *shared > 0);
            names[index] = best.max_by_key(|(shared, name)| (*shared, std::cmp::Reverse(*name))).map(|(_, name)| name);
        }
        for (index, cluster) in wanted.iter().enumerate() {
            if names[index].is_none() {
                let numbered = |number| Name { kind: cluster.kind, number };
                names[index] = (0..).map(numbered).find(|name| !names.contains(&Some(*name)));
            }
        }
        names.into_iter().flatten().collect()
    }
}

fn set(llc: LlcId, name: Name, way_mask: u64, percent: Option<u32>, threads: Vec<Tid>, reason: String) -> Action {
    Action::SetWays { llc, cluster: name.to_string(), way_mask, memory_bandwidth_percent: percent, threads, reason }
}

/// Whether a cluster is as wanted, not counting threads that have ended.
fn is_so(old: &Cluster, wanted: &Wanted, here: &impl Fn(Tid) -> bool) -> bool {
    let has = |tid: &Tid| old.threads.binary_search(tid).is_ok();
    let stays = |tid: &Tid| wanted.threads.binary_search(tid).is_ok() || !here(*tid);
    !old.outdated
        && old.mask == wanted.mask
        && old.percent == wanted.percent
        && wanted.threads.iter().all(has)
        && old.threads.iter().all(stays)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(kind: Kind, mask: u64, threads: &[u32]) -> Wanted {
        Wanted { kind, mask, percent: None, threads: threads.iter().map(|tid| Tid(*tid)).collect() }
    }

    /// The actions that lead to a list of clusters, as `name=mask:threads`.
    fn done(clusters: &mut Clusters, want: Vec<Wanted>, ended: &[u32]) -> Vec<String> {
        let mut actions = Vec::new();
        let why = |index: Option<usize>| format!("{index:?}");
        clusters.change(LlcId(0), want, 0x7ff, |tid| !ended.contains(&tid.0), why, &mut actions);
        let said = |action: &Action| match action {
            Action::SetWays { cluster, way_mask, threads, .. } => {
                let tids: Vec<String> = threads.iter().map(|tid| tid.0.to_string()).collect();
                format!("{cluster}={way_mask:#x}:{}", tids.join(","))
            }
            other => format!("{other:?}"),
        };
        actions.iter().map(said).collect()
    }

    #[test]
    fn only_what_differs_is_set_and_names_stay_with_their_threads() {
        use Kind::{Sampling, Sensitive, Streaming};
        let mut now = Clusters::default();
        let first =
            vec![wanted(Sensitive, 0xf, &[1]), wanted(Sensitive, 0xf0, &[2, 3]), wanted(Streaming, 0x300, &[4])];
        assert_eq!(
            done(&mut now, first.clone(), &[]),
            ["sensitive-0=0xf:1", "sensitive-1=0xf0:2,3", "streaming-0=0x300:4"]
        );
        assert!(done(&mut now, first, &[]).is_empty());
        // The order changes and 1 loses a way: 2 and 3 keep their name, and the streaming cluster
        // is not touched.
        let second =
            vec![wanted(Sensitive, 0x1f8, &[2, 3]), wanted(Sensitive, 0x7, &[1]), wanted(Streaming, 0x300, &[4])];
        assert_eq!(done(&mut now, second, &[]), ["sensitive-1=0x1f8:2,3", "sensitive-0=0x7:1"]);
        assert_eq!((now.ways_of(Tid(3)), now.ways_of(Tid(9))), (Some(6), None));
        // Clusters that are not needed are removed first.
        assert_eq!(
            done(&mut now, vec![wanted(Sampling, 0x1, &[1])], &[]),
            ["sensitive-1=0x7ff:", "sensitive-0=0x7ff:", "streaming-0=0x7ff:", "sampling=0x1:1"]
        );
    }

    #[test]
    fn what_was_refused_is_not_in_force() {
        let mut now = Clusters::default();
        let both = || vec![wanted(Kind::Sensitive, 0x3f, &[1]), wanted(Kind::Streaming, 0x7c0, &[2])];
        assert_eq!(done(&mut now, both(), &[]), ["sensitive-0=0x3f:1", "streaming-0=0x7c0:2"]);
        now.refused("streaming-0");
        assert_eq!((now.ways_of(Tid(1)), now.ways_of(Tid(2))), (Some(6), None));
        assert_eq!(done(&mut now, both(), &[]), ["streaming-0=0x7c0:2"], "asked for again");
        // A change to an existing cluster is refused: the cluster stays as it was, so its ways are
        // not certain.
        let wider = || vec![wanted(Kind::Sensitive, 0xff, &[1]), wanted(Kind::Streaming, 0x700, &[2])];
        assert_eq!(done(&mut now, wider(), &[]), ["sensitive-0=0xff:1", "streaming-0=0x700:2"]);
        now.refused("sensitive-0");
        assert_eq!(now.ways_of(Tid(1)), None);
        assert_eq!(done(&mut now, wider(), &[]), ["sensitive-0=0xff:1"]);
        assert_eq!(done(&mut now, vec![], &[]).len(), 2);
        now.refused("streaming-0");
        assert_eq!(done(&mut now, vec![], &[]), ["streaming-0=0x7ff:"], "its removal was refused");
    }

    #[test]
    fn who_ends_leaves_by_itself_and_who_goes_elsewhere_is_taken_out() {
        let mut now = Clusters::default();
        done(&mut now, vec![wanted(Kind::Rest, 0x1, &[1, 2])], &[]);
        assert!(done(&mut now, vec![wanted(Kind::Rest, 0x1, &[1])], &[2]).is_empty());
        assert_eq!(done(&mut now, vec![wanted(Kind::Rest, 0x1, &[1])], &[]), ["rest=0x1:1"]);
        assert_eq!(done(&mut now, vec![], &[]), ["rest=0x7ff:"]);
        assert!(now.is_empty());
    }
}
