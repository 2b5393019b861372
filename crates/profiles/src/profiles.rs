//! The programs of one file, and what is worth saying about them. Refuses to know how the file was
//! written.

use crate::oddities;
use isobar_model::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// Programs by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles {
    file: String,
    programs: BTreeMap<String, Profile>,
    /// Programs of which only slowdowns are known: no instructions a cycle, or no misses.
    relative: BTreeSet<String>,
    /// Remarks on the whole file.
    notes: Vec<String>,
}

impl Profiles {
    /// Programs by what the caller calls their file; of several with one name, the last.
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

    /// What the caller calls the file.
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

    /// The greatest way count of any program.
    #[must_use]
    pub fn ways(&self) -> usize {
        self.programs.values().map(Profile::ways).max().unwrap_or_default()
    }

    /// What is odd about the tables of the given programs, where `ways` ways are asked of them; one
    /// line each.
    #[must_use]
    pub fn remarks(&self, names: &[&str], ways: usize) -> Vec<String> {
        let own = self.notes.iter().cloned();
        let profiles: Vec<&Profile> = names.iter().filter_map(|name| self.profile(name)).collect();
        own.chain(oddities::all(&profiles, ways)).map(|remark| format!("{}: {remark}", self.file)).collect()
    }
}
