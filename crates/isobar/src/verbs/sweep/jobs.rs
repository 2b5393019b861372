//! A job of a sweep: what it runs, and its name. The name describes the job to a person, and ends
//! in a hash of everything that the result depends on: the version of isobar, the parameters, and
//! the contents of the files, wherever they are.

use crate::text::{json_line, plain};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `isobar sim`
    Sim,
    /// `isobar study`
    Study,
    /// `numasim experiment`
    Numasim,
}

/// One point of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, which is also the name of its result file.
    pub name: String,
    /// What it runs.
    pub kind: Kind,
    /// The point of the grid: parameters in the order of the columns.
    pub parameters: Map<String, Value>,
    /// The program; `None` is isobar itself.
    pub program: Option<String>,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A job while it is put together.
#[derive(Debug)]
pub struct Draft {
    kind: Kind,
    parameters: Map<String, Value>,
    arguments: Vec<OsString>,
    hash: Sha256,
}

/// Maximum length of the readable part of a name, because file names have at most 255 bytes.
const READABLE: usize = 120;

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Study => "study",
            Self::Numasim => "numasim",
        }
    }
}

impl Draft {
    /// Starts a job of a kind.
    pub fn of(kind: Kind) -> Self {
        let mut draft = Self { kind, parameters: Map::new(), arguments: Vec::new(), hash: Sha256::new() };
        draft.hashed(&[env!("CARGO_PKG_VERSION"), kind.name()]);
        draft
    }

    /// Adds an argument of the command.
    pub fn argument(&mut self, argument: impl Into<OsString>) -> &mut Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds a parameter that is its own content.
    pub fn parameter(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        let value = value.into();
        self.hashed(&[key, &value.to_string()]);
        self.parameters.insert(key.to_owned(), value);
        self
    }

    /// Adds a parameter that is a file. Its column shows the file's name; the hash covers the
    /// contents.
    pub fn file(&mut self, key: &str, path: &Path, contents: &[String]) -> &mut Self {
        self.hashed(&[key]);
        contents.iter().for_each(|text| self.hashed(&[text]));
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        self.parameters.insert(key.to_owned(), name.into());
        self
    }

    /// Adds an option that the result depends on and that is no column.
    pub fn option(&mut self, option: &str) -> &mut Self {
        self.hashed(&[option]);
        self.argument(option)
    }

    /// Hashes each text with its length, so that no two lists hash alike.
    fn hashed(&mut self, texts: &[&str]) {
        for text in texts {
            self.hash.update(text.len().to_le_bytes());
            self.hash.update(text.as_bytes());
        }
    }

    /// Finishes a job that another program runs. The command is hashed as it is written, so each of
    /// several builds has results of its own.
    pub fn run_by(mut self, program: &str) -> Job {
        self.hashed(&["command", program]);
        self.finish(Some(program.to_owned()))
    }

    /// Finishes the job.
    pub fn finish(self, program: Option<String>) -> Job {
        let Self { kind, parameters, arguments, hash } = self;
        let digest = hash.finalize();
        let hex = digest.iter().take(6).fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        Job { name: format!("{}-{hex}", readable(kind, &parameters)), kind, parameters, program, arguments }
    }
}

/// The readable part of a name, with only those characters that every file system and shell
/// accepts.
fn readable(kind: Kind, parameters: &Map<String, Value>) -> String {
    let mut name = kind.name().to_owned();
    for (key, value) in parameters {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => format!("{}{number}", &key[..1]),
            other => other.to_string(),
        };
        let kept = |c: char| if c.is_ascii_alphanumeric() || "._+=".contains(c) { c } else { '-' };
        let part: String = text.chars().map(kept).collect();
        let part = part.trim_matches('-');
        if !part.is_empty() {
            name.extend(["-", part]);
        }
    }
    name.chars().take(READABLE).collect()
}

impl Job {
    /// The file of its result.
    pub fn result(&self, folder: &Path) -> PathBuf {
        folder.join("jobs").join(format!("{}.json", self.name))
    }

    /// The file of its error messages, if it failed.
    pub fn failure(&self, folder: &Path) -> PathBuf {
        folder.join("failed").join(format!("{}.txt", self.name))
    }

    /// The state of the job.
    fn state(&self, folder: &Path) -> &'static str {
        match (self.result(folder).exists(), self.failure(folder).exists()) {
            (true, _) => "done",
            (false, true) => "failed",
            (false, false) => "to do",
        }
    }

    /// The command as a person would type it.
    fn command(&self) -> String {
        let program = self.program.as_deref().unwrap_or("isobar");
        let words = self.arguments.iter().map(|word| word.to_string_lossy().into_owned());
        std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Prints jobs and their states.
///
/// # Errors
/// If the output cannot be written.
pub fn list(jobs: &[Job], folder: &Path, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    for job in jobs {
        let (name, state, command) = (&job.name, job.state(folder), job.command());
        if json {
            let document = json!({"job": name, "state": state, "command": command, "parameters": job.parameters});
            writeln!(out, "{}", json_line(&document))?;
        } else {
            writeln!(out, "{state:6}  {}  {}", plain(name), plain(&command))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(workload: &str, text: &str, seed: u64) -> Job {
        let mut draft = Draft::of(Kind::Sim);
        draft.file("workload", Path::new(workload), &[text.to_owned()]);
        draft.parameter("policy", "exec:./my policy.py").parameter("seed", seed);
        draft.finish(None)
    }

    #[test]
    fn a_name_says_what_it_is_and_depends_on_contents_not_on_places() {
        let name = job("a/dino-spec.toml", "x", 3).name;
        let (readable, hash) = name.rsplit_once('-').unwrap();
        assert_eq!((readable, hash.len()), ("sim-dino-spec-exec-.-my-policy.py-s3", 12));
        assert_eq!(job("b/dino-spec.toml", "x", 3).name, name);
        let others = [job("a/dino-spec.toml", "y", 3), job("a/dino-spec.toml", "x", 4)];
        assert!(others.iter().all(|other| other.name.rsplit_once('-').unwrap().1 != hash));
    }

    #[test]
    fn names_fit_into_a_file_system() {
        let name = job(&format!("{}.toml", "w".repeat(300)), "x", 3).name;
        assert_eq!(name.len(), READABLE + 13);
    }
}
