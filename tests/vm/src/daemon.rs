//! `isobar daemon` under test, started with a configuration file, and its answers on its socket.

use crate::isobar::{self, Manage, Said};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The folder of its state file and socket.
pub const FOLDER: &str = "/run/isobar";
/// Its state file.
pub const STATE: &str = "/run/isobar/state.json";
const CONFIG: &str = "/tmp/daemon.toml";

/// A daemon that answers requests.
pub struct Daemon(Manage);

impl Daemon {
    /// Starts a daemon and waits until it answers: four decisions a second, including idle threads,
    /// with the lines `manage` in `[manage]` and `rest` after that section.
    pub fn start(manage: &str, rest: &str) -> Result<Self> {
        let mut daemon = Self(Self::started(manage, rest)?);
        daemon.until("it answers", |_| Ok(isobar::run(&["status"])?.status.success()))?;
        Ok(daemon)
    }

    /// Starts a daemon that is expected to end by itself.
    pub fn refused(manage: &str, rest: &str) -> Result<Said> {
        Self::started(manage, rest)?.end()
    }

    fn started(manage: &str, rest: &str) -> Result<Manage> {
        let always = "interval_seconds = 0.25\nmin_cpu_percent = 0\ncounters = \"software\"";
        fs::write(CONFIG, format!("[manage]\n{always}\n{manage}\n{rest}\n"))?;
        Manage::start(&["daemon", "--config", CONFIG].map(str::to_owned))
    }

    /// Waits until `reached` is true for its status; fails if the daemon ends before that, or after
    /// two minutes.
    pub fn until(&mut self, what: &str, mut reached: impl FnMut(&Value) -> Result<bool>) -> Result<()> {
        let waited = self.0.until(what, || reached(&status().unwrap_or_default()));
        waited.with_context(|| format!("its status: {}", status().unwrap_or_default()))
    }

    /// Waits until a remark of its status contains these words.
    pub fn until_remarked(&mut self, words: &str) -> Result<()> {
        self.until(words, |status| Ok(remarked(status, words)))
    }

    /// Waits for this number of further decisions.
    pub fn epochs(&mut self, count: u64) -> Result<()> {
        let aim = epochs(&status()?) + count;
        self.until("further epochs", |status| Ok(epochs(status) >= aim))
    }

    /// Sends a signal and waits for the end.
    pub fn end_by(self, signal: Signal) -> Result<Said> {
        self.0.end_by(signal)
    }

    /// Ends it in order.
    pub fn stop(self) -> Result<Said> {
        let said = self.end_by(Signal::TERM)?;
        said.fine()?;
        ensure!(!fs::exists(STATE)?, "the state file is still there");
        Ok(said)
    }
}

/// Whether a remark of a status contains these words.
pub fn remarked(status: &Value, words: &str) -> bool {
    let remarks = status["remarks"].as_array().into_iter().flatten();
    remarks.filter_map(Value::as_str).any(|remark| remark.contains(words))
}

/// The status that the daemon reports.
pub fn status() -> Result<Value> {
    isobar::json(&["status", "--json"])
}

fn epochs(status: &Value) -> u64 {
    status["epochs"].as_u64().unwrap_or_default()
}

/// A small file system in place of a folder; unmounted when dropped.
pub struct Small(&'static str);

impl Small {
    /// Mounts it with 64 KiB.
    pub fn mount(folder: &'static str) -> Result<Self> {
        fs::create_dir_all(folder)?;
        mount(&["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", folder])?;
        Ok(Self(folder))
    }

    /// Fills all free space.
    pub fn fill(&self) -> Result<()> {
        let path = Path::new(self.0).join("filler");
        let written = fs::write(path, vec![0; 1 << 20]);
        ensure!(written.is_err(), "a megabyte fits into {}", self.0);
        Ok(())
    }

    /// Frees the space again.
    pub fn free(&self) -> Result<()> {
        Ok(fs::remove_file(Path::new(self.0).join("filler"))?)
    }

    /// Remounts it with an option: `ro`, `rw`.
    pub fn remount(&self, option: &str) -> Result<()> {
        mount(&["-o", &format!("remount,{option}"), self.0])
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").args(["-l", self.0]).status();
    }
}

fn mount(words: &[&str]) -> Result<()> {
    let status = std::process::Command::new("mount").args(words).status()?;
    ensure!(status.success(), "mount {}: {status}", words.join(" "));
    Ok(())
}
