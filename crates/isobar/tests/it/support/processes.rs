//! Processes that run beside the binary. They end with the test, whatever its result.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that ends with the test.
pub struct Kept(pub Child);

impl Kept {
    /// Starts a program without input, whose output is discarded.
    pub fn start(program: impl AsRef<OsStr>, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Starts a shell that is busy for at most a minute of CPU time.
    pub fn busy(shell: impl AsRef<OsStr>) -> Self {
        let busy = Self::start(shell, &["-c", "ulimit -t 60; while :; do :; done"]);
        std::thread::sleep(Duration::from_millis(100));
        busy
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The CPUs that it may run on.
    pub fn cpus(&self) -> String {
        cpus_of(&self.pid())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The CPUs that a process may run on.
pub fn cpus_of(process: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
}

/// Waits until something holds, far longer than anything takes on a loaded machine.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A setting that gives a test its own state file, so that tests interfere neither with each other
/// nor with a real isobar.
pub fn state_in(folder: &Path) -> String {
    format!("manage.state_file={}", folder.join("state.json").display())
}
