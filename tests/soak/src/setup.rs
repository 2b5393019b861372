//! What all ends share: programs, the folder for their files, the CPUs, and the time limits.

use crate::args::Args;
use crate::evidence::{self, Cpus, Stat};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// What all ends share.
pub struct Setup {
    /// The program under test.
    pub isobar: PathBuf,
    /// The managed program.
    pub churn: PathBuf,
    /// The folder in which each end has a folder of its own.
    pub folder: TempDir,
    /// The CPUs that every thread may use before isobar starts.
    pub cpus: Cpus,
    /// How long isobar may take to end.
    pub limit: Duration,
    /// How long isobar may take to bind a thread, before it is ended in any case.
    pub wait: Duration,
    name: String,
}

impl Setup {
    /// Finds everything, or reports what is missing.
    pub fn new(args: &Args) -> Result<Self> {
        let isobar = program(&args.isobar)?;
        let beside = std::env::current_exe()?.with_file_name("churn");
        let churn = program(args.churn.as_deref().unwrap_or(&beside))?;
        let cpus = evidence::own_cpus();
        ensure!(cpus.len() > 1, "this program may use one CPU only: nothing can be moved");
        let folder = tempfile::Builder::new().prefix("isobar-soak-").tempdir()?;
        // The kernel cuts names at 15 bytes.
        let name = isobar.file_name().map(|name| name.to_string_lossy().chars().take(15).collect());
        let name = name.context("--isobar names no file")?;
        Ok(Self {
            isobar,
            churn,
            folder,
            cpus,
            limit: Duration::from_secs(args.limit),
            wait: Duration::from_secs(args.wait),
            name,
        })
    }

    /// Whether the managed program can make its forks last, so that isobar ends during one.
    pub fn forks_last(&self) -> Result<bool> {
        let churn = self.churn.display();
        let asked = Command::new(&self.churn).arg("forks-last").status().with_context(|| churn.to_string())?;
        match asked.code() {
            Some(code @ (0 | 1)) => Ok(code == 0),
            _ => bail!("{churn} forks-last: {asked}"),
        }
    }

    /// Whether a process is isobar.
    pub fn is_isobar(&self, stat: &Stat) -> bool {
        stat.name == self.name
    }
}

/// A program by its path, or by its name in the search path.
fn program(path: &Path) -> Result<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = vec![path.to_owned()];
    if path.components().count() == 1 {
        places = std::env::split_paths(&folders).map(|folder| folder.join(path)).collect();
    }
    let found = places.iter().find(|place| place.is_file());
    let found = found.with_context(|| format!("{}: no such program", path.display()))?;
    Ok(found.canonicalize()?)
}
