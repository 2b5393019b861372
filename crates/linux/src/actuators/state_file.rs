//! The state file on disk, and the lock beside it.
//!
//! Knows how a [`Ledger`] is written so that a crash at any instant leaves the old or the new one (temporary file, fsync,
//! rename), and that one isobar at a time may own it (`flock(2)`, which the kernel releases even after a kill -9). Knows
//! nothing of threads.

use super::ActuatorError;
use super::ledger::{Ledger, VERSION};
use isobar_model::text::one_line;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where the state file is unless told otherwise: a file system that does not survive a boot, as affinities do not.
pub const DEFAULT_PATH: &str = "/run/isobar/state.json";

/// Where the state file is for this user: [`DEFAULT_PATH`] for root, else in the user's own runtime folder
/// (`XDG_RUNTIME_DIR`), where there is one.
#[must_use]
pub fn default_path() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| !rustix::process::geteuid().is_root());
    runtime.map_or_else(|| DEFAULT_PATH.into(), |folder| PathBuf::from(folder).join("isobar/state.json"))
}

/// A larger state file is not ours: 100,000 threads need about 15 MB.
const MOST_BYTES: u64 = 256 << 20;

/// The state file, owned: the lock is held until this is dropped.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    lock: File,
}

impl Drop for StateFile {
    /// Unlocks by name: a process that we fork holds the same lock until it executes its program, so that closing our file
    /// alone would leave the name locked for a moment.
    fn drop(&mut self) {
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl StateFile {
    /// Takes the lock, making the folder (mode 0700) where it is missing. The lock file stays: to delete it would let two
    /// owners hold two locks of one name.
    ///
    /// # Errors
    /// [`ActuatorError::Locked`] while another isobar runs, [`ActuatorError::State`] where the folder cannot be written.
    pub fn lock(path: &Path) -> Result<Self, ActuatorError> {
        let folder = folder(path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(failed(folder, "make the folder"))?;
        let lock_path = beside(path, ".lock");
        let mut lock = private(&lock_path, false).map_err(failed(&lock_path, "open the lock file"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(locked(lock_path, &mut lock)),
            Err(errno) => return Err(failed(&lock_path, "lock")(errno.into())),
        }
        let named = lock.set_len(0).and_then(|()| writeln!(lock, "pid {}", std::process::id()));
        named.map_err(failed(&lock_path, "write the lock file"))?;
        Ok(Self { path: path.to_owned(), lock })
    }

    /// The path of the state file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds; `None` where there is none.
    ///
    /// # Errors
    /// [`ActuatorError::Broken`] where it does not hold a ledger, [`ActuatorError::Foreign`] where another user wrote it.
    pub fn load(&self) -> Result<Option<Ledger>, ActuatorError> {
        let file = match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed(&self.path, "open"))?,
        };
        self.check_owner(&file)?;
        let mut text = String::new();
        let read = file.take(MOST_BYTES).read_to_string(&mut text);
        match read {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(self.broken("it is not text")),
            other => {
                other.map_err(failed(&self.path, "read"))?;
                parse(&self.path, &text).map(Some)
            }
        }
    }

    /// Replaces its content, so that a crash leaves the old or the new.
    ///
    /// # Errors
    /// [`ActuatorError::State`]: then the file is as it was.
    pub fn save(&self, ledger: &Ledger) -> Result<(), ActuatorError> {
        let temporary = beside(&self.path, ".new");
        let text = serde_json::to_vec(ledger).map_err(|error| self.broken(&error.to_string()))?;
        write_through(&temporary, &text).map_err(failed(&temporary, "write"))?;
        fs::rename(&temporary, &self.path).map_err(failed(&self.path, "replace"))?;
        self.sync_folder()
    }

    /// Deletes it. Harmless when there is none.
    ///
    /// # Errors
    /// [`ActuatorError::State`].
    pub fn remove(&self) -> Result<(), ActuatorError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(&self.path, "delete")(error)),
            Ok(()) => self.sync_folder(),
        }
    }

    fn sync_folder(&self) -> Result<(), ActuatorError> {
        let folder = folder(&self.path);
        File::open(folder).and_then(|handle| handle.sync_all()).map_err(failed(folder, "sync"))
    }

    fn check_owner(&self, file: &File) -> Result<(), ActuatorError> {
        let found = file.metadata().map_err(failed(&self.path, "look at"))?.uid();
        let expected = rustix::process::geteuid().as_raw();
        if found == expected {
            Ok(())
        } else {
            Err(ActuatorError::Foreign { path: self.path.clone(), found, expected })
        }
    }

    fn broken(&self, problem: &str) -> ActuatorError {
        broken(&self.path, problem)
    }
}

/// The ledger in the text of a state file; `path` is only named in errors.
///
/// # Errors
/// [`ActuatorError::Broken`] where it is none, or of another version.
pub fn parse(path: &Path, text: &str) -> Result<Ledger, ActuatorError> {
    let ledger: Ledger = serde_json::from_str(text).map_err(|error| broken(path, &error.to_string()))?;
    if ledger.version == VERSION {
        Ok(ledger)
    } else {
        Err(broken(path, &format!("`version` is {}, this isobar reads {VERSION}", ledger.version)))
    }
}

/// A key that is not known stands in the problem as it was written.
fn broken(path: &Path, problem: &str) -> ActuatorError {
    ActuatorError::Broken { path: path.to_owned(), problem: one_line(problem) }
}

/// Opens a file that only its owner may read or write, and that is no link.
fn private(path: &Path, truncate: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(truncate);
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn write_through(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = private(path, true)?;
    file.write_all(text)?;
    file.sync_all()
}

/// Who holds the lock, by the text in it.
fn locked(path: PathBuf, lock: &mut File) -> ActuatorError {
    let mut text = String::new();
    let read = lock.take(64).read_to_string(&mut text);
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == ' ';
    let holder: String = text.trim().chars().filter(plain).collect();
    let known = read.is_ok() && !holder.is_empty();
    ActuatorError::Locked { path, holder: if known { holder } else { "pid not known".into() } }
}

fn failed<'a>(path: &'a Path, what: &'static str) -> impl FnOnce(io::Error) -> ActuatorError + 'a {
    move |source| ActuatorError::State { path: path.to_owned(), what, source }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
#[path = "state_file_tests.rs"]
mod tests;
