//! The registry of policies, as the verbs need it: built by name from what the user set, and asked who would run here.

use super::profile;
use crate::config::{Config, Setting};
use crate::failure::bad_input;
use crate::lack::{self, Lack};
use isobar_model::{Capabilities, Policy, Sensor};
use isobar_policy::entry::{Entry, Moves};
use isobar_policy::registry::RegistryError;
use isobar_policy::settings::Settings;
use isobar_policy::{documentation, registry};
use std::path::Path;

/// The policy of a name with its settings from the file and the command line.
///
/// # Errors
/// Bad input: an unknown policy, a misspelt key, an impossible value; with the file or the `--set` that has it.
pub fn build(name: &str, config: &Config) -> anyhow::Result<Box<dyn Policy>> {
    let settings = settings(name, config)?;
    registry::build(name, &settings).map_err(bad_input)
}

/// Makes as many fresh policies of a name as are wanted.
///
/// # Errors
/// As [`build`], once and for all.
pub fn maker(name: &str, config: &Config) -> anyhow::Result<impl Fn() -> Box<dyn Policy> + use<>> {
    let entry = registry::find(name).map_err(bad_input)?;
    let settings = settings(name, config)?;
    #[expect(clippy::expect_used, reason = "`settings` has just built this policy from the same settings")]
    let make = move || registry::build(entry.name, &settings).expect("checked settings");
    Ok(make)
}

/// The settings of all policies: first the file, checked by itself so that its faults carry its name, then every `--set`.
///
/// # Errors
/// As [`build`].
pub fn settings(name: &str, config: &Config) -> anyhow::Result<Settings> {
    registry::find(name).map_err(bad_input)?;
    let mut settings = of_file(name, config)?;
    for Setting { key, value } in &config.sets {
        let profile = profile::content(key, value)?;
        let value = profile.as_ref().unwrap_or(value);
        registry::set(&mut settings, key, value).map_err(|error| bad_input(format!("--set {key}={value}: {error}")))?;
    }
    // Only here, since two keys may be possible together and not one by one. The message begins with the key.
    registry::build(name, &settings).map_err(|error| bad_input(format!("--set {error}")))?;
    Ok(settings)
}

fn of_file(name: &str, config: &Config) -> anyhow::Result<Settings> {
    let Some(file) = &config.file else { return Ok(Settings::default()) };
    let known = || registry::entries().iter().map(|entry| entry.name).collect::<Vec<_>>().join("], [");
    if let Some(section) = config.policies.keys().find(|section| registry::find(section).is_err()) {
        let message = format!("unknown section [{section}]: expected [manage], [{}]", known());
        return Err(bad_input(format!("{}: {message}", file.display())));
    }
    let in_file = |error: RegistryError| bad_input(format!("{}: {error}", file.display()));
    let mut sections = config.policies.clone();
    profile::put_in_place(&mut sections, file.parent().unwrap_or(Path::new("")))?;
    let settings = Settings::from_tables(sections).map_err(|error| in_file(error.into()))?;
    registry::build(name, &settings).map(drop).map_err(in_file)?;
    Ok(settings)
}

/// The policies whose needs a machine meets.
pub fn would_run(capabilities: &Capabilities) -> Vec<&'static str> {
    let runs = |entry: &&Entry| capabilities.lacking(entry.needs).is_empty();
    registry::entries().iter().filter(runs).map(|entry| entry.name).collect()
}

/// Every canonical name.
pub fn names() -> Vec<&'static str> {
    registry::entries().iter().map(|entry| entry.name).collect()
}

/// Every policy with what it decides: a line each, and with its settings.
pub fn described() -> (String, String) {
    (documentation::names(), documentation::help())
}

/// The one message with which a policy refuses a machine; `None` where nothing is missing.
pub fn refusal(policy: &str, lacking: &[(Sensor, &str)], capabilities: &Capabilities) -> Option<anyhow::Error> {
    if lacking.is_empty() {
        return None;
    }
    let missing: Vec<String> = lack::by_reason(lacking.iter().copied()).iter().map(Lack::clause).collect();
    let others = would_run(capabilities).join(", ");
    let others = if others.is_empty() { "none".to_owned() } else { others };
    Some(anyhow::anyhow!(
        "policy {policy} cannot run here: {}; policies that would run here: {others}; `isobar manage --policy {policy} \
         --dry-run` watches without acting",
        missing.join("; ")
    ))
}

/// What the kernel's NUMA balancing, on or off, means for a policy; `None` where it is not known whether it is on.
pub fn beside_balancing(policy: &str, capabilities: &Capabilities) -> Option<String> {
    const OFF: &str = "turn it off while isobar manages (sysctl kernel.numa_balancing=0)";
    let moves = registry::find(policy).ok()?.moves;
    Some(match (capabilities.numa_balancing?, moves) {
        (true, Moves::Nothing) => {
            format!("NUMA balancing is on: {policy} moves nothing, so what is seen is the kernel's own placement")
        }
        (true, Moves::Threads) => {
            format!("NUMA balancing is on: {policy} moves threads, and the kernel moves their pages after them; {OFF}")
        }
        (true, Moves::ThreadsAndPages) => {
            format!("NUMA balancing is on: {policy} moves pages, and the kernel moves them by its own rule, too; {OFF}")
        }
        (false, Moves::Nothing) => {
            format!("NUMA balancing is off and {policy} moves nothing: memory stays where it was first touched")
        }
        (false, Moves::Threads) => {
            format!("NUMA balancing is off: {policy} moves threads, and memory stays where it was first touched")
        }
        (false, Moves::ThreadsAndPages) => format!("NUMA balancing is off: {policy} alone moves threads and pages"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ManageConfig;

    #[test]
    fn a_refusal_names_the_sensor_the_reason_and_the_way_out() {
        let mut capabilities = Capabilities::default();
        let lacking =
            [(Sensor::Instructions, "no PMU"), (Sensor::LlcMisses, "no PMU"), (Sensor::SeveralNodes, "one node")];
        capabilities.missing.extend(lacking.map(|(sensor, why)| (sensor, why.to_owned())));
        let told = refusal("dino", &lacking, &capabilities).unwrap().to_string();
        assert_eq!(
            told,
            "policy dino cannot run here: instructions per thread and LLC misses per thread are not measured (no PMU); \
             there is no second NUMA node (one node); policies that would run here: linux, fixed; `isobar manage --policy dino \
             --dry-run` watches without acting"
        );
        assert!(refusal("dino", &[], &capabilities).is_none());
    }

    #[test]
    fn a_bad_setting_names_where_it_came_from() {
        let config = |set: &str| Config { sets: vec![Setting::parse(set).unwrap()], ..Config::default() };
        let told = |set: &str| build("dino", &config(set)).err().unwrap().to_string();
        assert!(told("dino.clas_window=3").starts_with("--set dino.clas_window: unknown key: expected one of"));
        assert!(told("dyno.class_window=3").contains("did you mean `dino`?"));
        let policies: toml::Table = toml::from_str("[mange]\na = 1").unwrap();
        let config = Config { policies, file: Some("x.toml".into()), ..Config::default() };
        let told = build("dino", &config).err().unwrap().to_string();
        assert!(told.starts_with("x.toml: unknown section [mange]: expected [manage], [linux]"), "{told}");
    }

    const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/isobar.toml");

    #[test]
    fn the_example_file_holds_every_key_with_its_default() {
        let config = Config::load(Some(EXAMPLE.as_ref()), &[]).unwrap();
        assert_eq!(config.manage, ManageConfig::default());
        // That the sections of policies have every key, a test of the policies says.
        assert!(names().iter().all(|name| build(name, &config).is_ok()));
    }

    #[test]
    fn the_example_file_names_every_key_of_manage_and_those_without_default_hold_too() {
        let text = std::fs::read_to_string(EXAMPLE).unwrap();
        let optional = ["# policy =", "# interval_seconds =", "# state_file =", "# resctrl_root ="];
        let text = optional.iter().fold(text, |text, key| {
            assert!(text.contains(key), "{key}");
            text.replace(key, &key[2..])
        });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("isobar.toml");
        std::fs::write(&file, &text).unwrap();
        let config = Config::load(Some(&file), &[]).unwrap();
        assert_eq!((config.manage.policy.as_deref(), config.manage.interval_seconds), (Some("dino"), Some(1.0)));
        // serde lists the keys that there are when it is given one that there is not.
        let known = Config::load(None, &["manage.nonsense=1".to_owned()]).unwrap_err().to_string();
        let keys: Vec<&str> = known.split('`').skip(3).step_by(2).collect();
        assert!(keys.len() > 8, "{known}");
        let section: toml::Table = toml::from_str(&text).unwrap();
        for key in keys {
            assert!(section["manage"].get(key).is_some(), "{key} is not in the example");
        }
    }

    #[test]
    fn settings_that_fit_only_together_are_taken_together() {
        let sets = ["dino.class_window=1", "dino.class_votes=1"].map(|set| Setting::parse(set).unwrap()).to_vec();
        assert!(build("dino", &Config { sets, ..Config::default() }).is_ok());
    }
}
