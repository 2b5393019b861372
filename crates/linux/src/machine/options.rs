//! The limits within which the machine is changed.

use crate::actuators::{manager_lock, state_file};
use crate::resctrl::DEFAULT_ROOT;
use std::path::PathBuf;

/// How a [`super::LinuxMachine`] may act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxOptions {
    /// The state file; while it is used, its folder is locked.
    pub state: PathBuf,
    /// The file by which the managers of a machine find each other; `None` for tests that run
    /// several managers.
    pub manager_lock: Option<PathBuf>,
    /// Maximum number of pages moved per second; what an epoch leaves over can be used for one more
    /// second. 65,536 pages of 4 KiB are 256 MiB/s, a few per cent of a memory controller; DINO's K
    /// of 4096 for 16 threads.
    pub pages_per_second: u64,
    /// Maximum number of threads moved in one epoch.
    pub moves_per_epoch: usize,
    /// Whether threads that their owner pinned are moved. Their masks are put back exactly.
    pub move_pinned: bool,
    /// Where resctrl is mounted.
    pub resctrl: PathBuf,
    /// Whether threads that another tool has put into a resctrl group of its own get cache ways.
    /// They go back there at the end.
    pub move_grouped: bool,
    /// Whether changes of affinity by others are followed through the kernel's events; see
    /// [`crate::kernel_events`].
    pub watch_affinities: bool,
    /// Whether the kernel's NUMA balancing is switched off for the time of the run.
    pub balancing_off: bool,
    /// If set, nothing is changed and no state file is made.
    pub dry_run: bool,
    /// If set, isobar goes on when a change cannot be recorded (a full disk, a folder that became
    /// read-only): the change is refused. Otherwise that is an error, which ends the run.
    pub outlives_full_disks: bool,
    /// Whether SIGHUP has another meaning than to stop.
    pub spares_hangup: bool,
    /// Whether the signals of [`super::stop`] end the waiting instead of the process.
    pub catch_signals: bool,
}

impl Default for LinuxOptions {
    fn default() -> Self {
        Self {
            state: state_file::default_path(),
            manager_lock: Some(manager_lock::DEFAULT_PATH.into()),
            pages_per_second: 65_536,
            moves_per_epoch: 256,
            move_pinned: false,
            resctrl: DEFAULT_ROOT.into(),
            move_grouped: false,
            watch_affinities: true,
            balancing_off: false,
            dry_run: false,
            outlives_full_disks: false,
            spares_hangup: false,
            catch_signals: true,
        }
    }
}
