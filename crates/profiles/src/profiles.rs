//! The programs of one file, with remarks on them. Does not know how the file was written.

use crate::oddities;
use isobar_model::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// Programs by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles {
    file: String,
    programs: BTreeMap<String, Profile>,
    /// Programs of which only slowdowns are known: instructions per cycle or misses are missing.
    relative: BTreeSet<String>,
    /// Remarks on the whole file.
    notes: Vec<String>,
}

impl Profiles {
    /// Programs of a file, by the caller's name for the file. If several have the same name, the
    /// last counts.
    #[must_use]
    pub fn new(file: &str, programs: impl IntoIterator<Item = Profile>) -> Self {
        let programs = programs.into_iter().map(|profile| (profile.name().to_owned(), profile)).collect();
        Self { file: file.to_owned(), programs, ..Self::default() }
    }

    pub(crate) fn with_relative(self, relative: BTreeSet<String>) -> Self {
        Self { relative, ..self }
    }

    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// The caller's name for the file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The programs' names, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.keys().map(String::as_str)
    }

    /// A program's table.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.programs.get(name)
    }

    /// Whether only slowdowns are known of a program: its IPC is relative to the best one, or its
    /// misses are missing, so that cycles and misses cannot be told apart.
    #[must_use]
    pub fn is_relative(&self, name: &str) -> bool {
        self.relative.contains(name)
    }

    /// The largest way count of any program.
    #[must_use]
    pub fn ways(&self) -> usize {
        self.programs.values().map(Profile::ways).max().unwrap_or_default()
    }

    /// Remarks on what is odd about the tables of the given programs, if `ways` ways are requested;
    /// one line each.
    #[must_use]
    pub fn remarks(&self, names: &[&str], ways: usize) -> Vec<String> {
        let own = self.notes.iter().cloned();
        let profiles: Vec<&Profile> = names.iter().filter_map(|name| self.profile(name)).collect();
        own.chain(oddities::all(&profiles, ways)).map(|remark| format!("{}: {remark}", self.file)).collect()
    }
}
