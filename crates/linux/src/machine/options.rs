//! The bounds within which the machine is changed.

use crate::actuators::pages::PageOptions;
use crate::actuators::state_file;
use crate::resctrl::DEFAULT_ROOT;
use std::path::PathBuf;

/// How a [`super::LinuxMachine`] may act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxOptions {
    /// The state file; its lock lies beside it.
    pub state: PathBuf,
    /// Pages moved in a second, at most; what an epoch leaves over is good for one second more. 65,536 pages of 4 KiB are
    /// 256 MiB/s, a few per cent of a memory controller; DINO's K of 4096 for 16 threads.
    pub pages_per_second: u64,
    /// Threads moved in one epoch, at most.
    pub moves_per_epoch: usize,
    /// Whether threads are moved that their owner pinned. Their masks are put back exactly.
    pub move_pinned: bool,
    /// Where resctrl is mounted.
    pub resctrl: PathBuf,
    /// Whether threads get cache ways that another tool has put into a resctrl group of its own. They go back there at the end.
    pub move_grouped: bool,
    /// Whether nothing is changed, and no state file made.
    pub dry_run: bool,
    /// Whether `SIGINT`, `SIGTERM` and `SIGHUP` end the waiting instead of the process.
    pub catch_signals: bool,
    /// Bounds of one page migration.
    pub pages: PageOptions,
}

impl Default for LinuxOptions {
    fn default() -> Self {
        Self {
            state: state_file::default_path(),
            pages_per_second: 65_536,
            moves_per_epoch: 256,
            move_pinned: false,
            resctrl: DEFAULT_ROOT.into(),
            move_grouped: false,
            dry_run: false,
            catch_signals: true,
            pages: PageOptions::default(),
        }
    }
}
