//! The `info` folder ("Info directory" of Documentation/filesystems/resctrl.rst; the `*_show`
//! functions of fs/resctrl/rdtgroup.c). Hardware does not change, so everything except
//! `last_cmd_status` is a table.

use crate::machine::{BANDWIDTH_CLOSIDS, BANDWIDTH_STEP, Event, Machine};

/// A folder in `info`, with its files and their texts.
pub(super) struct Folder {
    pub name: &'static str,
    pub files: Vec<(&'static str, String)>,
}

pub(super) fn folders(machine: &Machine) -> Vec<Folder> {
    let caches: &[&str] = if machine.cdp { &["L3CODE", "L3DATA"] } else { &["L3"] };
    let cache = |name: &&'static str| Folder { name, files: of_cache(machine) };
    let bandwidth = machine.bandwidth.then(|| Folder { name: "MB", files: of_bandwidth() });
    let monitoring = Folder { name: "L3_MON", files: of_monitoring(machine) };
    caches.iter().map(cache).chain(bandwidth).chain([monitoring]).collect()
}

/// RMIDs are clean at once, so no removed group's bytes have to drain first and the limit is 0.
fn of_monitoring(machine: &Machine) -> Vec<(&'static str, String)> {
    let features = machine.events.iter().map(|event| format!("{}\n", event.name())).collect();
    let limit = machine.events.contains(&Event::Occupancy).then(|| ("max_threshold_occupancy", line(0)));
    [("mon_features", features), ("num_rmids", line(machine.rmids))].into_iter().chain(limit).collect()
}

fn of_cache(machine: &Machine) -> Vec<(&'static str, String)> {
    vec![
        ("num_closids", line(machine.cache_closids())),
        ("cbm_mask", format!("{:x}\n", machine.all_ways())),
        ("min_cbm_bits", line(1)),
        ("shareable_bits", line(0)),
        ("sparse_masks", line(0)),
    ]
}

fn of_bandwidth() -> Vec<(&'static str, String)> {
    vec![
        ("num_closids", line(BANDWIDTH_CLOSIDS)),
        ("min_bandwidth", line(BANDWIDTH_STEP)),
        ("bandwidth_gran", line(BANDWIDTH_STEP)),
        ("delay_linear", line(1)),
        ("thread_throttle_mode", "max\n".to_owned()),
    ]
}

fn line(number: u32) -> String {
    format!("{number}\n")
}
