//! Clusters of threads, the ways that they may fill and the memory bandwidth that each thread may
//! take, as resctrl keeps them. A thread is in one cluster or in none. A thread that is in none, or
//! runs on another LLC than its cluster's, may fill every way and take all bandwidth (resctrl's
//! root group).

use crate::machine::Classes;
use isobar_contention::Cache;
use isobar_model::Tid;
use std::collections::BTreeSet;

/// The clusters of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters(Vec<Cluster>);

#[derive(Clone, Debug)]
struct Cluster {
    llc: usize,
    name: String,
    part: Part,
    threads: BTreeSet<Tid>,
}

/// The resources that a thread may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Ways of the LLC, as bits.
    pub mask: u64,
    /// Per cent of the memory bandwidth that a core can take.
    pub percent: u32,
}

/// Why a cluster was refused, in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClusterError(pub String);

impl Clusters {
    /// Gives a cluster of an LLC (by position) its part and exactly these threads. A cluster
    /// without threads is removed, and its class of service is free again.
    pub fn set(
        &mut self,
        (cache, classes): (Cache, Classes),
        llc: usize,
        name: &str,
        part: Part,
        threads: &[Tid],
    ) -> Result<(), ClusterError> {
        check_mask(cache, classes, part.mask)?;
        let mut next = self.0.clone();
        next.iter_mut().for_each(|cluster| cluster.threads.retain(|tid| !threads.contains(tid)));
        next.retain(|cluster| !(cluster.llc == llc && cluster.name == name || cluster.threads.is_empty()));
        if !threads.is_empty() {
            next.push(Cluster { llc, name: name.to_owned(), part, threads: threads.iter().copied().collect() });
        }
        let here = next.iter().filter(|cluster| cluster.llc == llc).count();
        // One class belongs to the root group (resctrl: num_closids includes the default group).
        let most = isobar_model::num::index(classes.clos) - 1;
        if here > most {
            return Err(ClusterError(format!("no class of service is left; this cache has at most {most} clusters")));
        }
        self.0 = next;
        Ok(())
    }

    /// The resources that a thread on an LLC (by position) may use.
    pub fn part(&self, cache: Cache, llc: usize, tid: Tid) -> Part {
        let own = self.0.iter().find(|cluster| cluster.llc == llc && cluster.threads.contains(&tid));
        own.map_or_else(|| Part { mask: cache.all_ways(), percent: 100 }, |cluster| cluster.part)
    }

    /// Removes threads that have ended.
    pub fn forget(&mut self, ended: impl Fn(Tid) -> bool) {
        self.0.iter_mut().for_each(|cluster| cluster.threads.retain(|tid| !ended(*tid)));
        self.0.retain(|cluster| !cluster.threads.is_empty());
    }

    /// Gives every thread every way again.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Checks what resctrl requires of a mask (`Documentation/filesystems/resctrl.rst`, "Cache Bit
/// Masks").
fn check_mask(cache: Cache, classes: Classes, mask: u64) -> Result<(), ClusterError> {
    let (ways, all) = (cache.ways, cache.all_ways());
    if mask == 0 {
        return Err(ClusterError("the way mask is empty; set at least one bit".to_owned()));
    }
    if mask & !all != 0 {
        return Err(ClusterError(format!("the way mask {mask:#x} goes beyond the {ways} ways; use bits of {all:#x}")));
    }
    let bits = mask >> mask.trailing_zeros();
    if bits & bits.wrapping_add(1) != 0 && !classes.sparse {
        return Err(ClusterError(format!(
            "the way mask {mask:#x} has gaps; this cache accepts neighbouring bits only"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: Cache = Cache { bytes: 11e6, ways: 11, private: 0.0 };
    const CLASSES: Classes = Classes { clos: 4, sparse: false };

    #[test]
    fn masks_are_checked_as_resctrl_does() {
        let why = |mask| check_mask(CACHE, CLASSES, mask).unwrap_err().0;
        assert!(why(0).contains("empty") && why(0x800).contains("11 ways") && why(0b101).contains("gaps"));
        assert!(check_mask(CACHE, CLASSES, 0x7ff).is_ok() && check_mask(CACHE, CLASSES, 0b110).is_ok());
        assert!(check_mask(CACHE, Classes { sparse: true, ..CLASSES }, 0b101).is_ok());
        assert!(check_mask(Cache { ways: 64, ..CACHE }, CLASSES, u64::MAX).is_ok());
    }

    #[test]
    fn a_thread_is_in_one_cluster_and_classes_run_out() {
        let mut clusters = Clusters::default();
        let mut set = |llc, name: &str, mask, threads: &[u32]| {
            let threads: Vec<_> = threads.iter().map(|id| Tid(*id)).collect();
            let part = Part { mask, percent: 50 };
            clusters.set((CACHE, CLASSES), llc, name, part, &threads).map_err(|error| error.0)
        };
        set(0, "a", 0x3, &[1, 2]).unwrap();
        set(0, "b", 0xc, &[2]).unwrap();
        set(0, "c", 0x1c, &[3]).unwrap();
        set(1, "a", 0x1, &[4]).unwrap();
        assert!(set(0, "d", 0x7ff, &[5]).unwrap_err().contains("3 clusters"));
        // The last thread of b leaves b, so its class is free for d.
        set(0, "d", 0x10, &[2]).unwrap();
        let part = |llc, id| clusters.part(CACHE, llc, Tid(id));
        let mask = |llc, id| part(llc, id).mask;
        assert_eq!((part(0, 1).percent, part(0, 9).percent, part(1, 1).percent), (50, 100, 100));
        assert_eq!((mask(0, 1), mask(0, 2), mask(0, 3), mask(0, 9)), (0x3, 0x10, 0x1c, 0x7ff));
        assert_eq!((mask(1, 1), mask(1, 4)), (0x7ff, 0x1));
        clusters.forget(|tid| tid == Tid(1));
        assert_eq!(clusters.part(CACHE, 0, Tid(1)).mask, 0x7ff);
        clusters.clear();
        assert_eq!(clusters.part(CACHE, 0, Tid(3)).mask, 0x7ff);
    }
}
