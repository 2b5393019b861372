//! Resident pages by node of each process. Reading `numa_maps` walks every page table entry of the
//! process, so it is done only for busy processes, and for large ones only in one sample of
//! several; in between the last reading stands. What is cheap to read is read in every sample,
//! since the kernel's NUMA balancing may move pages at any time, and a decision on pages that have
//! moved since moves nothing.

use crate::kernel::numa_maps::{parse, total};
use crate::kernel::proc_fs::{ProcDir, Until};
use crate::sensors::threads::state::ProcessState;
use isobar_model::num;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Of a process that is new to us pages may take this many times the budget: in its first samples,
/// up to the one in which they are due again, their course says whether the kernel brings pages to
/// it, and a decision that does not know that may move threads to where they have just left.
const BUDGETS_FOR_NEW: f64 = 50.0;

/// When pages are read, and what stood in the way.
#[derive(Debug)]
pub struct PageReader {
    every: u64,
    budget: f64,
    /// The last process that was read though it was not due.
    last_early: u32,
    min_ticks_a_second: f64,
    /// Whether the kernel has `numa_maps` at all (`CONFIG_NUMA`, `CONFIG_PROC_PAGE_MONITOR`).
    pub supported: bool,
    /// Processes whose file could not be read at the last try, for want of permission.
    pub denied: usize,
}

impl PageReader {
    /// `every` n-th sample of a process, where it used at least `min_share` of one CPU; with 0
    /// those of idle ones, too. Those that are not due are read all the same where all readings
    /// together take less than `budget` of the time between two samples.
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

    /// Reads what is due; `interval` is the time since the last sample, in seconds.
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

    /// Reads some that are not due as far as the budget goes, those first that come after the one
    /// that was read so last.
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
            // What it took the last time is what it will take.
            if began.elapsed() + process.pages_took <= budget {
                Self::read_one(pid, process, files, round);
                self.last_early = pid;
            }
        }
    }

    /// Reads one; false: it was refused.
    fn read_one(pid: u32, process: &mut ProcessState, files: &mut ProcDir, round: u64) -> bool {
        let began = Instant::now();
        let pages = Self::read(pid, files);
        (process.pages_read, process.pages_took) = (Some(round), began.elapsed());
        process.pages_since = process.pages_since.or(Some(round));
        // Other errors: it has ended, or the file changed its form; the next reading will show.
        let refused = matches!(pages, Err(Errno::ACCESS | Errno::PERM));
        if let Ok(pages) = pages {
            process.pages = Some(pages);
        }
        !refused
    }

    /// The last reading of a process does not stand any more: its pages were moved. It is read in
    /// the next sample, busy or not.
    pub const fn outdate(process: &mut ProcessState) {
        process.pages_read = None;
    }

    fn is_due(&self, process: &ProcessState, round: u64, interval: f64) -> bool {
        let old = process.pages_read.is_none_or(|read| round.saturating_sub(read) >= self.every);
        let outdated = process.pages.is_some() && process.pages_read.is_none();
        outdated || (self.is_wanted(process, interval) && old)
    }

    /// One that is not due, but may be read if that is cheap.
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

/// Whether the pages of a process were first read less than so many samples ago.
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
