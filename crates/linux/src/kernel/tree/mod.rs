//! Represents a tree of kernel text files: the live one, a captured folder, or a captured archive.
//!
//! This module knows paths below the root (`sys/devices/system/cpu/online`, without a leading
//! slash) and text. Absence is a value (`None`, an empty list), because kernels differ in what they
//! show. It refuses to know what any file means.

mod archive;
mod entry;
mod error;

pub use error::LinuxError;
pub(crate) use error::shown;

use super::read::open_file;
use archive::Unpacked;
use entry::{MAX_FILE, text};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A tree without this folder describes no machine.
const CPU_FOLDER: &str = "sys/devices/system/cpu";

/// Kernel text files below one root.
#[derive(Debug)]
pub struct Tree {
    origin: PathBuf,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Folder,
    Archive(Unpacked),
}

impl Tree {
    /// The running machine.
    #[must_use]
    pub fn live() -> Self {
        Self { origin: PathBuf::from("/"), source: Source::Folder }
    }

    /// A captured tree: a folder that holds `sys/` and perhaps `proc/`, or an archive of one (.tar,
    /// .tar.gz, .tar.bz2), whose members may stand below one folder of any name.
    ///
    /// # Errors
    /// [`LinuxError`] if there is nothing at the path, if it is not a tree, or if an archive is
    /// truncated or too large.
    pub fn open(path: &Path) -> Result<Self, LinuxError> {
        let kind = std::fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => LinuxError::Missing { path: path.to_owned() },
            _ => LinuxError::Unreadable { path: path.to_owned(), source },
        })?;
        let source = match kind {
            kind if kind.is_dir() => Source::Folder,
            kind if kind.is_file() => Source::Archive(archive::unpack(path)?),
            _ => return Err(LinuxError::UnknownKind { path: path.to_owned() }),
        };
        Self::checked(path, source)
    }

    /// A captured tree in the bytes of an archive, read as [`Self::open`] reads one from a file;
    /// `name` stands for the archive in messages.
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn from_archive_bytes(name: &Path, bytes: &[u8]) -> Result<Self, LinuxError> {
        Self::checked(name, Source::Archive(archive::unpack_from(name, io::Cursor::new(bytes))?))
    }

    /// A folder of kernel files that is not a machine, such as a mounted resctrl.
    pub(crate) fn folder(path: &Path) -> Self {
        Self { origin: path.to_owned(), source: Source::Folder }
    }

    fn checked(path: &Path, source: Source) -> Result<Self, LinuxError> {
        let tree = Self { origin: path.to_owned(), source };
        if tree.list(CPU_FOLDER)?.is_empty() {
            return Err(LinuxError::NotATree { path: path.to_owned() });
        }
        Ok(tree)
    }

    /// The text of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// [`LinuxError::Unreadable`] if the file exists and cannot be read, [`LinuxError::TooLarge`]
    /// above 1 MiB.
    pub fn read(&self, path: &str) -> Result<Option<String>, LinuxError> {
        match &self.source {
            Source::Folder => read_file(self.origin.join(path)),
            Source::Archive(files) => Ok(files.text(path).map(str::to_owned)),
        }
    }

    /// The names in a folder, ascending; empty if there is no such folder.
    ///
    /// # Errors
    /// [`LinuxError::Unreadable`] if the folder exists and cannot be read.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, LinuxError> {
        match &self.source {
            Source::Folder => list_folder(&self.origin.join(folder)),
            Source::Archive(files) => Ok(files.names(folder)),
        }
    }

    /// The root, as it was given: for messages.
    #[must_use]
    pub fn origin(&self) -> &Path {
        &self.origin
    }

    /// A path below the root, as a message should name it.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        self.origin.join(path)
    }
}

fn read_file(path: PathBuf) -> Result<Option<String>, LinuxError> {
    let mut bytes = Vec::new();
    let read = open_file(&path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
    match read {
        Err(source) if is_absence(&source) => Ok(None),
        Err(source) => Err(LinuxError::Unreadable { path, source }),
        Ok(length) if length as u64 > MAX_FILE => Err(LinuxError::TooLarge { path, limit: MAX_FILE }),
        Ok(_) => Ok(Some(text(&bytes))),
    }
}

fn list_folder(path: &Path) -> Result<Vec<String>, LinuxError> {
    let refused = |source| LinuxError::Unreadable { path: path.to_owned(), source };
    let entries = match std::fs::read_dir(path) {
        Err(source) if is_absence(&source) => return Ok(Vec::new()),
        entries => entries.map_err(refused)?,
    };
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(refused)?;
    names.sort_unstable();
    Ok(names)
}

/// Whether an error means absence rather than failure. Files come and go with CPUs that go offline,
/// and a captured link may lead nowhere. A folder where a file was expected, or the reverse, means
/// that the expected entry is absent.
fn is_absence(source: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(source.kind(), NotFound | NotADirectory | IsADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;

    const ONLINE: &str = "sys/devices/system/cpu/online";

    #[test]
    fn absence_is_a_value() {
        let folder = folder(&[(ONLINE, "0\n")]);
        let tree = Tree::open(folder.path()).unwrap();
        assert_eq!(tree.read(ONLINE).unwrap().as_deref(), Some("0\n"));
        assert_eq!(tree.read("sys/devices/system/cpu/present").unwrap(), None);
        assert_eq!(tree.read("sys/devices/system/cpu/online/deeper").unwrap(), None);
        assert_eq!(tree.read("sys/devices/system/cpu").unwrap(), None);
        assert_eq!(tree.list("sys/devices/system/node").unwrap(), Vec::<String>::new());
        assert_eq!(tree.list("sys/devices/system/cpu").unwrap(), ["online"]);
    }

    #[test]
    fn a_folder_without_a_machine_says_what_was_expected() {
        let folder = folder(&[]);
        let said = Tree::open(folder.path()).unwrap_err().to_string();
        assert!(said.contains("expected `sys/devices/system/cpu` inside"), "{said}");
        let said = Tree::open(&folder.path().join("nowhere")).unwrap_err().to_string();
        assert!(said.ends_with("there is no such file or folder"), "{said}");
    }

    #[test]
    fn zero_bytes_at_the_end_are_no_text() {
        assert_eq!(text(b"0-3\n\0"), "0-3\n");
        assert_eq!(text(b"\0\0"), "");
    }

    #[test]
    fn a_file_beyond_all_reason_is_refused() {
        let folder = folder(&[(ONLINE, &"0".repeat((1 << 20) + 1))]);
        let tree = Tree::open(folder.path()).unwrap();
        assert!(matches!(tree.read(ONLINE), Err(LinuxError::TooLarge { .. })));
    }
}
