//! Resident pages by node of each process. Reading `numa_maps` walks every page table entry of the
//! process, so it is done only for busy processes and only in one sample of several; in between the
//! last reading stands.

use crate::kernel::numa_maps::{parse, total};
use crate::kernel::proc_fs::{ProcDir, Until};
use crate::sensors::threads::state::ProcessState;
use isobar_model::num;
use rustix::io::Errno;
use std::collections::BTreeMap;

/// When pages are read, and what stood in the way.
#[derive(Debug)]
pub struct PageReader {
    every: u64,
    min_ticks_a_second: f64,
    /// Whether the kernel has `numa_maps` at all (`CONFIG_NUMA`, `CONFIG_PROC_PAGE_MONITOR`).
    pub supported: bool,
    /// Processes whose file could not be read at the last try, for want of permission.
    pub denied: usize,
}

impl PageReader {
    /// `every` n-th sample of a process, where it used at least `min_share` of one CPU; with 0
    /// those of idle ones, too.
    #[must_use]
    pub fn new(every: u32, min_share: f64) -> Self {
        Self {
            every: u64::from(every.max(1)),
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
        for (pid, process) in processes.iter_mut().filter(|(_, process)| self.is_due(process, round, interval)) {
            match Self::read(*pid, files) {
                Ok(pages) => process.pages = Some(pages),
                Err(Errno::ACCESS | Errno::PERM) => denied += 1,
                // It has ended, or the file changed its form: the next reading will show.
                Err(_) => {}
            }
            process.pages_read = Some(round);
        }
        self.denied = self.denied.max(denied);
    }

    /// The last reading of a process does not stand any more: its pages were moved. It is read in
    /// the next sample, busy or not.
    pub const fn outdate(process: &mut ProcessState) {
        process.pages_read = None;
    }

    fn is_due(&self, process: &ProcessState, round: u64, interval: f64) -> bool {
        let everybody = self.min_ticks_a_second <= 0.0;
        let busy = process.load > 0 && num::float(process.load) >= self.min_ticks_a_second * interval;
        let old = process.pages_read.is_none_or(|read| round.saturating_sub(read) >= self.every);
        let outdated = process.pages.is_some() && process.pages_read.is_none();
        outdated || ((busy || everybody) && old)
    }

    fn read(pid: u32, files: &mut ProcDir) -> Result<isobar_model::NodeMap<isobar_model::Pages>, Errno> {
        let text = files.read(format_args!("{pid}/numa_maps"), Until::End)?;
        parse(text).map(|mappings| total(&mappings, procfs::page_size() / 1024)).ok_or(Errno::INVAL)
    }
}
