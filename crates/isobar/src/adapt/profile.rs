//! Files of measured NUMA penalties. Policies read no file: here the file's content takes the place of its name in the setting
//! `profile`. It knows that key and how such a file looks; which policies have one is asked of their defaults.
//!
//! ```toml
//! [numa_penalty]   # CPI remote / CPI local, by process name
//! soplex = 1.3
//! mcf = 1.46
//! ```

use super::input;
use crate::failure::bad_input;
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

/// Puts the content of every profile that a configuration file names in the place of its name; names are relative to `folder`.
///
/// # Errors
/// Bad input: a file that cannot be read or is no profile, with its line.
pub fn put_in_place(sections: &mut Table, folder: &Path) -> anyhow::Result<()> {
    for (name, section) in sections.iter_mut().filter(|(name, _)| has_profile(name)) {
        let Some(value) = section.as_table_mut().and_then(|table| table.get_mut(KEY)) else { continue };
        if let Some(file) = value.as_str().filter(|file| !file.is_empty()) {
            *value = read(&folder.join(file), &format!("{name}.{KEY}"))?;
        }
    }
    Ok(())
}

/// The value of `--set KEY=VALUE`: the content of the file that it names, where the key is that of a profile.
///
/// # Errors
/// As [`put_in_place`].
pub fn content(key: &str, value: &str) -> anyhow::Result<Option<String>> {
    let is_profile = key.split_once('.').is_some_and(|(name, key)| key == KEY && has_profile(name));
    let file = value.trim_matches('"');
    (is_profile && !file.is_empty() && !file.starts_with('{'))
        .then(|| Ok(read(Path::new(file), key)?.to_string()))
        .transpose()
}

fn has_profile(policy: &str) -> bool {
    registry::find(policy).is_ok_and(|entry| entry.settings().iter().any(|setting| setting.key == KEY))
}

fn read(file: &Path, key: &str) -> anyhow::Result<Value> {
    let wrong = |at: &str, why: &str| bad_input(format!("{key}: {}{at}: {why}", file.display()));
    let expected = "expected a TOML file with [numa_penalty] and lines such as soplex = 1.3";
    let text = input::text(file, input::SETTINGS).map_err(|error| wrong("", &format!("{error}: {expected}")))?;
    let parsed: File = toml::from_str(&text).map_err(|error| {
        let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
        let why = error.message().lines().map(str::trim).collect::<Vec<_>>().join(" ");
        wrong(&format!(":{line}"), &format!("{why}: {expected}"))
    })?;
    Ok(Value::try_from(Profile(parsed.numa_penalty))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::policy::settings;
    use crate::config::{Config, Setting};

    fn folder(profile: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("p.toml"), profile).unwrap();
        std::fs::write(folder.path().join("isobar.toml"), "[n-mass]\nprofile = \"p.toml\"\npenalties = \"mcf=1.2\"\n")
            .unwrap();
        folder
    }

    fn refused(profile: &str) -> String {
        let folder = folder(profile);
        let config = Config::load(Some(&folder.path().join("isobar.toml")), &[]).unwrap();
        let told = settings("n-mass", &config).err().unwrap().to_string();
        told.replace(&folder.path().display().to_string(), "DIR")
    }

    #[test]
    fn a_profile_is_read_from_beside_the_configuration() {
        let folder = folder("[numa_penalty]\nsoplex = 1.3\nmcf = 1.46\n");
        let config = Config::load(Some(&folder.path().join("isobar.toml")), &[]).unwrap();
        let settings = settings("n-mass", &config).unwrap();
        let text = format!("{settings:?}");
        assert!(text.contains("1.46") && text.contains("soplex"), "{text}");
    }

    #[test]
    fn a_profile_can_be_set_on_the_command_line() {
        let folder = folder("[numa_penalty]\nsoplex = 1.3\n");
        let file = folder.path().join("p.toml");
        let set = |policy: &str| Setting::parse(&format!("{policy}.profile={}", file.display())).unwrap();
        let told = |policy: &str| {
            let result = settings(policy, &Config { sets: vec![set(policy)], ..Config::default() });
            result.map(|settings| format!("{settings:?}")).map_err(|error| error.to_string())
        };
        assert!(told("maximum-local").unwrap().contains("soplex"));
        assert!(told("dino").unwrap_err().starts_with("--set dino.profile: unknown key"));
    }

    #[test]
    fn bad_profiles_are_told_with_file_and_line() {
        let expected = "expected a TOML file with [numa_penalty] and lines such as soplex = 1.3";
        assert_eq!(
            refused("[numa_penalty]\nsoplex = 0.3\n"),
            format!(
                "n-mass.profile: DIR/p.toml:1: `soplex=0.3` is impossible: expected a NUMA penalty (CPI remote / CPI local) of 1 or more: {expected}"
            )
        );
        assert!(
            refused("[numa_penalty]\na = 1.2\n[x]\n").starts_with("n-mass.profile: DIR/p.toml:3: unknown field `x`")
        );
        assert!(refused("").starts_with("n-mass.profile: DIR/p.toml:1: missing field `numa_penalty`"));
        let mut missing: Table = toml::from_str("[n-mass]\nprofile = \"none.toml\"").unwrap();
        let told = put_in_place(&mut missing, Path::new("/nowhere")).unwrap_err().to_string();
        assert!(told.starts_with("n-mass.profile: /nowhere/none.toml: No such file"), "{told}");
    }
}
