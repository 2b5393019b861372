//! resctrl while something runs: `numasim-resctrl`, a file system like the kernel's, whose groups
//! control the ways of the modelled machine. It is started anew for each run, so that no run finds
//! the groups of the run before. It runs at the real machine's speed, because on a real machine
//! hardware would do its work.

use crate::job::Child;
use crate::procfs;
use numasim_guest::wire::RESCTRL;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

/// A file that exists when it is mounted.
const MOUNTED: &str = "/sys/fs/resctrl/schemata";
/// Guest seconds within which it must mount and unmount.
const PATIENCE: f64 = 20.0;

/// A mounted resctrl.
pub struct Resctrl(Child);

impl Resctrl {
    /// Mounts resctrl if it is asked for.
    ///
    /// # Errors
    /// It could not be mounted; the reason.
    pub fn begin(asked: bool, folder: &Path) -> Result<Option<Self>, String> {
        if !asked {
            return Ok(None);
        }
        let argv = ["numasim-ctl", "daemon", RESCTRL].map(str::to_owned);
        let mut child = Child::start(RESCTRL, &argv, folder).map_err(|error| format!("resctrl: {error:#}"))?;
        let until = procfs::now() + PATIENCE;
        while !Path::new(MOUNTED).exists() {
            if child.ended() {
                return Err(format!("resctrl: it ended before it was mounted: {}", child.how()));
            }
            if procfs::now() >= until {
                child.kill();
                return Err(format!("resctrl: it was not mounted within {PATIENCE} s"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(Self(child)))
    }

    /// Unmounts it, which gives all CPUs all ways again. Returns what went wrong meanwhile, if
    /// anything.
    pub fn end(mut self) -> Option<String> {
        let early = self.0.ended();
        self.0.signal(Signal::TERM);
        if !self.0.wait_until(procfs::now() + PATIENCE) {
            self.0.kill();
            return Some(format!("resctrl: it did not end within {PATIENCE} s of SIGTERM"));
        }
        let errors = self.0.errors();
        match self.0.problem() {
            Some(how) => Some(format!("resctrl: {how}")),
            None if early => Some("resctrl: it ended before the run did".to_owned()),
            None => errors.lines().next().map(|line| format!("resctrl: {line}")),
        }
    }
}
