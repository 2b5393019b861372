//! Reads what resctrl offers from its `info` folder (`Documentation/filesystems/resctrl.rst`, "Info
//! directory"): caches, memory bandwidth, monitoring. This file knows the files; what they mean for
//! a plan is decided elsewhere.

use super::schemata::{BANDWIDTH, Schemata};
use super::tree::{LinuxError, Tree};
use super::{files, parse};
use isobar_model::topology::{BandwidthShares, CacheAllocation};

/// What resctrl offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The resources that a mask for a cache of the requested level is written to: `L3`, or
    /// `L3CODE` and `L3DATA` with code and data prioritisation; none without way allocation.
    pub resources: Vec<String>,
    /// Way allocation on these caches, by the first of the resources. The number of classes of
    /// service is the smallest of all resources, which is the kernel's limit.
    pub cache: Option<CacheAllocation>,
    /// Memory-bandwidth allocation, whether in per cent or not.
    pub bandwidth: Option<BandwidthShares>,
    /// Monitoring of the last-level caches.
    pub monitoring: Option<MonitoringInfo>,
}

/// `info/L3_MON`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitoringInfo {
    /// Number of groups that can be monitored, control groups and the root included.
    pub num_rmids: u32,
    /// Whether bytes to and from memory are counted (`mbm_total_bytes`).
    pub counts_bytes: bool,
}

impl Info {
    /// Reads the folder; `prefix` is the part of the path before `info/` in the tree.
    ///
    /// # Errors
    /// [`LinuxError`] if a file is unreadable or damaged.
    pub fn read(tree: &Tree, prefix: &str, level: u32) -> Result<Self, LinuxError> {
        let at = format!("{prefix}info");
        let monitoring = monitoring(tree, &at, level)?;
        let mut info = Self { bandwidth: bandwidth(tree, &at)?, monitoring, ..Self::default() };
        info.add_caches(tree, &at, level)?;
        let shares = info.bandwidth.filter(|_| is_all_in_percent(tree, prefix));
        info.cache.iter_mut().for_each(|cache| cache.bandwidth = shares);
        Ok(info)
    }

    fn add_caches(&mut self, tree: &Tree, info: &str, level: u32) -> Result<(), LinuxError> {
        for resource in [format!("L{level}"), format!("L{level}CODE"), format!("L{level}DATA")] {
            let at = format!("{info}/{resource}");
            let cbm_mask = ways(tree, &format!("{at}/cbm_mask"))?;
            let own_classes = files::small_number(tree, &format!("{at}/num_closids"))?;
            let (Some(cbm_mask), Some(own_classes)) = (cbm_mask, own_classes) else { continue };
            if self.cache.is_none() {
                self.cache = Some(CacheAllocation {
                    resource: resource.clone(),
                    cbm_mask,
                    num_closids: own_classes.min(fewest_classes(tree, info)?),
                    // These files are younger than the other two; a mask of no bits was refused
                    // from the start.
                    min_cbm_bits: files::small_number(tree, &format!("{at}/min_cbm_bits"))?.unwrap_or(1),
                    shareable_bits: files::bit_mask(tree, &format!("{at}/shareable_bits"))?.unwrap_or(0),
                    num_rmids: self.monitoring.as_ref().map(|monitoring| monitoring.num_rmids),
                    bandwidth: None,
                });
            }
            self.resources.push(resource);
        }
        Ok(())
    }
}

/// Whether shares can be given in per cent of all bandwidth: the default group has 100 everywhere.
/// This is not so on AMD (eighths of a GB/s), with `mba_MBps`, or if someone else limits the
/// programs that have no share.
fn is_all_in_percent(tree: &Tree, prefix: &str) -> bool {
    let text = tree.read(&format!("{prefix}schemata")).ok().flatten().unwrap_or_default();
    let default = Schemata::parse(&text).unwrap_or_default();
    let mut domains = default.domains(BANDWIDTH).peekable();
    domains.peek().is_some() && domains.all(|domain| default.get(BANDWIDTH, domain) == Some(100))
}

/// The mask of all ways of a cache. A mask of 0 is refused: a cache without ways could give none to
/// any program.
fn ways(tree: &Tree, path: &str) -> Result<Option<u64>, LinuxError> {
    let some = |text: &str| parse::bit_mask(text).filter(|mask| *mask != 0);
    files::value(tree, path, "a mask of 1 to 64 ways in hexadecimal such as `7ff`", some)
}

/// The smallest number of classes of all resources, because a class takes one of every resource:
/// "The kernel uses the smallest number of CLOSIDs of all enabled resources as limit."
fn fewest_classes(tree: &Tree, info: &str) -> Result<u32, LinuxError> {
    let mut fewest = u32::MAX;
    for resource in tree.list(info)? {
        let own = files::small_number(tree, &format!("{info}/{resource}/num_closids"))?;
        fewest = fewest.min(own.unwrap_or(u32::MAX));
    }
    Ok(fewest)
}

fn bandwidth(tree: &Tree, info: &str) -> Result<Option<BandwidthShares>, LinuxError> {
    let at = format!("{info}/MB");
    let least = files::small_number(tree, &format!("{at}/min_bandwidth"))?;
    let step = files::small_number(tree, &format!("{at}/bandwidth_gran"))?;
    Ok(least.map(|least_percent| BandwidthShares { least_percent, step_percent: step.unwrap_or(1) }))
}

fn monitoring(tree: &Tree, info: &str, level: u32) -> Result<Option<MonitoringInfo>, LinuxError> {
    let at = format!("{info}/L{level}_MON");
    let Some(num_rmids) = files::small_number(tree, &format!("{at}/num_rmids"))? else { return Ok(None) };
    let features = tree.read(&format!("{at}/mon_features"))?.unwrap_or_default();
    let counts_bytes = features.lines().any(|line| line.trim() == "mbm_total_bytes");
    Ok(Some(MonitoringInfo { num_rmids, counts_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{folder, write};
    use std::path::Path;

    fn read(root: &Path) -> Result<Info, LinuxError> {
        Info::read(&Tree::folder(root), "", 3)
    }

    #[test]
    fn a_skylake_offers_ways_bandwidth_and_monitoring() {
        let root = folder(&[
            ("info/L3/cbm_mask", "7ff\n"),
            ("info/L3/min_cbm_bits", "1\n"),
            ("info/L3/num_closids", "16\n"),
            ("info/L3/shareable_bits", "600\n"),
            ("info/MB/num_closids", "8\n"),
            ("info/MB/min_bandwidth", "10\n"),
            ("info/MB/bandwidth_gran", "10\n"),
            ("schemata", "    L3:0=7ff;1=7ff\n    MB:0=100;1= 100\n"),
            ("info/L3_MON/num_rmids", "144\n"),
            ("info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"),
        ]);
        let Info { cache, bandwidth, monitoring, .. } = read(root.path()).unwrap();
        let cache = cache.unwrap();
        assert_eq!((cache.cbm_mask, cache.shareable_bits, cache.num_rmids), (0x7ff, 0x600, Some(144)));
        assert_eq!(cache.num_closids, 8, "a class is one of MB, too");
        let bandwidth = bandwidth.unwrap();
        assert_eq!([1, 10, 11, 55, 100].map(|percent| bandwidth.rounded(percent)), [10, 10, 20, 60, 100]);
        assert_eq!(cache.bandwidth, Some(bandwidth));
        assert_eq!(monitoring, Some(MonitoringInfo { num_rmids: 144, counts_bytes: true }));
    }

    #[test]
    fn shares_that_are_not_per_cent_are_not_offered() {
        let root = folder(&[
            ("info/L3/cbm_mask", "ffff\n"),
            ("info/L3/num_closids", "16\n"),
            ("info/MB/num_closids", "16\n"),
            ("info/MB/min_bandwidth", "1\n"),
            ("info/MB/bandwidth_gran", "1\n"),
        ]);
        for schemata in ["L3:0=ffff\nMB:0=2048\n", "L3:0=ffff\nMB:0=90\n", "L3:0=ffff\n"] {
            write(root.path(), &[("schemata", schemata)]);
            let found = read(root.path()).unwrap();
            assert!(found.bandwidth.is_some() && found.cache.unwrap().bandwidth.is_none(), "{schemata}");
        }
    }

    #[test]
    fn code_and_data_are_two_resources_of_one_cache() {
        let code = [("info/L3CODE/cbm_mask", "fffff"), ("info/L3CODE/num_closids", "8")];
        let data = [("info/L3DATA/cbm_mask", "fffff"), ("info/L3DATA/num_closids", "8")];
        let root = folder(&[code, data].concat());
        let Info { resources, cache, bandwidth, monitoring } = read(root.path()).unwrap();
        assert_eq!(resources, ["L3CODE", "L3DATA"]);
        assert_eq!((cache.unwrap().resource.as_str(), bandwidth, monitoring), ("L3CODE", None, None));
    }

    #[test]
    fn nothing_is_offered_where_nothing_is_mounted_and_damage_is_named() {
        let root = folder(&[]);
        assert_eq!(read(root.path()).unwrap(), Info::default());
        write(root.path(), &[("info/L3/cbm_mask", "ways"), ("info/L3/num_closids", "16")]);
        let said = read(root.path()).unwrap_err().to_string();
        assert!(said.contains("cbm_mask: `ways` is not"), "{said}");
        write(root.path(), &[("info/L3/cbm_mask", "0")]);
        let said = read(root.path()).unwrap_err().to_string();
        assert!(said.contains("cbm_mask: `0` is not a mask of 1 to 64 ways"), "{said}");
    }
}
