//! The files of a mounted resctrl: reading and writing them, groups as folders, and the lock that
//! tools agree on (`Documentation/filesystems/resctrl.rst`, "Locking between applications").
//!
//! Every write is one system call. If the kernel refuses a command, the error carries the kernel's
//! own explanation, read from `info/last_cmd_status` before another command overwrites it. This
//! file knows no plan.

use super::error::{ResctrlError, remedy};
use crate::kernel::schemata::Schemata;
use isobar_model::Tid;
use isobar_model::text::one_line;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where resctrl is mounted by default.
pub const DEFAULT_ROOT: &str = "/sys/fs/resctrl";

/// Folders of the root that are not control groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_groups", "mon_data"];

/// Pause between two tries for the lock.
const RETRY: Duration = Duration::from_millis(5);

/// A resctrl file system, mounted or not.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
}

/// The lock, held until this is dropped.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    /// Unlocks explicitly: a process that isobar forks holds the same lock until it executes its
    /// program.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Root {
    /// The file system at a folder.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that resctrl is mounted here.
    ///
    /// # Errors
    /// [`ResctrlError::NotMounted`], or another error of the kernel.
    pub fn check(&self) -> Result<(), ResctrlError> {
        match fs::metadata(self.path.join("info")) {
            Ok(info) if info.is_dir() => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.refused("info", "look", error)),
            _ => Err(ResctrlError::NotMounted { root: self.path.clone() }),
        }
    }

    /// Takes the lock, shared to read and exclusive to change, and waits for others at most
    /// `patience`. `operation` is one that does not block.
    ///
    /// # Errors
    /// [`ResctrlError::Locked`] if others keep it longer, [`ResctrlError::NotMounted`] if there is
    /// nothing to lock.
    pub fn lock(&self, operation: FlockOperation, patience: Duration) -> Result<Lock, ResctrlError> {
        self.check()?;
        let folder = File::open(&self.path).map_err(|error| self.refused("", "open", error))?;
        let start = Instant::now();
        loop {
            match flock(&folder, operation) {
                Ok(()) => return Ok(Lock(folder)),
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < patience => std::thread::sleep(RETRY),
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(ResctrlError::Locked { root: self.path.clone(), waited: patience });
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(self.refused("", "lock", errno.into())),
            }
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read(&self, file: &str) -> Result<String, ResctrlError> {
        let bytes = fs::read(self.path.join(file)).map_err(|error| self.failed(file, "read", error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes to a file, in one system call.
    ///
    /// # Errors
    /// The kernel's error, with `last_cmd_status`.
    pub fn write(&self, file: &str, text: &str) -> Result<(), ResctrlError> {
        let written = OpenOptions::new().write(true).open(self.path.join(file)).and_then(|mut file| {
            let length = file.write(text.as_bytes())?;
            if length == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
        });
        written.map_err(|error| self.explained(file, &format!("write `{}`", one_line(text.trim_end())), error))
    }

    /// Makes a group.
    ///
    /// # Errors
    /// As [`Self::write`]: `ENOSPC` without a class of service or a monitoring id, `EBUSY` while
    /// ids are not free yet.
    pub fn make(&self, group: &str) -> Result<(), ResctrlError> {
        fs::create_dir(self.path.join(group)).map_err(|error| self.explained(group, "make the group", error))
    }

    /// Removes a group; harmless if there is none. The kernel gives its tasks to the group above.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn remove(&self, group: &str) -> Result<(), ResctrlError> {
        match fs::remove_dir(self.path.join(group)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|error| self.explained(group, "remove the group", error)),
        }
    }

    /// The control groups other than the default one, ascending.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn groups(&self) -> Result<Vec<String>, ResctrlError> {
        let mut names = self.folders("")?;
        names.retain(|name| !NO_GROUPS.contains(&name.as_str()));
        Ok(names)
    }

    /// The monitor groups of a control group (`""` is the default group), ascending; empty if there
    /// is no monitoring.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn monitors(&self, control: &str) -> Result<Vec<String>, ResctrlError> {
        match self.folders(&join(control, "mon_groups")) {
            Err(error) if error.is_absence() => Ok(Vec::new()),
            other => other,
        }
    }

    /// The tasks of a group, as thread ids.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn tasks(&self, group: &str) -> Result<BTreeSet<Tid>, ResctrlError> {
        let text = self.read(&join(group, "tasks"))?;
        Ok(tasks(&text))
    }

    /// Puts a task into a group.
    ///
    /// # Errors
    /// As [`Self::write`]: `ESRCH` for a task that ended.
    pub fn put(&self, tid: Tid, group: &str) -> Result<(), ResctrlError> {
        self.write(&join(group, "tasks"), &format!("{tid}\n"))
    }

    /// The schemata of a control group.
    ///
    /// # Errors
    /// The kernel's error; [`ResctrlError::Malformed`] if the file has no schemata.
    pub fn schemata(&self, control: &str) -> Result<Schemata, ResctrlError> {
        let file = join(control, "schemata");
        Schemata::parse(&self.read(&file)?)
            .map_err(|source| ResctrlError::Malformed { path: self.path.join(file), source })
    }

    /// The folders in a folder, ascending.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn folders(&self, folder: &str) -> Result<Vec<String>, ResctrlError> {
        let refused = |error| self.failed(folder, "list", error);
        let entries = fs::read_dir(self.path.join(folder)).map_err(refused)?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(refused)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            names.extend(entry.file_name().into_string().ok().filter(|_| is_folder));
        }
        names.sort_unstable();
        Ok(names)
    }

    fn refused(&self, file: &str, what: &str, source: io::Error) -> ResctrlError {
        let remedy = remedy(&source).to_owned();
        let path = if file.is_empty() { self.path.clone() } else { self.path.join(file) };
        ResctrlError::Refused { path, what: what.to_owned(), source, explained: String::new(), remedy }
    }

    /// The error for a refusal; a vanished mount is reported as such.
    fn failed(&self, file: &str, what: &str, source: io::Error) -> ResctrlError {
        match self.check() {
            Err(gone @ ResctrlError::NotMounted { .. }) => gone,
            _ => self.refused(file, what, source),
        }
    }

    /// The error for a refused command, with the kernel's explanation.
    fn explained(&self, file: &str, what: &str, source: io::Error) -> ResctrlError {
        let mut error = self.failed(file, what, source);
        if let ResctrlError::Refused { explained, .. } = &mut error {
            let status = fs::read_to_string(self.path.join("info/last_cmd_status")).unwrap_or_default();
            let status = status.trim();
            if !status.is_empty() && status != "ok" {
                *explained = format!(" ({})", one_line(status));
            }
        }
        error
    }
}

/// The threads that a `tasks` file lists, one per line; a line that is no thread id is ignored.
#[must_use]
pub fn tasks(text: &str) -> BTreeSet<Tid> {
    text.lines().filter_map(|line| line.trim().parse().ok()).map(Tid).collect()
}

/// A path below a group; `""` is the root.
#[must_use]
pub fn join(group: &str, rest: &str) -> String {
    if group.is_empty() { rest.to_owned() } else { format!("{group}/{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;

    fn root() -> (tempfile::TempDir, Root) {
        let words = ("info/last_cmd_status", "mask f7 has non-consecutive 1-bits\n");
        let folder = folder(&[words, ("mon_groups/m/tasks", ""), ("mon_data/x", ""), ("web/tasks", "12\n7\n\n")]);
        let root = Root::new(folder.path());
        (folder, root)
    }

    #[test]
    fn groups_and_tasks_are_listed() {
        let (_folder, root) = root();
        assert_eq!(root.groups().unwrap(), ["web"]);
        assert_eq!(root.monitors("").unwrap(), ["m"]);
        assert_eq!(root.monitors("web").unwrap(), [""; 0]);
        assert_eq!(root.tasks("web").unwrap(), [Tid(7), Tid(12)].into());
    }

    #[test]
    fn a_refusal_names_path_errno_the_kernels_words_and_a_remedy() {
        let (folder, root) = root();
        let said = root.write("web/schemata", "L3:0=f7\n").unwrap_err().to_string();
        for word in ["web/schemata", "write `L3:0=f7`", "No such file", "non-consecutive", "mount -t resctrl"] {
            assert!(said.contains(word), "{said}");
        }
        assert!(!said.contains('\n'));
        fs::remove_dir_all(folder.path().join("info")).unwrap();
        let said = root.make("x/y").unwrap_err().to_string();
        assert!(said.contains("resctrl is not mounted: `mount -t resctrl resctrl"), "{said}");
    }

    #[test]
    fn the_lock_is_shared_by_readers_and_not_by_writers() {
        let (_folder, root) = root();
        let none = Duration::ZERO;
        let first = root.lock(FlockOperation::NonBlockingLockShared, none).unwrap();
        let second = root.lock(FlockOperation::NonBlockingLockShared, none).unwrap();
        let said =
            root.lock(FlockOperation::NonBlockingLockExclusive, Duration::from_millis(20)).unwrap_err().to_string();
        assert!(said.contains("another tool has held the lock of resctrl for 20 ms"), "{said}");
        drop((first, second));
        let _held = root.lock(FlockOperation::NonBlockingLockExclusive, none).unwrap();
        assert!(root.lock(FlockOperation::NonBlockingLockShared, none).is_err());
    }
}
