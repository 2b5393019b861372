//! Writes a page. A page that exists already is not overwritten unless that was asked for, and this
//! is checked before minutes of work.

use crate::failure::bad_input;
use anyhow::Context;
use isobar_model::Bytes;
use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// `--report FILE` of verbs whose answer can be shown as a page.
#[derive(Debug, clap::Args)]
pub struct PageOption {
    /// Also write the answer to this file as one HTML page; the file must not exist yet
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl PageOption {
    /// Whether a page was asked for.
    pub const fn asked(&self) -> bool {
        self.report.is_some()
    }

    /// Checks the file before the work.
    ///
    /// # Errors
    /// Bad input: a page that exists already, or a folder that does not.
    pub fn check(&self) -> anyhow::Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        if path.exists() {
            return Err(bad_input(format!("--report {}: already exists: name another file", path.display())));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.filter(|folder| !folder.is_dir()) {
            Some(folder) => Err(bad_input(format!("--report {}: {} is no folder", path.display(), folder.display()))),
            None => Ok(()),
        }
    }

    /// Writes the page after the work. Where it went is reported on stderr, because the answer
    /// itself is on stdout.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, page: impl FnOnce() -> anyhow::Result<(String, String)>) -> anyhow::Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        let (page, what) = page()?;
        let mut said = Vec::new();
        write(path, &page, &what, false, &mut said)?;
        crate::failure::notify(String::from_utf8_lossy(&said).trim_end());
        Ok(())
    }
}

/// Checks whether a page can be written there.
///
/// # Errors
/// Bad input: it exists already.
pub fn check(path: &Path, force: bool) -> anyhow::Result<()> {
    if force || !path.exists() { Ok(()) } else { Err(there(path)) }
}

fn there(path: &Path) -> anyhow::Error {
    bad_input(format!("{} already exists: give --force to overwrite it", path.display()))
}

/// Writes a page and reports that.
///
/// # Errors
/// Bad input if it exists already; an error if it cannot be written.
pub fn write(path: &Path, page: &str, what: &str, force: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    // Names of processes are private, as they are in a recording.
    options.write(true).create_new(!force).create(force).truncate(force).mode(0o600);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => there(path),
        _ => bad_input(format!("{}: cannot be written: {error}", path.display())),
    })?;
    // An earlier page keeps its mode when it is overwritten.
    file.set_permissions(Permissions::from_mode(0o600)).with_context(|| format!("{}", path.display()))?;
    file.write_all(page.as_bytes()).with_context(|| format!("{}", path.display()))?;
    let size = Bytes(u64::try_from(page.len())?).human();
    Ok(writeln!(out, "wrote {} ({size}, {what})", path.display())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn only_its_owner_can_read_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        write(&path, "<p>mcf</p>", "1 program", false, &mut Vec::new()).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }
}
