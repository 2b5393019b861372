//! Keeps the texts of settings files as they were read, so that a replay reads the same.

use crate::input;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The texts read so far, by path.
#[derive(Debug, Default)]
pub struct Inputs(RefCell<BTreeMap<String, String>>);

impl Inputs {
    /// Reads a settings file and keeps its text.
    ///
    /// # Errors
    /// As [`input::settings`].
    pub fn read(&self, path: &Path) -> io::Result<String> {
        let text = input::settings(path)?;
        self.0.borrow_mut().insert(path.display().to_string(), text.clone());
        Ok(text)
    }

    /// All texts that were read.
    pub fn take(self) -> BTreeMap<String, String> {
        self.0.into_inner()
    }
}
