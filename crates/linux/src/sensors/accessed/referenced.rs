//! Sees accesses mapping by mapping, by referenced bits: `1` written to `/proc/PID/clear_refs`
//! clears the accessed bit of every page-table entry, and `Referenced:` in `/proc/PID/smaps` says
//! afterwards how much of each mapping was read or written since
//! (`Documentation/filesystems/proc.rst`).
//!
//! The kernel does not name single pages in this way. The count of a mapping is exact, but *which*
//! of its pages were accessed is only known if nearly all were. So only such mappings ([`MOSTLY`])
//! are named as places to move pages from.
//!
//! Clearing locks the process's memory map for as long as the walk takes, and page faults of the
//! process wait for it. [`Debt`] bounds how much is walked in an epoch. Clearing changes no content
//! and no mapping. It has two effects on others: the kernel's reclaim sees the pages as unused
//! until they are used again, and another reader of `Referenced` counts from isobar's clearing on.

use super::engine::{Engine, Reading, Watched};
use super::heat::AccessedRange;
use super::smaps::{self, Mapping};
use crate::kernel::numa_maps;
use isobar_model::{NodeMap, Pages, Pid, num};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Number of resident pages that are walked in an epoch, on average: 4 GiB of base pages.
const PAGES_PER_EPOCH: u64 = 1 << 20;

/// Maximum number of processes that are watched at a time.
const MOST: usize = 16;

/// A mapping of which this share (per cent) was accessed is taken to be accessed as a whole.
const MOSTLY: u64 = 75;

/// Number of pages that were walked beyond what the epochs so far allow: a process larger than the
/// budget of one epoch is walked as a whole, and then nothing is walked for some epochs.
#[derive(Debug, Default)]
struct Debt(u64);

impl Debt {
    fn epoch(&mut self) {
        self.0 = self.0.saturating_sub(PAGES_PER_EPOCH);
    }

    const fn allows(&self) -> bool {
        self.0 < PAGES_PER_EPOCH
    }

    const fn charge(&mut self, pages: u64) {
        self.0 = self.0.saturating_add(pages);
    }
}

/// The engine.
#[derive(Debug, Default)]
pub struct Referenced {
    /// Processes whose bits were cleared at the last step, with their start.
    cleared: BTreeMap<Pid, u64>,
    /// The step at which each was last cleared: the one that has waited longest comes first.
    turns: BTreeMap<(Pid, u64), u64>,
    round: u64,
    debt: Debt,
    denied: usize,
}

impl Referenced {
    /// Creates the engine, if the kernel has the files.
    ///
    /// # Errors
    /// The reason, with the remedy.
    pub fn open() -> Result<Self, String> {
        let there = Path::new("/proc/self/clear_refs").exists() && Path::new("/proc/self/smaps").exists();
        let why = "the kernel has no /proc/PID/clear_refs: that needs CONFIG_PROC_PAGE_MONITOR";
        if there { Ok(Self::default()) } else { Err(why.to_owned()) }
    }

    fn clear(&mut self, process: &Watched) {
        match fs::write(format!("/proc/{}/clear_refs", process.pid), "1") {
            Ok(()) => {
                self.cleared.insert(process.pid, process.start);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.denied += 1,
            // The process has ended.
            Err(_) => {}
        }
        self.turns.insert((process.pid, process.start), self.round);
    }
}

impl Engine for Referenced {
    fn describe(&self) -> &'static str {
        "by mapping, from referenced bits (clear_refs and smaps)"
    }

    fn step(&mut self, wanted: &[Watched]) -> BTreeMap<Pid, Reading> {
        self.round += 1;
        self.debt.epoch();
        let cleared = std::mem::take(&mut self.cleared);
        let mut readings = BTreeMap::new();
        for process in wanted.iter().filter(|process| cleared.get(&process.pid) == Some(&process.start)) {
            self.debt.charge(process.resident);
            readings.extend(read(process.pid, process.start).map(|reading| (process.pid, reading)));
        }
        let mut order: Vec<&Watched> = wanted.iter().take(MOST).collect();
        order.sort_by_key(|process| self.turns.get(&(process.pid, process.start)).copied());
        self.denied = 0;
        for process in order {
            if self.debt.allows() {
                self.debt.charge(process.resident);
                self.clear(process);
            }
        }
        let round = self.round;
        self.turns.retain(|_, turn| round.saturating_sub(*turn) < 1000);
        readings
    }

    fn denied(&self) -> usize {
        self.denied
    }
}

/// What a process accessed since its bits were cleared; `None` if it has ended, or may not be read.
fn read(pid: Pid, start: u64) -> Option<Reading> {
    let page_size = procfs::page_size();
    let text = fs::read(format!("/proc/{pid}/smaps")).ok()?;
    let nodes = fs::read(format!("/proc/{pid}/numa_maps")).ok();
    let mappings = smaps::parse(&String::from_utf8_lossy(&text), page_size);
    Some(reading(start, &mappings, nodes.as_deref(), page_size))
}

/// Joins the referenced amount of each mapping with the nodes of its pages. Without `numa_maps`
/// nothing is said about nodes.
fn reading(start: u64, mappings: &[Mapping], numa_maps: Option<&[u8]>, page_size: u64) -> Reading {
    let accessed_whole = |mapping: &&Mapping| {
        mapping.referenced > 0 && mapping.referenced.saturating_mul(100) >= mapping.resident.saturating_mul(MOSTLY)
    };
    let stretch = |mapping: &Mapping| AccessedRange {
        pages: mapping.pages,
        heat: mapping.referenced.saturating_mul(100) / mapping.resident.max(1),
    };
    Reading {
        start,
        stretches: mappings.iter().filter(accessed_whole).map(stretch).collect(),
        by_node: numa_maps.map(|text| by_node(mappings, text, page_size)),
    }
}

/// Accessed pages by node: each mapping's pages on a node, times the share of the mapping that was
/// accessed.
fn by_node(mappings: &[Mapping], text: &[u8], page_size: u64) -> NodeMap<Pages> {
    let share: BTreeMap<u64, f64> = mappings
        .iter()
        .filter(|mapping| mapping.resident > 0)
        .map(|mapping| (mapping.pages.start, num::float(mapping.referenced) / num::float(mapping.resident)))
        .collect();
    let mut sum: BTreeMap<_, f64> = BTreeMap::new();
    for mapping in numa_maps::lines(text).flatten() {
        let Some(share) = share.get(&(mapping.start / page_size)) else { continue };
        for (node, pages) in mapping.base_pages(page_size / 1024) {
            *sum.entry(node).or_default() += share.min(1.0) * num::float(pages.0);
        }
    }
    sum.into_iter().map(|(node, pages)| (node, Pages(num::round(pages)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::page_range::PageRange;
    use isobar_model::NodeId;

    fn mapping(start: u64, end: u64, resident: u64, referenced: u64) -> Mapping {
        Mapping { pages: PageRange { start, end }, resident, referenced }
    }

    #[test]
    fn a_share_of_each_mapping_is_accessed_on_each_node() {
        // A quarter of 80 pages: 60 on node 0 and 20 on node 1. All of 10 on node 1.
        let mappings = [mapping(0x100, 0x200, 80, 20), mapping(0x300, 0x310, 10, 10), mapping(0x400, 0x410, 0, 0)];
        let text = b"100000 default anon=80 N0=60 N1=20 kernelpagesize_kB=4\n\
                     300000 default anon=10 N1=10 kernelpagesize_kB=4\n400000 default\n500000 default N0=7\n";
        let found = reading(9, &mappings, Some(text), 4096);
        let expected = [(NodeId(0), Pages(15)), (NodeId(1), Pages(15))];
        assert_eq!(found.by_node, Some(expected.into_iter().collect()));
        assert_eq!(found.stretches, [AccessedRange { pages: PageRange { start: 0x300, end: 0x310 }, heat: 100 }]);
        assert_eq!(reading(9, &mappings, None, 4096).by_node, None);
    }

    #[test]
    fn a_large_process_is_followed_by_epochs_of_rest() {
        let mut debt = Debt::default();
        assert!(debt.allows());
        // Cleared and read: the budget of 5 epochs in all.
        debt.charge(5 * PAGES_PER_EPOCH / 2);
        debt.charge(5 * PAGES_PER_EPOCH / 2);
        let rest = (0..100).take_while(|_| {
            debt.epoch();
            !debt.allows()
        });
        assert_eq!(rest.count(), 4);
    }

    /// Uses this process itself: the mapping that it touches after the clearing is counted, the one
    /// that it leaves alone is not.
    #[test]
    fn of_two_mappings_the_touched_one_is_found() {
        let page = usize::try_from(procfs::page_size()).unwrap();
        let count = 2000;
        let map = || {
            // SAFETY: a new anonymous mapping, which nothing else knows of.
            let at = unsafe {
                rustix::mm::mmap_anonymous(
                    std::ptr::null_mut(),
                    count * page,
                    rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                    rustix::mm::MapFlags::PRIVATE,
                )
            };
            at.unwrap().cast::<u8>()
        };
        let touch = |at: *mut u8| {
            for index in 0..count {
                // SAFETY: inside the mapping, which is never unmapped.
                unsafe { at.wrapping_add(index * page).write_volatile(1) };
            }
        };
        let (hot, between, cold) = (map(), map(), map());
        // A hole between the two, otherwise the kernel would merge them into one mapping.
        // SAFETY: it is ours and nothing points to it.
        unsafe { rustix::mm::munmap(between.cast(), count * page) }.unwrap();
        touch(hot);
        touch(cold);
        let own = Pid(std::process::id());
        let mut engine = Referenced::open().unwrap();
        let watched = [Watched { pid: own, start: 5, resident: 4000 }];
        assert!(engine.step(&watched).is_empty(), "cleared, nothing known yet");
        touch(hot);
        let Some(reading) = engine.step(&watched).remove(&own) else {
            panic!("nothing was read; denied: {}", engine.denied());
        };
        let first = |at: *mut u8| (at.addr() / page) as u64;
        let found = |at: *mut u8| reading.stretches.iter().any(|it| it.pages.contains(first(at) + count as u64 / 2));
        assert!(found(hot), "{:?}", reading.stretches);
        assert!(!found(cold), "{:?}", reading.stretches);
        // Clearing does not flush the TLB: pages whose translation a CPU still holds are touched
        // without their bit being set.
        let least = count as u64 * MOSTLY / 100;
        assert!(reading.by_node.is_none_or(|nodes| nodes.values().map(|pages| pages.0).sum::<u64>() >= least));
    }
}
