//! Stores a boot that ended well as a file, with everything that tables need and what the boot was
//! made of. A file appears under its name complete or not at all, so that an experiment that was
//! killed continues where it stopped. This file knows files and JSON, and compares nothing.

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::identity::Identity;
use crate::summary::Boot;
use numasim_guest::wire::{Line, Order};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Version of the format of the files.
pub const VERSION: u32 = 1;
/// Longest readable part of a name, because file names may have 255 bytes.
const READABLE: usize = 120;

/// A boot that ended well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// [`VERSION`].
    pub numasim_boot: u32,
    /// The experiment, with the contenders that ran.
    pub experiment: Experiment,
    /// Guest nanoseconds for each nanosecond of the real machine.
    pub time_scale: f64,
    /// Bytes of a real cache for each byte of a modelled one.
    pub cache_scale: f64,
    /// Seed of the guest's random numbers and of the order of contenders.
    pub seed: u64,
    /// Everything else that the boot depends on.
    pub identity: Identity,
    /// The command that boots it again.
    pub command: String,
    /// The commit of the sources; empty if it is not known.
    pub commit: String,
    /// QEMU's version.
    pub qemu_version: String,
    /// Seconds that the boot took on the host.
    pub host_seconds: f64,
    /// The order of the boot.
    pub order: Order,
    /// The lines that came back, except files that daemons wrote.
    pub lines: Vec<Line>,
}

impl Stored {
    /// The boot, as the given repeat of an experiment.
    #[must_use]
    pub fn boot(self, repeat: u32) -> Boot {
        Boot { repeat, order: self.order, lines: self.lines, problem: None }
    }

    /// The release of the guest's kernel, as the guest reported it.
    #[must_use]
    pub fn kernel(&self) -> &str {
        let hello = |line: &'_ Line| matches!(line, Line::Hello { .. });
        match self.lines.iter().find(|line| hello(line)) {
            Some(Line::Hello { kernel, .. }) => kernel,
            _ => "",
        }
    }
}

/// The file of a boot. Its name has a readable part, and a hash of everything that the boot depends
/// on.
#[must_use]
pub fn path(folder: &Path, experiment: &str, seed: u64, identity: &Identity) -> PathBuf {
    folder.join(format!("{}-s{seed}-{}.json", slug(experiment), identity.short(seed)))
}

/// A name in a form that every file system and shell accepts.
#[must_use]
pub fn slug(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "._+=".contains(c) { c } else { '-' };
    let name: String = name.chars().map(kept).take(READABLE).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "unnamed".to_owned() } else { parts.join("-") }
}

/// Writes a boot to its file, without the files that its daemons wrote.
///
/// # Errors
/// The folder cannot be written.
pub fn write(path: &Path, stored: &Stored) -> Result<(), LabError> {
    let told = |error| LabError::io(path, error);
    let mut stored = stored.clone();
    stored.lines.retain(|line| !matches!(line, Line::File(_)));
    let text = serde_json::to_string(&stored).map_err(|error| LabError::Boot(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    // Each temporary file has its own name, because several machines may share the folder.
    let mut file = tempfile::Builder::new().suffix(".tmp").tempfile_in(folder).map_err(told)?;
    file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).map_err(told)?;
    // A file that has its final name is complete, even after a loss of power.
    file.as_file().sync_all().map_err(told)?;
    readable(file.as_file()).map_err(told)?;
    file.persist(path).map(drop).map_err(|error| told(error.error))
}

/// Temporary files may be read only by their owner, but results by everyone.
fn readable(file: &std::fs::File) -> std::io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

/// Reads a boot; `None` if the file does not exist.
///
/// # Errors
/// The file is not a result of a boot.
pub fn read(path: &Path) -> Result<Option<Stored>, LabError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::io(path, error)),
    };
    let shown = path.display().to_string();
    let wrong = |why: String| {
        LabError::input(&shown, format!("is not the result of a boot ({why}): remove it, and the boot is run again"))
    };
    let stored: Stored = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let other = || wrong(format!("version {}, not {VERSION}", stored.numasim_boot));
    if stored.numasim_boot == VERSION { Ok(Some(stored)) } else { Err(other()) }
}

/// All boots of a folder, sorted by file name.
///
/// # Errors
/// There is no folder, it has no results, or a file is not a result.
pub fn all(folder: &Path) -> Result<Vec<Stored>, LabError> {
    let entries = std::fs::read_dir(folder).map_err(|error| LabError::io(folder, error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    let boots = files.iter().map(|path| read(path)).filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
    if boots.is_empty() {
        let problem = "holds no results: `numasim experiment FILE --results DIR` writes them";
        return Err(LabError::input(&folder.display().to_string(), problem));
    }
    Ok(boots)
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
