//! Every policy by its canonical name. A paper's folder lists its policies; this file lists the
//! folders. No other file knows which names there are.

use crate::entry::Entry;
use crate::settings::{self, ConfigError, Settings};
use crate::{baseline, camm, dino, divide_content, isobar, nmass};
use isobar_model::Policy;
use std::sync::LazyLock;

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let folders: [&[Entry]; 6] = [
        &baseline::POLICIES,
        &nmass::POLICIES,
        &dino::POLICIES,
        &divide_content::POLICIES,
        &camm::POLICIES,
        &isobar::POLICIES,
    ];
    folders.concat()
});

/// Why a policy cannot be found or made.
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

/// Their canonical names, in the same order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    entries().iter().map(|entry| entry.name).collect()
}

/// A policy by its name, or by a short name that stands for a policy with a setting (`static-60`).
///
/// # Errors
/// [`RegistryError::UnknownPolicy`], with the known names and the nearest one.
pub fn find(name: &str) -> Result<&'static Entry, RegistryError> {
    let canonical = if camm::static_p::shorthand(name).is_some() { camm::static_p::NAME } else { name };
    section(canonical)
}

/// The policy whose settings a section holds. Only the canonical name counts, so that no setting is
/// written where it would have no effect.
fn section(name: &str) -> Result<&'static Entry, RegistryError> {
    entries().iter().find(|entry| entry.name == name).ok_or_else(|| unknown(name))
}

/// Sets one key of a known policy, as `--set dino.class_window=1` does.
///
/// # Errors
/// [`RegistryError`] if the key is not POLICY.KEY or names no policy.
pub fn set(settings: &mut Settings, key: &str, value: &str) -> Result<(), RegistryError> {
    let (policy, _) = settings::split(key)?;
    section(policy)?;
    Ok(settings.set(key, value)?)
}

/// Makes a policy. The sections of all policies in `settings` are checked, including those of other
/// policies. The setting in a short name takes precedence over that of its section.
///
/// # Errors
/// [`RegistryError`]: one line that names the policy or the key.
pub fn build(name: &str, settings: &Settings) -> Result<Box<dyn Policy>, RegistryError> {
    let wanted = find(name)?;
    for (name, table) in settings.sections() {
        section(name)?.build(table.clone())?;
    }
    let mut table = settings.section(wanted.name);
    table.extend(camm::static_p::shorthand(name).map(|(key, percent)| (key.to_owned(), percent.into())));
    Ok(wanted.build(table)?)
}

fn unknown(name: &str) -> RegistryError {
    let names = names();
    let hint = nearest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    RegistryError::UnknownPolicy { name: name.escape_default().to_string(), known: names.join(", "), hint }
}

/// Longest input that is compared with the known names. Nothing longer is near to any of them, and
/// comparing it would take time and memory.
const LONGEST_TYPED: usize = 100;

/// The known name nearest to what was typed, if at most a third of the letters differ.
fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    if typed.len() > LONGEST_TYPED {
        return None;
    }
    let best = known.iter().map(|name| (strsim::damerau_levenshtein(typed, name), *name)).min()?;
    (3 * best.0 <= best.1.len().max(typed.len())).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(one: &str) -> String {
        let mut settings = Settings::default();
        let (key, value) = one.split_once('=').unwrap();
        set(&mut settings, key, value).and_then(|()| build("dino", &settings).map(|_| ())).unwrap_err().to_string()
    }

    #[test]
    fn bad_settings_name_their_key() {
        for (set, message) in [
            ("dino.clas_window=3", "dino.clas_window: unknown key: expected one of "),
            ("dino.class_votes=11", "dino.class_votes: 11 is impossible: expected 1 to class_window, which is 10"),
            ("dino.class_window=-1", "dino.class_window: invalid value: integer `-1`, expected u32"),
            ("dino.class_window=many", "dino.class_window: invalid type: string \"many\", expected u32"),
            ("isobar.protect=redis", "isobar.protect: expected a list, such as --set 'isobar.protect=[\"redis\"]'"),
            ("class_window=3", "class_window: expected POLICY.KEY=VALUE"),
            ("class\r\u{1b}[2J=3", r"class\r\u{1b}[2J: expected POLICY.KEY=VALUE"),
            ("di-plain.class_window=3", "di-plain.class_window: unknown key: expected none"),
            ("lfoc+.ways_streaming=0", "lfoc+.ways_streaming: 0 is impossible: expected at least 1"),
            ("lfoc+.sensitive_slowdown=0.5", "lfoc+.sensitive_slowdown: 0.5 is impossible: expected 1 to 100"),
            (
                "lfoc+.streaming_bandwidth_percent=5",
                "lfoc+.streaming_bandwidth_percent: 5 is impossible: expected 10 to 100, or 0 for none",
            ),
            ("lfoc+.longest_rest_epochs=1", "lfoc+.longest_rest_epochs: 1 is impossible: expected at least 10"),
            (
                "divide-content.llc_gap_percent=101",
                "divide-content.llc_gap_percent: 101 is impossible: expected 0 to 100",
            ),
            ("divide-content.llc_gap=5", "divide-content.llc_gap: unknown key: expected one of balance_seconds,"),
            ("dino+lfoc+.devil_mpki=-1", "dino+lfoc+.devil_mpki: -1 is impossible: expected a miss rate of 0 or more"),
        ] {
            assert!(refused(set).starts_with(message), "{}", refused(set));
        }
        assert!(refused("dyno.class_window=3").contains("did you mean `dino`?"));
        assert!(!refused("foo.class_window=3").contains("did you mean"));
        assert!(refused("static-60.nodes=3").starts_with("unknown policy `static-60`"), "its section is static-P");
    }

    #[test]
    fn a_short_name_is_a_policy_with_a_setting() {
        let why =
            |name| build(name, &Settings::default()).map(|policy| policy.name()).map_err(|error| error.to_string());
        assert_eq!((why("static-70"), why("static-P")), (Ok("static-P"), Ok("static-P")));
        assert_eq!(why("static-101").unwrap_err(), "static-P.local_percent: 101 is impossible: expected 0 to 100");
        assert!(why("static-").is_err() && why("static-x").is_err());
    }
}
