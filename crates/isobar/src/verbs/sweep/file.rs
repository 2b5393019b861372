//! The file of a sweep, as it is written. This module checks keys and shapes; `expand.rs` checks
//! what the values mean.

use crate::failure::bad_input;
use crate::input;
use serde::Deserialize;
use std::path::Path;

/// Everything that is to be run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Simulations.
    #[serde(default)]
    pub sim: Vec<Sim>,
    /// Static studies.
    #[serde(default)]
    pub study: Vec<Study>,
    /// Experiments of numasim.
    #[serde(default)]
    pub numasim: Vec<Numasim>,
}

/// Simulations: every workload with every policy, seed and set of settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sim {
    /// Files or globs, relative to this file.
    pub workloads: Vec<String>,
    /// Names of policies.
    pub policies: Vec<String>,
    /// Seeds.
    #[serde(default)]
    pub seeds: Seeds,
    /// Lists of settings, each of which is a point of the grid, such as
    /// `[[], ["dino.class_window=3"]]`.
    #[serde(default = "nothing_set")]
    pub settings: Vec<Vec<String>>,
    /// `auto`, `all` or `sampled`.
    #[serde(default = "auto")]
    pub schedules: String,
}

/// Static studies: every list of workloads with every algorithm and model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Files of programs, relative to this file, or `machine:NAME`.
    pub profiles: Vec<String>,
    /// Files of workloads, or globs.
    pub workloads: Vec<String>,
    /// Names of algorithms.
    pub algorithms: Vec<String>,
    /// Names of models.
    #[serde(default = "queueing")]
    pub models: Vec<String>,
    /// Numbers of last-level caches.
    #[serde(default = "one")]
    pub groups: Vec<u32>,
    /// Other options of `isobar study`, as typed; they are the same for all jobs.
    #[serde(default)]
    pub options: Vec<String>,
}

/// Experiments of numasim: every file with every seed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numasim {
    /// Files or globs.
    pub experiments: Vec<String>,
    /// Seeds.
    #[serde(default)]
    pub seeds: Seeds,
    /// Number of boots, instead of what the experiment says.
    pub repeats: Option<u32>,
    /// The command that runs an experiment.
    #[serde(default = "numasim")]
    pub command: String,
}

/// Seeds: a list, or a first seed and a count.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Seeds {
    /// These seeds.
    List(Vec<u64>),
    /// `{ first = 1, count = 20 }`
    From {
        /// The first one.
        first: u64,
        /// How many.
        count: u32,
    },
}

impl Default for Seeds {
    fn default() -> Self {
        Self::List(vec![1])
    }
}

impl Seeds {
    /// All seeds.
    pub fn each(&self) -> Vec<u64> {
        match self {
            Self::List(list) => list.clone(),
            Self::From { first, count } => (0..u64::from(*count)).map(|more| first.wrapping_add(more)).collect(),
        }
    }
}

fn nothing_set() -> Vec<Vec<String>> {
    vec![Vec::new()]
}

fn auto() -> String {
    "auto".to_owned()
}

fn queueing() -> Vec<String> {
    vec!["queueing".to_owned()]
}

const fn one() -> Vec<u32> {
    Vec::new()
}

fn numasim() -> String {
    "numasim".to_owned()
}

/// Reads the file.
///
/// # Errors
/// Bad input, with file and line.
pub fn read(path: &Path) -> anyhow::Result<File> {
    let name = path.display();
    let text = input::settings(path)
        .map_err(|error| bad_input(format!("{name}: cannot be read: {error}: expected a TOML file of a sweep")))?;
    toml::from_str(&text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        let why = error.message().lines().map(str::trim).collect::<Vec<_>>().join(" ");
        bad_input(format!("{name}:{line}: {why}"))
    })
}
