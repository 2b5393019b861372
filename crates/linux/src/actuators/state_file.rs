//! The state file on disk, and the lock of its folder.
//!
//! This file knows how a [`Ledger`] is written so that a crash at any instant leaves the old or the
//! new one: temporary file with a name that cannot be guessed, fsync, rename, fsync of the folder.
//! The content is trusted only if no one else can write it (`trust`). One isobar at a time may own
//! the file, by `flock(2)` on the folder's descriptor, which the kernel releases even after a kill
//! -9, and which leaves nothing behind. It knows nothing of threads.

use super::error::{ActuatorError, LOOK, failed};
use super::ledger::{Ledger, VERSION};
use super::{trust, validate};
use crate::kernel::locks;
use crate::kernel::other::Other;
use isobar_model::text::one_line;
use rustix::fs::{FlockOperation, flock};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The path of the state file unless another is configured. The file system does not survive a
/// boot, just as affinities do not.
pub const DEFAULT_PATH: &str = "/run/isobar/state.json";

/// The path of the state file for this user: [`DEFAULT_PATH`] for root, otherwise in the user's own
/// runtime folder (`XDG_RUNTIME_DIR`), if there is one.
#[must_use]
pub fn default_path() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| !rustix::process::geteuid().is_root());
    runtime.map_or_else(|| DEFAULT_PATH.into(), |folder| PathBuf::from(folder).join("isobar/state.json"))
}

/// A larger state file is not ours: 100,000 threads need about 15 MB.
const MOST_BYTES: u64 = 256 << 20;

/// A temporary file is `.NAME.RANDOM.new`, with this number of random letters and digits.
const RANDOM: usize = 16;
const NEW: &str = ".new";

const NAME: &str = "find a file name in it";
const OPEN_FOLDER: &str = "open the folder";
const OPEN: &str = "open";
const READ: &str = "read";

/// The `what` of an [`ActuatorError::State`] if the file cannot be read, rather than written.
pub const READING: [&str; 5] = [NAME, LOOK, OPEN_FOLDER, OPEN, READ];

/// The state file, owned: the lock is held until this is dropped.
#[derive(Debug)]
pub struct StateFile {
    /// The path as it was given, with the real path of its folder.
    path: PathBuf,
    folder: PathBuf,
    lock: File,
}

impl Drop for StateFile {
    /// Unlocks explicitly: a process that isobar forks holds the same lock until it executes its
    /// program, so closing our file alone would leave the folder locked for a moment.
    fn drop(&mut self) {
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl StateFile {
    /// Takes the lock, and makes the folder (mode 0700) if it is missing.
    ///
    /// # Errors
    /// [`ActuatorError::Locked`] while another isobar runs, [`ActuatorError::State`] if the folder
    /// cannot be made or opened, [`ActuatorError::Unsafe`] if others can write to it.
    pub fn lock(path: &Path) -> Result<Self, ActuatorError> {
        let folder = folder(path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(failed(folder, "make the folder"))?;
        Self::in_folder(path)
    }

    /// Takes the lock of an existing state file; `None` if there is no file. Creates nothing.
    ///
    /// # Errors
    /// As [`StateFile::lock`], and [`ActuatorError::NotAFile`].
    pub fn existing(path: &Path) -> Result<Option<Self>, ActuatorError> {
        match look(path)? {
            None => Ok(None),
            Some(found) => {
                trust::regular(path, &found)?;
                Self::in_folder(path).map(Some)
            }
        }
    }

    fn in_folder(path: &Path) -> Result<Self, ActuatorError> {
        let nameless = || failed(path, NAME)(io::ErrorKind::InvalidInput.into());
        let name = path.file_name().ok_or_else(nameless)?;
        let folder = trust::own_folder(folder(path))?;
        let options = &mut OpenOptions::new();
        let lock = options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(&folder);
        let lock = lock.map_err(failed(&folder, OPEN_FOLDER))?;
        let file = Self { path: folder.join(name), folder, lock };
        match flock(&file.lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(file.locked()),
            Err(errno) => return Err(failed(&file.folder, "lock the folder")(errno.into())),
        }
        file.sweep();
        Ok(file)
    }

    /// The path of the state file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ledger in the file; `None` if there is no file.
    ///
    /// # Errors
    /// [`ActuatorError::Broken`] if it does not hold a ledger; [`ActuatorError::NotAFile`],
    /// [`ActuatorError::Foreign`], [`ActuatorError::Unsafe`] if it cannot be trusted.
    pub fn load(&self) -> Result<Option<Ledger>, ActuatorError> {
        self.load_text()?.map(|text| parse(&self.path, &text)).transpose()
    }

    /// The text of the file, if it can be trusted.
    pub(super) fn load_text(&self) -> Result<Option<String>, ActuatorError> {
        let Some(found) = look(&self.path)? else { return Ok(None) };
        // Checked before it is opened, because opening a device may have effects.
        trust::own_file(&self.path, &found)?;
        let options = &mut OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&self.path);
        let file = file.map_err(failed(&self.path, OPEN))?;
        trust::own_file(&self.path, &file.metadata().map_err(failed(&self.path, LOOK))?)?;
        self.text(file).map(Some)
    }

    fn text(&self, file: File) -> Result<String, ActuatorError> {
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed(&self.path, READ))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
            return Err(self.broken(&format!("it is larger than {} MiB", MOST_BYTES >> 20)));
        }
        String::from_utf8(bytes).map_err(|_| self.broken("it is not text"))
    }

    /// Replaces the content, so that a crash leaves the old or the new one.
    ///
    /// # Errors
    /// [`ActuatorError::State`]: in that case the file is as it was.
    pub fn save(&self, ledger: &Ledger) -> Result<(), ActuatorError> {
        let text = serde_json::to_vec(ledger).map_err(|error| self.broken(&error.to_string()))?;
        self.save_text(&text)
    }

    /// Replaces the content with any text, in the same way.
    pub(super) fn save_text(&self, text: &[u8]) -> Result<(), ActuatorError> {
        self.check_folder()?;
        let prefix = self.prefix();
        let temporary =
            tempfile::Builder::new().prefix(&prefix).suffix(NEW).rand_bytes(RANDOM).tempfile_in(&self.folder);
        let mut temporary = temporary.map_err(failed(&self.path, "write a new one beside it"))?;
        let file = temporary.as_file_mut();
        let written = file.write_all(text).and_then(|()| file.sync_all());
        written.map_err(failed(&self.path, "write a new one beside it"))?;
        temporary.persist(&self.path).map_err(|error| failed(&self.path, "replace")(error.error))?;
        self.sync_folder()
    }

    /// Deletes the file. Harmless if there is none.
    ///
    /// # Errors
    /// [`ActuatorError::Undeleted`].
    pub fn remove(&self) -> Result<(), ActuatorError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(ActuatorError::Undeleted { path: self.path.clone(), source }),
            Ok(()) => self.sync_folder(),
        }
    }

    fn sync_folder(&self) -> Result<(), ActuatorError> {
        self.lock.sync_all().map_err(failed(&self.folder, "sync"))
    }

    /// Checks that our lock is still on the folder with this name. If the folder was replaced,
    /// another isobar would find the new one unlocked.
    fn check_folder(&self) -> Result<(), ActuatorError> {
        let inode = |found: Metadata| (found.dev(), found.ino());
        let named = fs::metadata(&self.folder).map(inode).map_err(failed(&self.folder, "find the folder again"))?;
        let locked = self.lock.metadata().map(inode).map_err(failed(&self.folder, LOOK))?;
        let replaced = || failed(&self.folder, "find the folder again")(io::Error::other("it was replaced"));
        if named == locked { Ok(()) } else { Err(replaced()) }
    }

    /// Removes the temporary files of a killed isobar. One that cannot be removed does no harm.
    fn sweep(&self) {
        let prefix = self.prefix();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_leftover(&entry.file_name(), &prefix)) {
            let _ = fs::remove_file(entry.path());
        }
    }

    /// How the names of its temporary files begin.
    fn prefix(&self) -> OsString {
        let mut prefix = OsString::from(".");
        prefix.push(self.path.file_name().unwrap_or_default());
        prefix.push(".");
        prefix
    }

    /// The error that says which process holds the lock.
    fn locked(&self) -> ActuatorError {
        let holds = self.lock.metadata().and_then(|found| locks::on(&found)).unwrap_or_default();
        let Some(held) = holds.first() else {
            return ActuatorError::Locked { path: self.path.clone(), holder: "unknown pid".into() };
        };
        match Other::look(held.pid) {
            Some(other) if !other.isobar => {
                ActuatorError::Squatted { path: self.folder.clone(), holder: other.to_string() }
            }
            other => {
                let holder = other.map_or_else(|| format!("pid {}", held.pid), |other| other.to_string());
                ActuatorError::Locked { path: self.path.clone(), holder }
            }
        }
    }

    pub(super) fn broken(&self, problem: &str) -> ActuatorError {
        broken(&self.path, problem)
    }
}

/// The ledger in the text of a state file; `path` is only named in errors.
///
/// # Errors
/// [`ActuatorError::Broken`] if it is no ledger, has another version, or is not plausible.
pub fn parse(path: &Path, text: &str) -> Result<Ledger, ActuatorError> {
    let ledger: Ledger = serde_json::from_str(text).map_err(|error| broken(path, &error.to_string()))?;
    if ledger.version != VERSION {
        return Err(broken(path, &format!("`version` is {}, but this isobar reads {VERSION}", ledger.version)));
    }
    validate::problem(&ledger).map_or(Ok(ledger), |problem| Err(broken(path, &problem)))
}

/// An unknown key appears in the problem as it was written, so the problem is made one line.
fn broken(path: &Path, problem: &str) -> ActuatorError {
    ActuatorError::Broken { path: path.to_owned(), problem: one_line(problem) }
}

/// The metadata of a path, links not followed; `None` if there is nothing.
fn look(path: &Path) -> Result<Option<Metadata>, ActuatorError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some).map_err(failed(path, LOOK)),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether this is the name of one of our temporary files.
fn is_leftover(name: &OsStr, prefix: &OsStr) -> bool {
    let random = name.as_bytes().strip_prefix(prefix.as_bytes()).and_then(|rest| rest.strip_suffix(NEW.as_bytes()));
    random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
#[path = "state_file_tests.rs"]
mod tests;
