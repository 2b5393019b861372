//! Recipes, which say how a program of Debian's is set up and run in the guest
//! (`numasim/programs/real`). A recipe is a shell script that `real` runs there; comments at its
//! head list what the guest needs for it. This file reads these lines, and fetches and runs
//! nothing.
//!
//! ```sh
//! # packages: redis-server redis-tools
//! # programs: /usr/bin/redis-server /usr/bin/redis-benchmark
//! # libraries: /usr/lib/x86_64-linux-gnu/libexample.so.0
//! # sources: example.c
//! ```

use crate::error::LabError;
use crate::fetch;
use std::path::{Path, PathBuf};

/// The program that runs recipes.
const REAL: &str = "real";

/// What a recipe needs in the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// The script.
    pub script: PathBuf,
    /// Debian packages, which are fetched with all that they depend on.
    pub packages: Vec<String>,
    /// Files of the packages that are put into `/bin` of the guest.
    pub programs: Vec<String>,
    /// Libraries of the packages that its programs load while they run.
    pub libraries: Vec<String>,
    /// C sources beside the script, built into programs that load libraries.
    pub sources: Vec<PathBuf>,
}

/// The recipe that a command runs, if it does: `real redis keys=1000` runs `redis`.
#[must_use]
pub fn named_by(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    let program = words.next().and_then(|path| path.rsplit('/').next());
    (program == Some(REAL)).then(|| words.next()).flatten()
}

impl Recipe {
    /// Reads the recipe of a name.
    ///
    /// # Errors
    /// No recipe has this name; the message lists the names that exist.
    pub fn read(name: &str) -> Result<Self, LabError> {
        let folder = fetch::workspace().join("numasim/programs/real");
        let script = folder.join(format!("{name}.sh"));
        let text = std::fs::read_to_string(&script).map_err(|_| {
            LabError::input(
                &format!("real {name}"),
                format!("no recipe is called `{name}`; there are {}", all(&folder)),
            )
        })?;
        let words = |key| words(&text, key);
        Ok(Self {
            name: name.to_owned(),
            packages: words("packages"),
            programs: words("programs"),
            libraries: words("libraries"),
            sources: words("sources").iter().map(|source| folder.join(source)).collect(),
            script,
        })
    }
}

/// The words that follow a key at the head of a recipe.
fn words(text: &str, key: &str) -> Vec<String> {
    let head = text.lines().take_while(|line| line.starts_with('#'));
    let line = |line: &str| line.strip_prefix("# ")?.strip_prefix(key)?.strip_prefix(": ").map(str::to_owned);
    head.filter_map(line).flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn all(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let scripts = entries.filter(|path| path.extension().is_some_and(|end| end == "sh"));
    let mut names: Vec<_> =
        scripts.filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned())).collect();
    names.sort();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_recipe_says_what_it_needs() {
        let text = "#!/bin/sh\n# About it.\n# packages: a b\n# programs: /usr/bin/a\n\n# packages: late\n";
        assert_eq!((words(text, "packages"), words(text, "sources")), (vec!["a".into(), "b".into()], vec![]));
        assert_eq!((named_by("real redis keys=9"), named_by("chase --work 1")), (Some("redis"), None));
        assert!(Recipe::read("hurd").unwrap_err().to_string().contains("no recipe is called `hurd`; there are "));
    }
}
