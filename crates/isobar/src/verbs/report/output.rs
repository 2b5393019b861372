//! Where a page goes. A page that is there already is not written over unless that was asked for,
//! and this is said before minutes of work.

use crate::failure::bad_input;
use anyhow::Context;
use isobar_model::Bytes;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// `--report FILE` of a verb whose answer a page can show.
#[derive(Debug, clap::Args)]
pub struct PageOption {
    /// Write the answer into this file as one HTML page, too; it must not be there yet
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl PageOption {
    /// Whether a page was asked for.
    pub const fn asked(&self) -> bool {
        self.report.is_some()
    }

    /// Before the work.
    ///
    /// # Errors
    /// Bad input: a page that is there already, a folder that is not.
    pub fn check(&self) -> anyhow::Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        if path.exists() {
            return Err(bad_input(format!("--report {}: is there already: name another file", path.display())));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.filter(|folder| !folder.is_dir()) {
            Some(folder) => Err(bad_input(format!("--report {}: {} is no folder", path.display(), folder.display()))),
            None => Ok(()),
        }
    }

    /// After it; where it went goes to stderr, since the answer itself is on stdout.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, page: impl FnOnce() -> anyhow::Result<(String, String)>) -> anyhow::Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        let (page, what) = page()?;
        let mut said = Vec::new();
        write(path, &page, &what, false, &mut said)?;
        crate::failure::tell(String::from_utf8_lossy(&said).trim_end());
        Ok(())
    }
}

/// Whether a page can go there.
///
/// # Errors
/// Bad input: it is there already.
pub fn check(path: &Path, force: bool) -> anyhow::Result<()> {
    if force || !path.exists() { Ok(()) } else { Err(there(path)) }
}

fn there(path: &Path) -> anyhow::Error {
    bad_input(format!("{} is there already: give --force to write over it", path.display()))
}

/// Writes a page and says so.
///
/// # Errors
/// Bad input: it is there already; where it cannot be written.
pub fn write(path: &Path, page: &str, what: &str, force: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(!force).create(force).truncate(force);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => there(path),
        _ => bad_input(format!("{}: cannot be written: {error}", path.display())),
    })?;
    file.write_all(page.as_bytes()).with_context(|| format!("{}", path.display()))?;
    let size = Bytes(u64::try_from(page.len())?).human();
    Ok(writeln!(out, "wrote {} ({size}, {what})", path.display())?)
}
