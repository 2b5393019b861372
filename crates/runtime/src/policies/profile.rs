//! Files of measured NUMA penalties. Policies read no files, so here the content of a file replaces
//! its name in the setting `profile`. This module knows that key and the format of such files; the
//! defaults of a policy say whether it has the key.
//!
//! ```toml
//! [numa_penalty]   # CPI remote / CPI local, by process name
//! soplex = 1.3
//! mcf = 1.46
//! ```

use crate::settings::{Read, SettingsError, line_of, one_line};
use isobar_policy::nmass::penalty::{Penalties, Profile};
use isobar_policy::registry;
use serde::Deserialize;
use std::path::Path;
use toml::{Table, Value};

/// The key.
const KEY: &str = "profile";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    numa_penalty: Penalties,
}

/// Replaces the name of every profile in a configuration file with the profile's content. Names are
/// relative to `folder`.
///
/// # Errors
/// [`SettingsError::Profile`]: a file that cannot be read or is not a profile, with the line.
pub fn put_in_place(sections: &mut Table, folder: &Path, read: Read<'_>) -> Result<(), SettingsError> {
    for (name, section) in sections.iter_mut().filter(|(name, _)| has_profile(name)) {
        let Some(value) = section.as_table_mut().and_then(|table| table.get_mut(KEY)) else { continue };
        if let Some(file) = value.as_str().filter(|file| !file.is_empty()) {
            *value = profile(&folder.join(file), &format!("{name}.{KEY}"), read)?;
        }
    }
    Ok(())
}

/// The value of `--set KEY=VALUE`: if the key is that of a profile, the content of the file that
/// the value names.
///
/// # Errors
/// As for [`put_in_place`].
pub fn content(key: &str, value: &str, read: Read<'_>) -> Result<Option<String>, SettingsError> {
    let is_profile = key.split_once('.').is_some_and(|(name, key)| key == KEY && has_profile(name));
    let file = value.trim_matches('"');
    (is_profile && !file.is_empty() && !file.starts_with('{'))
        .then(|| Ok(profile(Path::new(file), key, read)?.to_string()))
        .transpose()
}

fn has_profile(policy: &str) -> bool {
    registry::find(policy).is_ok_and(|entry| entry.settings().iter().any(|setting| setting.key == KEY))
}

fn profile(file: &Path, key: &str, read: Read<'_>) -> Result<Value, SettingsError> {
    let wrong = |at: String, why: &dyn std::fmt::Display| {
        SettingsError::Profile(key.to_owned(), format!("{}{at}", file.display()), why.to_string())
    };
    let text = read(file).map_err(|error| wrong(String::new(), &error))?;
    let parsed: File = toml::from_str(&text)
        .map_err(|error| wrong(format!(":{}", line_of(&text, &error)), &one_line(error.message())))?;
    Value::try_from(Profile(parsed.numa_penalty)).map_err(|error| wrong(String::new(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::settled::settings;
    use crate::settings::{Config, Setting};
    use std::io;

    /// `DIR/isobar.toml`, which names a profile, and the profile beside it.
    fn files(profile: &str) -> impl Fn(&Path) -> io::Result<String> + use<'_> {
        move |file| match file.to_str() {
            Some("DIR/isobar.toml") => Ok("[n-mass]\nprofile = \"p.toml\"\npenalties = \"mcf=1.2\"\n".to_owned()),
            Some("DIR/p.toml") => Ok(profile.to_owned()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The settings of n-mass, or why they are refused.
    fn settled(profile: &str) -> Result<String, String> {
        let read = files(profile);
        let config = Config::load(Some(Path::new("DIR/isobar.toml")), &[], &read).unwrap();
        let settings = settings("n-mass", &config, &read);
        settings.map(|settings| format!("{settings:?}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_profile_is_read_from_beside_the_configuration() {
        let text = settled("[numa_penalty]\nsoplex = 1.3\nmcf = 1.46\n").unwrap();
        assert!(text.contains("1.46") && text.contains("soplex"), "{text}");
    }

    #[test]
    fn a_profile_can_be_set_on_the_command_line() {
        let set = |policy: &str| {
            let sets = vec![Setting::parse(&format!("{policy}.profile=DIR/p.toml")).unwrap()];
            let config = Config { sets, ..Config::default() };
            let settings = settings(policy, &config, &files("[numa_penalty]\nsoplex = 1.3\n"));
            settings.map(|settings| format!("{settings:?}")).map_err(|error| error.to_string())
        };
        assert!(set("maximum-local").unwrap().contains("soplex"));
        assert!(set("dino").unwrap_err().starts_with("--set dino.profile: unknown key"));
    }

    #[test]
    fn bad_profiles_are_refused_with_file_and_line() {
        assert_eq!(
            settled("[numa_penalty]\nsoplex = 0.3\n").unwrap_err(),
            "n-mass.profile: DIR/p.toml:1: `soplex=0.3` is impossible: expected a NUMA penalty (CPI remote / CPI local) \
             of 1 or more: expected a TOML file with [numa_penalty] and lines such as soplex = 1.3"
        );
        let unknown = settled("[numa_penalty]\na = 1.2\n[x]\n").unwrap_err();
        assert!(unknown.starts_with("n-mass.profile: DIR/p.toml:3: unknown field `x`"), "{unknown}");
        let empty = settled("").unwrap_err();
        assert!(empty.starts_with("n-mass.profile: DIR/p.toml:1: missing field `numa_penalty`"), "{empty}");
        let mut missing: Table = toml::from_str("[n-mass]\nprofile = \"none.toml\"").unwrap();
        let error = put_in_place(&mut missing, Path::new("/nowhere"), &files("")).unwrap_err().to_string();
        assert!(error.starts_with("n-mass.profile: /nowhere/none.toml: entity not found: expected a TOML"), "{error}");
    }
}
