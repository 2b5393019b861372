//! resctrl while something runs: `numasim-resctrl`, a file system as the kernel's whose groups have
//! the modelled machine's ways. It is started anew for each run, so that none finds the groups of
//! the one before, and runs at the real machine's speed: hardware would do its work.

use crate::job::Child;
use crate::procfs;
use numasim_guest::wire::RESCTRL;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

/// Where it is when it is mounted.
const MOUNTED: &str = "/sys/fs/resctrl/schemata";
/// Guest seconds within which it mounts, and unmounts.
const PATIENCE: f64 = 20.0;

/// A mounted one.
pub struct Resctrl(Child);

impl Resctrl {
    /// Mounts it where it is asked for.
    ///
    /// # Errors
    /// Why it is not there.
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

    /// Unmounts it, whereby everything has all ways again; what went wrong meanwhile, if anything.
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
