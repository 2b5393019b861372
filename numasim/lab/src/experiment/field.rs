//! Contenders, and files that daemons read, that several experiments share: they stand in a file
//! beside the experiments. This file knows how the shared part and an experiment's own are
//! combined.

use super::{Contender, Experiment, Program};
use crate::error::LabError;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// In the shared files: stands for the names of the processes of an experiment's programs, as a
/// list in TOML has them.
const COMMANDS: &str = "{commands}";

/// A file of contenders.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    plain_files: BTreeMap<String, String>,
    contender: Vec<Contender>,
}

impl Experiment {
    /// Adds the contenders and files of a field, which lies beside `file`. The experiment's own
    /// contenders come first, and its own files win over the field's.
    ///
    /// # Errors
    /// One line with the field's file, and the line or key.
    pub(super) fn enter(&mut self, field: &str, file: &str) -> Result<(), LabError> {
        let path = Path::new(file).parent().unwrap_or(Path::new("")).join(field);
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| LabError::input(file, format!("field: {shown}: {error}; name a file beside this one")))?;
        let field: Field = toml::from_str(&text).map_err(|error| LabError::toml(&shown, &text, &error))?;
        let commands = commands(&self.program);
        let named = |files: BTreeMap<String, String>| {
            files.into_iter().map(|(at, text)| (at, text.replace(COMMANDS, &commands))).collect::<BTreeMap<_, _>>()
        };
        let together = |theirs, mine| {
            let mut all = named(theirs);
            all.extend(mine);
            all
        };
        self.files = together(field.files, std::mem::take(&mut self.files));
        self.plain_files = together(field.plain_files, std::mem::take(&mut self.plain_files));
        self.contender.extend(field.contender);
        Ok(())
    }
}

/// The names of all processes, such as `"chase", "stream"`.
fn commands(programs: &[Program]) -> String {
    let all: BTreeSet<&str> = programs.iter().flat_map(Program::commands).collect();
    all.into_iter().map(|name| format!("\"{}\"", name.escape_default())).collect::<Vec<_>>().join(", ")
}
