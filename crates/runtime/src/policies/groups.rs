//! Policies of groups: turns the entries `[[manage.group]]` into a policy that hands each process
//! to the policy of its group (`isobar_policy::by_group`). Without entries, the main policy runs by
//! itself.
//!
//! Patterns are matched against what an observation says about a process: its name, pid and control
//! group. Nothing else is read, so a replay of a recording decides as the run did.

use super::settled::{settings, wrong};
use super::{gives, profile};
use crate::selection::{Lookups, Pattern};
use crate::settings::{Config, GroupConfig, Read, SettingsError};
use isobar_model::{Policy, Process};
use isobar_policy::by_group::{self, ByGroup};
use isobar_policy::registry;
use isobar_policy::settings::Settings;
use std::path::Path;
use std::sync::Arc;
use toml::Table;

/// Checked entries, in their order.
#[derive(Clone, Debug, Default)]
pub struct Groups(Vec<Group>);

#[derive(Clone, Debug)]
struct Group {
    name: String,
    patterns: Arc<Vec<Pattern>>,
    policy: String,
    /// `None` if a program of the user decides.
    settings: Option<Settings>,
}

impl Groups {
    /// The entries of a configuration, in addition to the main policy of this name. `is_program`
    /// says which names are programs that decide; their settings are not known here.
    ///
    /// # Errors
    /// An unknown policy, a misspelt key, an impossible value, or two policies that would divide
    /// cache ways, with the entry concerned.
    pub fn of(
        main: &str,
        config: &Config,
        is_program: &dyn Fn(&str) -> bool,
        read: Read<'_>,
    ) -> Result<Self, SettingsError> {
        let place = config.file.as_ref().map_or_else(|| "--set ".to_owned(), |file| format!("{}: ", file.display()));
        let entries = config.manage.group.iter().zip(1..);
        let group = |(entry, number): (&GroupConfig, usize)| {
            let place = format!("{place}manage.group {number}: ");
            let settings = if is_program(&entry.policy) {
                let is_set = entry.set.keys().next();
                let wrong = |key: &String| SettingsError::Group(format!("{place}set.{key}: {OF_PROGRAMS}"));
                is_set.map_or(Ok(None), |key| Err(wrong(key)))
            } else {
                of_entry(entry, &place, config, read).map(Some)
            }?;
            let patterns = entry.only.iter().map(|text| Pattern::parse(text)).collect();
            let (name, policy) = (entry.only.join(", "), entry.policy.clone());
            Ok(Group { name, patterns: Arc::new(patterns), policy, settings })
        };
        let groups = Self(entries.map(group).collect::<Result<_, SettingsError>>()?);
        if !groups.0.is_empty() && !is_program(main) {
            groups.divide_ways_once(&place, main, &settings(main, config, read)?)?;
        }
        Ok(groups)
    }

    /// Whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The policies of the entries that are programs.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|group| group.settings.is_none()).map(|group| group.policy.as_str())
    }

    /// Fresh policies of all entries, with the main policy for the remaining processes. `program`
    /// creates the policies that are programs.
    #[must_use]
    pub fn around(&self, main: Box<dyn Policy>, program: &dyn Fn(&str) -> Box<dyn Policy>) -> Box<dyn Policy> {
        let group = |Group { name, patterns, policy, settings }: &Group| {
            let patterns = Arc::clone(patterns);
            let fits =
                move |process: &Process| patterns.iter().any(|pattern| pattern.fits(process, Lookups::default()));
            let built = settings.as_ref().and_then(|settings| registry::build(policy, settings).ok());
            let policy = built.unwrap_or_else(|| program(policy));
            by_group::Group { name: name.clone(), fits: Box::new(fits), policy }
        };
        Box::new(ByGroup::new(self.0.iter().map(group).collect(), main))
    }

    /// # Errors
    /// Two policies that would divide cache ways: which ones, and what to set.
    fn divide_ways_once(&self, place: &str, main: &str, of_main: &Settings) -> Result<(), SettingsError> {
        let of_main = gives::ways(main, of_main).map(|how| (format!("policy {main}"), how.remedy(main, ".")));
        let entries = self.0.iter().zip(1..).filter_map(|(group, number)| {
            let how = gives::ways(&group.policy, group.settings.as_ref()?)?;
            let entry = format!("manage.group {number}");
            let remedy = how.remedy(&format!("{entry}: set"), ".");
            Some((format!("policy {} of {entry}", group.policy), remedy))
        });
        let all: Vec<(String, String)> = of_main.into_iter().chain(entries).collect();
        let [(first, remedy), (second, other), ..] = &all[..] else { return Ok(()) };
        Err(SettingsError::Group(format!(
            "{place}{first} and {second} would both divide cache ways, and only one may: expected {remedy}, or {other}"
        )))
    }
}

/// Why a group cannot have settings for a program.
const OF_PROGRAMS: &str = "programs of `exec:` have their settings in [exec]: expected none here";

/// The settings of an entry's policy: what is set for that policy in general, overridden by what is
/// set for the group.
fn of_entry(entry: &GroupConfig, place: &str, config: &Config, read: Read<'_>) -> Result<Settings, SettingsError> {
    let policy = registry::find(&entry.policy).map_err(|fault| wrong(place, fault))?;
    let mut own = Table::from_iter([(policy.name.to_owned(), entry.set.clone().into())]);
    let folder = config.file.as_ref().and_then(|file| file.parent()).unwrap_or(Path::new(""));
    profile::put_in_place(&mut own, folder, read)?;
    let mut settings = settings(&entry.policy, config, read)?;
    let own = Settings::from_tables(own).map_err(|fault| wrong(place, fault.into()))?;
    settings.lay_over(own);
    registry::build(&entry.policy, &settings).map_err(|fault| wrong(format!("{place}set: "), fault))?;
    Ok(settings)
}
