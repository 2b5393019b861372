//! Policies by name: builds them from the user's settings, and says which of them would run on a
//! machine.

mod gives;
mod groups;
mod profile;
mod settled;

pub use groups::Groups;

use crate::missing::{self, Missing};
use crate::settings::{Config, Read, SettingsError};
use isobar_model::{Capabilities, GroupPolicy, Policy, Sensor};
use isobar_policy::entry::{Entry, Moves};
use isobar_policy::{documentation, registry};

/// The policy of this name, with its settings from the file and the command line.
///
/// # Errors
/// An unknown policy, a misspelt key, or an impossible value, with the file or the `--set` that
/// contains it.
pub fn build(name: &str, config: &Config, read: Read<'_>) -> Result<Box<dyn Policy>, SettingsError> {
    Ok(maker(name, config, read)?())
}

/// A function that makes any number of fresh policies of this name.
///
/// # Errors
/// As for [`build`]; checked once, here.
pub fn maker(
    name: &str,
    config: &Config,
    read: Read<'_>,
) -> Result<impl Fn() -> Box<dyn Policy> + use<>, SettingsError> {
    let (name, settings) = (name.to_owned(), settled::settings(name, config, read)?);
    #[expect(clippy::expect_used, reason = "`settings` has just built this policy from the same settings")]
    let make = move || registry::build(&name, &settings).expect("checked settings");
    Ok(make)
}

/// The policies that would run on a machine with these capabilities.
#[must_use]
pub fn would_run(capabilities: &Capabilities) -> Vec<&'static str> {
    let runs = |entry: &&Entry| capabilities.lacking(entry.needs).is_empty();
    registry::entries().iter().filter(runs).map(|entry| entry.name).collect()
}

/// Every canonical name.
#[must_use]
pub fn names() -> Vec<&'static str> {
    registry::names()
}

/// All policies and what they decide, a line each.
#[must_use]
pub fn described() -> String {
    documentation::names() + "\n" + EXEC
}

/// All policies and what they decide, with their settings.
#[must_use]
pub fn described_with_settings() -> String {
    documentation::help() + "\n" + EXEC + EXEC_SETTINGS
}

/// A policy of the user, in any language.
const EXEC: &str = "  exec:CMD: what your program CMD decides, as JSON lines (docs/writing-a-policy.md)\n";

/// The settings of such programs (`settings::ExecConfig`).
const EXEC_SETTINGS: &str = "    exec.timeout_seconds=S
        longest time for a decision; unset: half of the interval (at most 5) in manage, else 60
    exec.restarts=5
        restarts of a program that died, without ten good plans between (manage)
    exec.needs=[]
        sensors without which it cannot decide, such as [\"latency\"]
    exec.uses=[]
        sensors that are switched on for it where they work
";

/// A machine lacks what a policy needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "policy {who} cannot run here: {missing}; policies that would run here: {others}; `isobar manage --policy {policy} \
     --dry-run` watches without acting"
)]
pub struct Refusal {
    policy: String,
    /// The policy, with its group if it is the policy of a group.
    who: String,
    missing: String,
    others: String,
}

/// Whether a policy, and the policies of groups inside it, can run on a machine.
///
/// # Errors
/// One of them lacks something: the message says what, and which policies would run.
pub fn could_decide(policy: &dyn Policy, capabilities: &Capabilities) -> Result<(), Refusal> {
    for GroupPolicy { group, policy, needs } in policy.groups() {
        let who = format!("{policy} for {group}");
        refusal(policy, who, &capabilities.lacking(needs), capabilities)?;
    }
    refusal(policy.name(), policy.name().to_owned(), &capabilities.lacking(policy.needs()), capabilities)
}

fn refusal(policy: &str, who: String, lacking: &[(Sensor, &str)], capabilities: &Capabilities) -> Result<(), Refusal> {
    if lacking.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = missing::by_reason(lacking.iter().copied()).iter().map(Missing::clause).collect();
    let others = would_run(capabilities).join(", ");
    let others = if others.is_empty() { "none".to_owned() } else { others };
    Err(Refusal { policy: policy.to_owned(), who, missing: missing.join("; "), others })
}

/// What the state of the kernel's NUMA balancing (on or off) means for a policy; `None` if that
/// state is not known.
#[must_use]
pub fn beside_balancing(policy: &str, capabilities: &Capabilities) -> Option<String> {
    const SEE: &str = "docs/coexistence.md says what switching it off brings (manage.numa_balancing)";
    let moves = registry::find(policy).ok()?.moves;
    Some(match (capabilities.numa_balancing?, moves) {
        (true, Moves::Nothing) => {
            format!("NUMA balancing is on: {policy} moves nothing, and the kernel alone places threads and pages")
        }
        (true, Moves::Threads) => {
            format!("NUMA balancing is on: {policy} moves threads, and the kernel moves their pages after them; {SEE}")
        }
        (true, Moves::ThreadsAndPages | Moves::Pages) => {
            format!("NUMA balancing is on: {policy} moves pages, and the kernel moves them by its own rule, too; {SEE}")
        }
        (true, Moves::NewPages) => {
            format!("NUMA balancing is on: {policy} places new pages, and the kernel moves them by its own rule; {SEE}")
        }
        (false, Moves::Nothing) => {
            format!("NUMA balancing is off and {policy} moves nothing: memory stays where it was first touched")
        }
        (false, Moves::Threads) => {
            format!("NUMA balancing is off: {policy} moves threads, and memory stays where it was first touched")
        }
        (false, Moves::ThreadsAndPages) => format!("NUMA balancing is off: {policy} alone moves threads and pages"),
        (false, Moves::Pages) => format!("NUMA balancing is off: {policy} alone moves pages, and no threads"),
        (false, Moves::NewPages) => {
            format!("NUMA balancing is off: {policy} places new pages, and memory stays where it was first touched")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{DaemonConfig, ExecConfig, GroupConfig, ManageConfig, MetricsConfig, Setting};
    use std::io;
    use std::path::Path;

    /// A policy with its settings, or why it cannot be built.
    fn built(name: &str, config: &Config) -> Result<Box<dyn Policy>, String> {
        build(name, config, &|_| Err(io::ErrorKind::NotFound.into())).map_err(|error| error.to_string())
    }

    /// The example file, possibly changed, with `--set`.
    fn example(text: &str, sets: &[&str]) -> Result<Config, SettingsError> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Config::load(Some(Path::new("isobar.toml")), &sets, &|_| Ok(text.to_owned()))
    }

    #[test]
    fn a_refusal_names_the_sensor_the_reason_and_the_way_out() {
        let mut capabilities = Capabilities::default();
        let lacking =
            [(Sensor::Instructions, "no PMU"), (Sensor::LlcMisses, "no PMU"), (Sensor::SeveralNodes, "one node")];
        capabilities.missing.extend(lacking.map(|(sensor, why)| (sensor, why.to_owned())));
        let refusal = |lacking| refusal("dino", "dino".to_owned(), lacking, &capabilities);
        let told = refusal(&lacking).unwrap_err().to_string();
        assert_eq!(
            told,
            "policy dino cannot run here: instructions per thread and LLC misses per thread are not measured (no PMU); \
             there is no second NUMA node (one node); policies that would run here: linux, fixed, isobar; `isobar manage --policy dino \
             --dry-run` watches without acting"
        );
        assert!(refusal(&[]).is_ok());
    }

    #[test]
    fn a_bad_setting_names_where_it_came_from() {
        let config = |set: &str| Config { sets: vec![Setting::parse(set).unwrap()], ..Config::default() };
        let told = |set: &str| built("dino", &config(set)).err().unwrap();
        assert!(told("dino.clas_window=3").starts_with("--set dino.clas_window: unknown key: expected one of"));
        assert!(told("dyno.class_window=3").contains("did you mean `dino`?"));
        let policies: toml::Table = toml::from_str("[mange]\na = 1").unwrap();
        let config = Config { policies, file: Some("x.toml".into()), ..Config::default() };
        let told = built("dino", &config).err().unwrap();
        assert!(
            told.starts_with(
                "x.toml: unknown section [mange]: expected [manage], [exec], [metrics], [daemon], [linux]"
            ),
            "{told}"
        );
    }

    const EXAMPLE: &str = include_str!("../../../../examples/isobar.toml");

    #[test]
    fn the_example_file_holds_every_key_with_its_default() {
        let config = example(EXAMPLE, &[]).unwrap();
        assert_eq!((&config.manage, &config.metrics), (&ManageConfig::default(), &MetricsConfig::default()));
        assert_eq!((&config.exec, &config.daemon), (&ExecConfig::default(), &DaemonConfig::default()));
        // A test of the policies checks that their sections have every key.
        assert!(names().iter().all(|name| built(name, &config).is_ok()));
    }

    #[test]
    fn the_example_file_names_every_key_of_manage_and_those_without_default_hold_too() {
        let optional = [
            "# policy =",
            "# interval_seconds =",
            "# state_file =",
            "# resctrl_root =",
            "# listen =",
            "# [[manage.group]]",
            "# only =",
            "# set =",
        ];
        let text = optional.iter().fold(EXAMPLE.to_owned(), |text, key| {
            assert!(text.contains(key), "{key}");
            text.replace(key, &key[2..])
        });
        let config = example(&text, &[]).unwrap();
        assert_eq!((config.manage.policy.as_deref(), config.manage.interval_seconds), (Some("dino"), Some(1.0)));
        let group = GroupConfig {
            only: vec!["unit:redis.service".to_owned(), "pod:shop/*".to_owned()],
            policy: "linux".to_owned(),
            ..GroupConfig::default()
        };
        assert_eq!(config.manage.group, [group]);
        // serde lists the existing keys when it is given an unknown one.
        let known = example("", &["manage.nonsense=1"]).unwrap_err().to_string();
        let keys: Vec<&str> = known.split('`').skip(3).step_by(2).collect();
        assert!(keys.len() > 8, "{known}");
        let section: toml::Table = toml::from_str(&text).unwrap();
        for key in keys {
            assert!(section["manage"].get(key).is_some(), "{key} is not in the example");
        }
    }

    #[test]
    fn entries_of_groups_are_checked_and_what_is_wrong_names_the_entry_and_the_key() {
        let told = |main: &str, text: &str| {
            let config = example(text, &[]).unwrap();
            let groups =
                Groups::of(main, &config, &|name| name.starts_with("exec:"), &|_| Err(io::ErrorKind::NotFound.into()));
            groups.map(|groups| !groups.is_empty()).map_err(|error| error.to_string())
        };
        let entry = |rest: &str| {
            format!("[dino]\nclass_window = 5\nclass_votes = 5\n[[manage.group]]\nonly = [\"a\"]\n{rest}\n")
        };
        assert_eq!(told("isobar", ""), Ok(false));
        assert_eq!(told("isobar", &entry("policy = \"static-60\"\nset = { nodes = 2 }")), Ok(true));
        // The group's settings override those of the policy's section, and both are checked
        // together.
        assert_eq!(told("isobar", &entry("policy = \"dino\"\nset = { class_window = 6 }")), Ok(true));
        for (main, rest, expected) in [
            (
                "isobar",
                "policy = \"dyno\"",
                "isobar.toml: manage.group 1: unknown policy `dyno`: expected one of linux,",
            ),
            (
                "isobar",
                "policy = \"dino\"\nset = { clas_window = 3 }",
                "isobar.toml: manage.group 1: set: dino.clas_window: unknown key: expected one of",
            ),
            (
                "isobar",
                "policy = \"dino\"\nset = { class_window = 4 }",
                "isobar.toml: manage.group 1: set: dino.class_votes: 5 is impossible: expected 1 to class_window, which is 4",
            ),
            (
                "isobar",
                "policy = \"exec:x\"\nset = { a = 4 }",
                "isobar.toml: manage.group 1: set.a: programs of `exec:` have their settings in [exec]: expected none here",
            ),
            (
                "isobar",
                "policy = \"dino+lfoc+\"",
                "isobar.toml: policy isobar and policy dino+lfoc+ of manage.group 1 would both divide cache ways, and only \
                 one may: expected isobar.ways = false, or another policy there",
            ),
            (
                "isobar",
                "policy = \"isobar\"",
                "isobar.toml: policy isobar and policy isobar of manage.group 1 would both divide cache ways, and only one \
                 may: expected isobar.ways = false, or manage.group 1: set.ways = false",
            ),
        ] {
            let said = told(main, &entry(rest)).unwrap_err();
            assert!(said.starts_with(expected), "{said}");
        }
        assert_eq!(told("isobar", &entry("policy = \"isobar\"\nset = { ways = false }")), Ok(true));
        assert_eq!(told("dino", &entry("policy = \"isobar\"")), Ok(true));
    }

    #[test]
    fn settings_that_fit_only_together_are_taken_together() {
        let sets = ["dino.class_window=1", "dino.class_votes=1"].map(|set| Setting::parse(set).unwrap()).to_vec();
        assert!(built("dino", &Config { sets, ..Config::default() }).is_ok());
    }
}
