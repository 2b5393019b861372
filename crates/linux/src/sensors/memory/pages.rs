//! Counts the resident pages by node of each process. Reading `numa_maps` walks every page table
//! entry of the process, so it is done only for busy processes, and for large ones only in one
//! sample of several; in between the last reading is used. Processes that are cheap to read are
//! read in every sample, because the kernel's NUMA balancing may move pages at any time, and a
//! decision about pages that have moved since moves nothing.

use crate::kernel::numa_maps::{parse, total};
use crate::kernel::proc_fs::{ProcDir, Until};
use crate::sensors::threads::state::ProcessState;
use isobar_model::num;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Reading the pages of processes that are new to us may take this many times the budget. In the
/// first samples of a process, up to the one in which its pages are due again, their counts show
/// whether the kernel migrates pages to it. A decision that does not know this may move threads to
/// a node that the pages have just left.
const BUDGETS_FOR_NEW: f64 = 50.0;

/// When pages are read, and what stood in the way.
#[derive(Debug)]
pub struct PageReader {
    every: u64,
    budget: f64,
    /// The last process that was read although it was not due.
    last_early: u32,
    min_ticks_a_second: f64,
    /// Whether the kernel has `numa_maps` at all (`CONFIG_NUMA`, `CONFIG_PROC_PAGE_MONITOR`).
    pub supported: bool,
    /// Number of processes whose file could not be read at the last try, for lack of permission.
    pub denied: usize,
}

impl PageReader {
    /// Creates a reader that reads the pages of a process in every n-th sample (`every`), if the
    /// process used at least `min_share` of one CPU; with a share of 0, idle processes are read,
    /// too. Processes that are not due are read all the same as long as all readings together take
    /// less than `budget` of the time between two samples.
    #[must_use]
    pub fn new(every: u32, min_share: f64, budget: f64) -> Self {
        Self {
            every: u64::from(every.max(1)),
            budget,
            last_early: 0,
            min_ticks_a_second: min_share * num::float(procfs::ticks_per_second()),
            supported: std::path::Path::new("/proc/self/numa_maps").exists(),
            denied: 0,
        }
    }

    /// Reads the processes that are due; `interval` is the time since the last sample, in seconds.
    pub fn refresh(
        &mut self,
        processes: &mut BTreeMap<u32, ProcessState>,
        files: &mut ProcDir,
        round: u64,
        interval: f64,
    ) {
        if !self.supported {
            return;
        }
        let mut denied = 0;
        let began = Instant::now();
        for (pid, process) in processes.iter_mut().filter(|(_, process)| self.is_due(process, round, interval)) {
            denied += usize::from(!Self::read_one(*pid, process, files, round));
        }
        self.denied = self.denied.max(denied);
        let budget = |times: f64| Duration::try_from_secs_f64(times * self.budget * interval).unwrap_or_default();
        let (of_new, usual) = (budget(BUDGETS_FOR_NEW), budget(1.0));
        let every = self.every;
        self.read_early(processes, files, (round, interval), (began, of_new), |one| {
            is_new(one.pages_since, round, every)
        });
        self.read_early(processes, files, (round, interval), (began, usual), |_| true);
    }

    /// Reads some processes that are not due, as far as the budget allows. It begins after the
    /// process that was last read in this way.
    fn read_early(
        &mut self,
        processes: &mut BTreeMap<u32, ProcessState>,
        files: &mut ProcDir,
        (round, interval): (u64, f64),
        (began, budget): (Instant, Duration),
        among: impl Fn(&ProcessState) -> bool,
    ) {
        if began.elapsed() >= budget {
            return;
        }
        let early = |process: &ProcessState| self.is_early(process, round, interval) && among(process);
        let mut pids: Vec<u32> = processes.iter().filter(|(_, one)| early(one)).map(|(pid, _)| *pid).collect();
        let after = pids.partition_point(|pid| *pid <= self.last_early);
        pids.rotate_left(after);
        for pid in pids {
            let Some(process) = processes.get_mut(&pid) else { continue };
            // It is expected to take as long as the last time.
            if began.elapsed() + process.pages_took <= budget {
                Self::read_one(pid, process, files, round);
                self.last_early = pid;
            }
        }
    }

    /// Reads one process; false if that was refused.
    fn read_one(pid: u32, process: &mut ProcessState, files: &mut ProcDir, round: u64) -> bool {
        let began = Instant::now();
        let pages = Self::read(pid, files);
        (process.pages_read, process.pages_took) = (Some(round), began.elapsed());
        process.pages_since = process.pages_since.or(Some(round));
        // On other errors the process has ended, or the file changed its form: the next reading
        // will show.
        let refused = matches!(pages, Err(Errno::ACCESS | Errno::PERM));
        if let Ok(pages) = pages {
            process.pages = Some(pages);
        }
        !refused
    }

    /// Marks the last reading of a process as outdated, because its pages were moved. The process
    /// is read in the next sample, busy or not.
    pub const fn outdate(process: &mut ProcessState) {
        process.pages_read = None;
    }

    fn is_due(&self, process: &ProcessState, round: u64, interval: f64) -> bool {
        let old = process.pages_read.is_none_or(|read| round.saturating_sub(read) >= self.every);
        let outdated = process.pages.is_some() && process.pages_read.is_none();
        outdated || (self.is_wanted(process, interval) && old)
    }

    /// Whether a process is not due, but may be read if that is cheap.
    fn is_early(&self, process: &ProcessState, round: u64, interval: f64) -> bool {
        let read_before = process.pages.is_some() && process.pages_read.is_some_and(|read| read != round);
        read_before && self.is_wanted(process, interval)
    }

    fn is_wanted(&self, process: &ProcessState, interval: f64) -> bool {
        let everybody = self.min_ticks_a_second <= 0.0;
        everybody || (process.load > 0 && num::float(process.load) >= self.min_ticks_a_second * interval)
    }

    fn read(pid: u32, files: &mut ProcDir) -> Result<isobar_model::NodeMap<isobar_model::Pages>, Errno> {
        let text = files.read(format_args!("{pid}/numa_maps"), Until::End)?;
        parse(text).map(|mappings| total(&mappings, procfs::page_size() / 1024)).ok_or(Errno::INVAL)
    }
}

/// Whether the pages of a process were first read less than `every` samples ago.
fn is_new(first: Option<u64>, round: u64, every: u64) -> bool {
    first.is_some_and(|first| round.saturating_sub(first) < every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_new_from_its_first_reading_until_it_is_due_again() {
        assert!(is_new(Some(7), 8, 5) && is_new(Some(7), 11, 5));
        assert!(!is_new(Some(7), 12, 5));
        assert!(!is_new(None, 8, 5), "its first reading is no matter of budgets");
    }
}
