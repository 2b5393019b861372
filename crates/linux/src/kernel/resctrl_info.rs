//! What resctrl offers, from its `info` folder (`Documentation/filesystems/resctrl.rst`, "Info
//! directory"): caches, memory bandwidth, monitoring. It knows the files; what they mean for a plan
//! is known elsewhere.

use super::tree::{LinuxError, Tree};
use super::{files, parse};
use std::collections::BTreeSet;

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Way allocation on the caches of the level that was asked for.
    pub cache: Option<CacheInfo>,
    /// Memory-bandwidth allocation.
    pub bandwidth: Option<BandwidthInfo>,
    /// Monitoring of the last-level caches.
    pub monitoring: Option<MonitoringInfo>,
}

/// `info/L3`, or `info/L3CODE` and `info/L3DATA` with code and data prioritisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheInfo {
    /// The resources that a mask is written to: `L3`, or `L3CODE` and `L3DATA`.
    pub resources: Vec<String>,
    /// Every bit that a mask may set.
    pub cbm_mask: u64,
    /// The fewest bits that a mask must set.
    pub min_cbm_bits: u32,
    /// Classes of service, the default group's among them: the fewest of all resources, which is
    /// what the kernel goes by.
    pub num_closids: u32,
    /// Bits that devices may fill too.
    pub shareable_bits: u64,
    /// Whether masks may have gaps.
    pub sparse_masks: bool,
    /// The kernel's own account of who uses which bits (`0=XXSSSSSSSSS;1=...`).
    pub bit_usage: Option<String>,
}

/// `info/MB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandwidthInfo {
    /// The least that may be asked for, in per cent.
    pub min_bandwidth: u64,
    /// Steps above it, in per cent.
    pub granularity: u64,
    /// Whether the throttle is linear.
    pub delay_linear: Option<bool>,
    /// `max`: threads of a core get the smallest share of both; `per-thread`: each its own.
    pub thread_throttle_mode: Option<String>,
}

/// `info/L3_MON`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitoringInfo {
    /// Groups that can be monitored, control groups and the root among them.
    pub num_rmids: u32,
    /// Events, such as `mbm_total_bytes`.
    pub features: BTreeSet<String>,
    /// Occupancy in bytes below which the RMID of a group that was removed is free again.
    pub max_threshold_occupancy: Option<u64>,
}

/// The event that bandwidth is read from.
pub const TOTAL_BYTES: &str = "mbm_total_bytes";

impl Info {
    /// Reads the folder; `prefix` is what stands before `info/` in the tree.
    ///
    /// # Errors
    /// [`LinuxError`] where a file is unreadable or damaged.
    pub fn read(tree: &Tree, prefix: &str, level: u32) -> Result<Self, LinuxError> {
        let info = format!("{prefix}info");
        Ok(Self {
            cache: cache(tree, &info, level)?,
            bandwidth: bandwidth(tree, &info)?,
            monitoring: monitoring(tree, &info, level)?,
        })
    }
}

impl BandwidthInfo {
    /// A share as the hardware has it: the next step that is not less, from the least to 100.
    #[must_use]
    pub const fn rounded(&self, percent: u64) -> u64 {
        let step = if self.granularity == 0 { 1 } else { self.granularity };
        let wanted = if percent < self.min_bandwidth { self.min_bandwidth } else { percent };
        let rounded = wanted.div_ceil(step).saturating_mul(step);
        if rounded > 100 { 100 } else { rounded }
    }
}

impl MonitoringInfo {
    /// Whether bytes to and from memory are counted.
    #[must_use]
    pub fn counts_bytes(&self) -> bool {
        self.features.contains(TOTAL_BYTES)
    }
}

/// The mask of all ways of a cache: a cache without ways could give none to anybody.
fn ways(tree: &Tree, path: &str) -> Result<Option<u64>, LinuxError> {
    let some = |text: &str| parse::bit_mask(text).filter(|mask| *mask != 0);
    files::value(tree, path, "a mask of 1 to 64 ways in hexadecimal such as `7ff`", some)
}

fn cache(tree: &Tree, info: &str, level: u32) -> Result<Option<CacheInfo>, LinuxError> {
    let mut found: Option<CacheInfo> = None;
    for resource in [format!("L{level}"), format!("L{level}CODE"), format!("L{level}DATA")] {
        let at = format!("{info}/{resource}");
        let cbm_mask = ways(tree, &format!("{at}/cbm_mask"))?;
        let num_closids = files::small_number(tree, &format!("{at}/num_closids"))?;
        let (Some(cbm_mask), Some(num_closids)) = (cbm_mask, num_closids) else { continue };
        match &mut found {
            Some(code) => code.resources.push(resource),
            None => {
                found = Some(CacheInfo {
                    resources: vec![resource],
                    cbm_mask,
                    num_closids,
                    // These files are younger than the other two; a mask of no bits was refused
                    // from the start.
                    min_cbm_bits: files::small_number(tree, &format!("{at}/min_cbm_bits"))?.unwrap_or(1),
                    shareable_bits: files::bit_mask(tree, &format!("{at}/shareable_bits"))?.unwrap_or(0),
                    sparse_masks: files::small_number(tree, &format!("{at}/sparse_masks"))? == Some(1),
                    bit_usage: tree.read(&format!("{at}/bit_usage"))?.map(|text| text.trim().to_owned()),
                });
            }
        }
    }
    if let Some(cache) = &mut found {
        cache.num_closids = cache.num_closids.min(fewest_classes(tree, info)?);
    }
    Ok(found)
}

/// A class is one of every resource: "The kernel uses the smallest number of CLOSIDs of all enabled
/// resources as limit."
fn fewest_classes(tree: &Tree, info: &str) -> Result<u32, LinuxError> {
    let mut fewest = u32::MAX;
    for resource in tree.list(info)? {
        let own = files::small_number(tree, &format!("{info}/{resource}/num_closids"))?;
        fewest = fewest.min(own.unwrap_or(u32::MAX));
    }
    Ok(fewest)
}

fn bandwidth(tree: &Tree, info: &str) -> Result<Option<BandwidthInfo>, LinuxError> {
    let at = format!("{info}/MB");
    let Some(min_bandwidth) = files::number(tree, &format!("{at}/min_bandwidth"))? else { return Ok(None) };
    let mode = tree.read(&format!("{at}/thread_throttle_mode"))?;
    Ok(Some(BandwidthInfo {
        min_bandwidth,
        granularity: files::number(tree, &format!("{at}/bandwidth_gran"))?.unwrap_or(1),
        delay_linear: files::small_number(tree, &format!("{at}/delay_linear"))?.map(|linear| linear == 1),
        thread_throttle_mode: mode.map(|mode| mode.trim().to_owned()).filter(|mode| !mode.is_empty()),
    }))
}

fn monitoring(tree: &Tree, info: &str, level: u32) -> Result<Option<MonitoringInfo>, LinuxError> {
    let at = format!("{info}/L{level}_MON");
    let Some(num_rmids) = files::small_number(tree, &format!("{at}/num_rmids"))? else { return Ok(None) };
    let features = tree.read(&format!("{at}/mon_features"))?.unwrap_or_default();
    Ok(Some(MonitoringInfo {
        num_rmids,
        features: features.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect(),
        max_threshold_occupancy: files::number(tree, &format!("{at}/max_threshold_occupancy"))?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join("info").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    fn read(root: &Path) -> Info {
        Info::read(&Tree::folder(root), "", 3).unwrap()
    }

    #[test]
    fn a_skylake_offers_ways_bandwidth_and_monitoring() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("L3/cbm_mask", "7ff\n"),
                ("L3/min_cbm_bits", "1\n"),
                ("L3/num_closids", "16\n"),
                ("L3/shareable_bits", "600\n"),
                ("L3/sparse_masks", "0\n"),
                ("L3/bit_usage", "0=XXSSSSSSSSS;1=XXSSSSSSSSS\n"),
                ("MB/num_closids", "8\n"),
                ("MB/min_bandwidth", "10\n"),
                ("MB/bandwidth_gran", "10\n"),
                ("MB/delay_linear", "1\n"),
                ("MB/thread_throttle_mode", "max\n"),
                ("L3_MON/num_rmids", "144\n"),
                ("L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"),
                ("L3_MON/max_threshold_occupancy", "163840\n"),
            ],
        );
        let Info { cache, bandwidth, monitoring } = read(root.path());
        let cache = cache.unwrap();
        assert_eq!((cache.cbm_mask, cache.shareable_bits, cache.sparse_masks), (0x7ff, 0x600, false));
        assert_eq!(cache.num_closids, 8, "a class is one of MB, too");
        let bandwidth = bandwidth.unwrap();
        assert_eq!([1, 10, 11, 55, 100].map(|percent| bandwidth.rounded(percent)), [10, 10, 20, 60, 100]);
        assert_eq!((bandwidth.delay_linear, bandwidth.thread_throttle_mode.as_deref()), (Some(true), Some("max")));
        let monitoring = monitoring.unwrap();
        assert!(monitoring.counts_bytes());
        assert_eq!((monitoring.num_rmids, monitoring.max_threshold_occupancy), (144, Some(163_840)));
    }

    #[test]
    fn code_and_data_are_two_resources_of_one_cache() {
        let root = tempfile::tempdir().unwrap();
        for resource in ["L3CODE", "L3DATA"] {
            write(
                root.path(),
                &[(&format!("{resource}/cbm_mask"), "fffff"), (&format!("{resource}/num_closids"), "8")],
            );
        }
        let Info { cache, bandwidth, monitoring } = read(root.path());
        assert_eq!(cache.unwrap().resources, ["L3CODE", "L3DATA"]);
        assert_eq!((bandwidth, monitoring), (None, None));
    }

    #[test]
    fn nothing_is_offered_where_nothing_is_mounted_and_damage_is_named() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(read(root.path()), Info::default());
        write(root.path(), &[("L3/cbm_mask", "ways"), ("L3/num_closids", "16")]);
        let said = Info::read(&Tree::folder(root.path()), "", 3).unwrap_err().to_string();
        assert!(said.contains("cbm_mask: `ways` is not"), "{said}");
        write(root.path(), &[("L3/cbm_mask", "0")]);
        let said = Info::read(&Tree::folder(root.path()), "", 3).unwrap_err().to_string();
        assert!(said.contains("cbm_mask: `0` is not a mask of 1 to 64 ways"), "{said}");
    }
}
