//! The effective settings of policies: those of the file, overridden by every `--set`.

use super::profile;
use crate::settings::{Config, Read, Setting, SettingsError};
use isobar_policy::registry::{self, RegistryError};
use isobar_policy::settings::Settings;
use std::path::Path;

/// The settings of all policies: first the file, checked by itself so that its errors name the
/// file, then every `--set`.
///
/// # Errors
/// An unknown policy, a misspelt key, or an impossible value, with the file or the `--set` that
/// contains it.
pub fn settings(name: &str, config: &Config, read: Read<'_>) -> Result<Settings, SettingsError> {
    registry::find(name).map_err(|fault| wrong("", fault))?;
    let mut settings = of_file(name, config, read)?;
    for Setting { key, value } in &config.sets {
        let profile = profile::content(key, value, read)?;
        let value = profile.as_ref().unwrap_or(value);
        registry::set(&mut settings, key, value).map_err(|fault| wrong(format!("--set {key}={value}: "), fault))?;
    }
    // Checked only here, because two keys may be valid together and not one by one. The message
    // begins with the key.
    registry::build(name, &settings).map_err(|fault| wrong("--set ", fault))?;
    Ok(settings)
}

/// An error of the policies, prefixed with where the value was set.
pub fn wrong(place: impl Into<String>, fault: RegistryError) -> SettingsError {
    SettingsError::Policy(place.into(), fault)
}

fn of_file(name: &str, config: &Config, read: Read<'_>) -> Result<Settings, SettingsError> {
    let Some(file) = &config.file else { return Ok(Settings::default()) };
    if let Some(section) = config.policies.keys().find(|section| registry::find(section).is_err()) {
        return Err(SettingsError::Section(file.clone(), section.clone(), registry::names().join("], [")));
    }
    let in_file = |fault| wrong(format!("{}: ", file.display()), fault);
    let mut sections = config.policies.clone();
    profile::put_in_place(&mut sections, file.parent().unwrap_or(Path::new("")), read)?;
    let settings = Settings::from_tables(sections).map_err(|fault| in_file(fault.into()))?;
    registry::build(name, &settings).map(drop).map_err(in_file)?;
    Ok(settings)
}
