//! Errors on the way from a path to a machine. Every message is one line that names the file and
//! what would be right.

use isobar_model::topology::TopologyError;
use std::io;
use std::path::PathBuf;

/// Why kernel text files could not be read into a machine.
#[derive(Debug, thiserror::Error)]
pub enum LinuxError {
    /// there is nothing at the path that was asked for
    #[error("{}: there is no such file or folder", .path.display())]
    Missing {
        /// the path as given
        path: PathBuf,
    },
    /// a folder or archive without a machine in it
    #[error("{}: no machine in it: expected `sys/devices/system/cpu` inside, as in a folder or archive that \
             holds a captured `sys/`", .path.display())]
    NotATree {
        /// the path as given
        path: PathBuf,
    },
    /// a file of a kind that we do not read
    #[error("{}: neither a folder nor an archive: expected a folder that holds `sys/`, or a .tar, .tar.gz or \
             .tar.bz2 of one", .path.display())]
    UnknownKind {
        /// the path as given
        path: PathBuf,
    },
    /// an archive that ends early or does not unpack
    #[error("{}: the archive is truncated or damaged ({detail}): copy it or capture it again", .path.display())]
    Damaged {
        /// the archive
        path: PathBuf,
        /// what the unpacker said
        detail: String,
    },
    /// an archive or a file that is implausibly large
    #[error("{}: more than {limit} bytes: no captured machine is that large", .path.display())]
    TooLarge {
        /// the archive or the file
        path: PathBuf,
        /// the bound that it passed
        limit: u64,
    },
    /// a file that is there and cannot be read
    #[error("{}: cannot be read: {source}: {}", .path.display(), remedy(.source))]
    Unreadable {
        /// the file
        path: PathBuf,
        /// what the kernel said
        source: io::Error,
    },
    /// a file whose text is not what the kernel writes there
    #[error("{}: `{text}` is not {expected}: the file is damaged, capture the tree again", .path.display())]
    Malformed {
        /// the file
        path: PathBuf,
        /// the offending text, shortened, without control characters
        text: String,
        /// what belongs there
        expected: &'static str,
    },
    /// files that can be read one by one but together do not describe a machine
    #[error("{}: the files do not describe a machine: {source}", .path.display())]
    Contradiction {
        /// the tree
        path: PathBuf,
        /// what does not fit
        source: TopologyError,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "run as a user that may read it",
        _ => "if it is part of a captured tree, capture it again",
    }
}

/// The most characters of a file that a message repeats.
const SHOWN: usize = 60;

/// `text` fit for one line of a message: shortened, control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    let text = text.trim();
    let mut line: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_with_path_and_remedy() {
        let path = PathBuf::from("sys/devices/system/cpu/online");
        let broken = LinuxError::Malformed { path: path.clone(), text: shown("0-\n\u{1b}[2J"), expected: "a CPU list" };
        assert_eq!(
            broken.to_string(),
            "sys/devices/system/cpu/online: `0-\\n\\u{1b}[2J` is not a CPU list: the file is damaged, \
             capture the tree again"
        );
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let denied = LinuxError::Unreadable { path, source }.to_string();
        assert!(denied.ends_with("run as a user that may read it"), "{denied}");
        assert_eq!(shown(&"x".repeat(80)).chars().count(), SHOWN + 1);
    }
}
