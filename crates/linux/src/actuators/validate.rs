//! Checks whether a ledger that was read from a state file is plausible. The file is ours or
//! root's, so this is no defence against its owner: it keeps a damaged file from reaching further
//! than threads and resctrl groups. An id of 0, which the kernel takes for the caller, an id beyond
//! those that the kernel assigns, and a group name that leads out of its folder are refused.

use super::balancing::BalancingRecord;
use super::entries::ProcessEntry;
use super::ledger::Ledger;
use crate::resctrl::record::{Place, ResctrlRecord};
use isobar_model::{Pid, Tid};

/// The kernel's `PID_MAX_LIMIT`.
const HIGHEST_ID: u32 = 1 << 22;
/// Both bits of `kernel.numa_balancing`.
const HIGHEST_MODE: u32 = 3;

/// What is wrong with a ledger; `None` if nothing is.
pub fn problem(ledger: &Ledger) -> Option<String> {
    let processes = ledger.processes.iter().find_map(|(&pid, process)| in_process(pid, process));
    let owned =
        || ledger.owned.iter().find_map(|(tid, owned)| out_of_range(tid.0).or_else(|| out_of_range(owned.pid.0)));
    let others = || ledger.resctrl.as_ref().and_then(in_resctrl);
    processes.or_else(owned).or_else(others).or_else(|| ledger.balancing.as_ref().and_then(in_balancing))
}

fn in_balancing(record: &BalancingRecord) -> Option<String> {
    let modes = 0..=HIGHEST_MODE;
    let right = modes.contains(&record.before) && modes.contains(&record.ours);
    (!right).then(|| format!("`balancing` is not a mode of NUMA balancing: expected 0 to {HIGHEST_MODE}"))
}

fn in_process(pid: Pid, process: &ProcessEntry) -> Option<String> {
    let wrong = process.threads.keys().find_map(|&Tid(tid)| out_of_range(tid));
    out_of_range(pid.0).or(wrong).or_else(|| {
        let empty = process.threads.iter().find(|(_, thread)| thread.original.cpus.is_empty());
        empty.map(|(tid, _)| format!("the recorded CPU list of thread {tid} is empty"))
    })
}

fn in_resctrl(record: &ResctrlRecord) -> Option<String> {
    if !record.root.is_absolute() {
        return Some("`resctrl.root` is not an absolute path".to_owned());
    }
    let ids = record.tasks.iter().find_map(|(tid, origin)| out_of_range(tid.0).or_else(|| out_of_range(origin.pid.0)));
    let ours = record.groups.iter().find(|name| !name.starts_with("isobar") || !is_name(name));
    let places = record.tasks.values().map(|origin| &origin.place).find(|place| !is_place(place));
    ids.or_else(|| ours.map(|name| format!("`{name}` is not a resctrl group of isobar")))
        .or_else(|| places.map(|place| format!("`{}` is not a resctrl group", place.control)))
}

fn out_of_range(id: u32) -> Option<String> {
    (id == 0 || id > HIGHEST_ID).then(|| format!("{id} is not the id of a process or thread"))
}

fn is_place(place: &Place) -> bool {
    (place.control.is_empty() || is_name(&place.control)) && place.monitor.as_deref().is_none_or(is_name)
}

/// Whether a name is one component of a path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actuators::entries::{Original, ThreadEntry};
    use crate::actuators::mask_set::MaskSet;
    use crate::resctrl::record::Origin;

    fn with_thread(pid: u32, tid: u32, cpus: &str) -> Ledger {
        let original = Original { cpus: cpus.parse().unwrap(), ..Original::default() };
        let thread = ThreadEntry { start: 1, original: original.clone(), ours: MaskSet::default() };
        let threads = [(Tid(tid), thread)].into();
        let process = ProcessEntry { original, threads, ..ProcessEntry::new(1, 1) };
        let mut ledger = Ledger::new("boot".into());
        ledger.processes.insert(Pid(pid), process);
        ledger
    }

    fn with_group(group: &str, control: &str, monitor: Option<&str>) -> Ledger {
        let place = Place { control: control.into(), monitor: monitor.map(str::to_owned) };
        let tasks = [(Tid(5), Origin { pid: Pid(5), start: 1, place })].into();
        let record = ResctrlRecord { root: "/sys/fs/resctrl".into(), groups: [group.to_owned()].into(), tasks };
        let mut ledger = Ledger::new("boot".into());
        ledger.set_resctrl(&record);
        ledger
    }

    #[test]
    fn what_isobar_writes_is_sane() {
        assert_eq!(problem(&with_thread(7, 8, "0-3")), None);
        assert_eq!(problem(&with_group("isobar-7-1", "web", Some("mon"))), None);
        assert_eq!(problem(&with_group("isobar-7-1", "", None)), None);
    }

    #[test]
    fn what_it_never_writes_is_not() {
        for (pid, tid, cpus) in [(0, 8, "0"), (7, 0, "0"), (7, u32::MAX, "0"), (1 << 23, 8, "0"), (7, 8, "")] {
            assert!(problem(&with_thread(pid, tid, cpus)).is_some(), "{pid} {tid} {cpus}");
        }
        for group in ["", ".", "..", "../../etc", "isobar-1/../..", "web", "info"] {
            assert!(problem(&with_group(group, "", None)).is_some(), "{group}");
        }
        for (before, ours, right) in [(1, 0, true), (3, 2, true), (7, 0, false), (1, u32::MAX, false)] {
            let balancing = Some(BalancingRecord { before, ours });
            let ledger = Ledger { balancing, ..Ledger::new("boot".into()) };
            assert_eq!(problem(&ledger).is_none(), right, "{before} {ours}");
        }
        for place in ["..", "a/b", "/"] {
            assert!(problem(&with_group("isobar-1", place, None)).is_some(), "{place}");
            assert!(problem(&with_group("isobar-1", "web", Some(place))).is_some(), "{place}");
        }
    }
}
