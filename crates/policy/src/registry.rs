//! Every policy by its canonical name. A paper's folder lists its policies; this file lists the
//! folders. It alone knows which names there are.

use crate::entry::Entry;
use crate::settings::{self, ConfigError, Settings};
use crate::{baseline, dino, divide_content, nmass};
use isobar_model::Policy;
use std::sync::LazyLock;

static ENTRIES: LazyLock<Vec<Entry>> =
    LazyLock::new(|| [&baseline::POLICIES[..], &nmass::POLICIES, &dino::POLICIES, &divide_content::POLICIES].concat());

/// Why there is no such policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// no policy of this name
    #[error("unknown policy `{name}`: expected one of {known}{hint}")]
    UnknownPolicy {
        /// what was asked for
        name: String,
        /// the policies that there are
        known: String,
        /// the nearest one, in words, or nothing
        hint: String,
    },
    /// settings that it cannot take
    #[error(transparent)]
    Settings(#[from] ConfigError),
}

/// Every policy, in the order of the documentation.
#[must_use]
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// A policy by name.
///
/// # Errors
/// [`RegistryError::UnknownPolicy`] with the known names and the nearest one.
pub fn find(name: &str) -> Result<&'static Entry, RegistryError> {
    entries().iter().find(|entry| entry.name == name).ok_or_else(|| unknown(name))
}

/// Sets one key of a policy that there is, as `--set dino.class_window=1` does.
///
/// # Errors
/// [`RegistryError`] where the key is not POLICY.KEY or names no policy.
pub fn set(settings: &mut Settings, key: &str, value: &str) -> Result<(), RegistryError> {
    let (policy, _) = settings::split(key)?;
    find(policy)?;
    Ok(settings.set(key, value)?)
}

/// Makes a policy. The sections of all policies in `settings` are checked, also of those that are
/// not asked for.
///
/// # Errors
/// [`RegistryError`], one line that names the policy or the key.
pub fn build(name: &str, settings: &Settings) -> Result<Box<dyn Policy>, RegistryError> {
    let wanted = find(name)?;
    for (section, table) in settings.sections() {
        find(section)?.build(table.clone())?;
    }
    Ok(wanted.build(settings.section(name))?)
}

fn unknown(name: &str) -> RegistryError {
    let names: Vec<_> = entries().iter().map(|entry| entry.name).collect();
    let hint = nearest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    RegistryError::UnknownPolicy { name: name.escape_default().to_string(), known: names.join(", "), hint }
}

/// Nothing longer than this is near to any known name, and comparing it would take time and memory.
const LONGEST_TYPED: usize = 100;

/// The known name that is nearest to what was typed, if any is near.
fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    if typed.len() > LONGEST_TYPED {
        return None;
    }
    let best = known.iter().map(|name| (strsim::damerau_levenshtein(typed, name), *name)).min()?;
    (best.0 <= 3 && best.0 < best.1.len()).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(sets: &[&str]) -> String {
        let mut settings = Settings::default();
        let result = sets.iter().try_for_each(|one| {
            let (key, value) = one.split_once('=').unwrap();
            set(&mut settings, key, value)
        });
        result.and_then(|()| build("dino", &settings).map(|_| ())).unwrap_err().to_string()
    }

    #[test]
    fn every_entry_builds_with_its_own_defaults() {
        for entry in entries() {
            let defaults = entry.settings().into_iter().map(|setting| (setting.key.to_owned(), setting.default));
            let policy = entry.build(defaults.collect()).unwrap();
            assert_eq!(policy.name(), entry.name);
            assert_eq!(policy.needs(), entry.needs);
        }
    }

    #[test]
    fn bad_settings_name_their_key() {
        assert!(refused(&["dino.clas_window=3"]).starts_with("dino.clas_window: unknown key: expected one of "));
        assert_eq!(
            refused(&["dino.class_votes=11"]),
            "dino.class_votes: 11 is impossible: expected 1 to class_window, which is 10"
        );
        assert_eq!(refused(&["dino.class_window=-1"]), "dino.class_window: invalid value: integer `-1`, expected u32");
        assert_eq!(
            refused(&["dino.class_window=many"]),
            "dino.class_window: invalid type: string \"many\", expected u32"
        );
        assert!(refused(&["dyno.class_window=3"]).contains("did you mean `dino`?"));
        assert!(refused(&["class_window=3"]).starts_with("class_window: expected POLICY.KEY=VALUE"));
        assert!(refused(&["class\r\u{1b}[2J=3"]).starts_with(r"class\r\u{1b}[2J: expected POLICY.KEY=VALUE"));
        assert_eq!(refused(&["di-plain.class_window=3"]), "di-plain.class_window: unknown key: expected none");
    }
}
