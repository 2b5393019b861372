//! Reads a decision from a file, again whenever the file changes.

use crate::failure::{bad_input, notify};
use crate::machines::launch::Decision;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of the file in bytes, more than any decision needs.
const MOST: u64 = 4096;

/// A file, and the text that it last contained.
pub struct Source {
    path: PathBuf,
    said: String,
}

impl Source {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// Bad input: there is no such file, or it contains no decision.
    pub fn open(path: &Path) -> anyhow::Result<(Self, Decision)> {
        let said = read(path).map_err(bad_input)?;
        let decision = Decision::parse(&said).map_err(|right| bad_input(wrong(path, &said, right)))?;
        Ok((Self { path: path.to_owned(), said }, decision))
    }

    /// The decision, if it has changed. A file that is gone or contains no decision is reported
    /// once and changes nothing.
    pub fn changed(&mut self) -> Option<Decision> {
        let said = read(&self.path).unwrap_or_else(|why| why);
        if said == self.said {
            return None;
        }
        self.said = said;
        match Decision::parse(&self.said) {
            Ok(decision) => Some(decision),
            // The file was emptied, and will be written again in a moment.
            Err(_) if self.said.is_empty() => None,
            Err(right) => {
                notify(&format!("{}; the previous decision stays in effect", wrong(&self.path, &self.said, right)));
                None
            }
        }
    }
}

fn wrong(path: &Path, said: &str, right: &str) -> String {
    format!("{}: `{}`: {right}", path.display(), said.trim())
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let is_file = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.is_file();
    if !is_file {
        return Err(format!("{}: not a regular file", path.display()));
    }
    let read = File::open(path).and_then(|file| file.take(MOST).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_followed_and_nonsense_in_it_changes_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let put = |text: &str| fs::write(file.path(), text).unwrap();
        put("node one");
        let refused = Source::open(file.path()).err().unwrap().to_string();
        assert!(refused.contains("`node one`: expected"), "{refused}");
        put("node 1\n");
        let (mut source, first) = Source::open(file.path()).unwrap();
        assert_eq!((first, source.changed()), (Decision::Node(1), None));
        put("nonsense");
        assert_eq!(source.changed(), None);
        put("");
        assert_eq!(source.changed(), None);
        put("free");
        assert_eq!(source.changed(), Some(Decision::Free));
        fs::remove_file(file.path()).unwrap();
        assert_eq!(source.changed(), None);
        put("node 2");
        assert_eq!(source.changed(), Some(Decision::Node(2)));
    }
}
