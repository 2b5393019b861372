//! Replaces the configuration of a running loop. The new configuration is first checked as a whole.
//! Settings that a running machine cannot take are named, and apply from the next start; until then
//! the values of the last start count as those in force.

use crate::signals::StopFlag;
use crate::verbs::watch::{Needed, WatchArgs};
use isobar_runtime::settings::{Config, ManageConfig};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the daemon runs with, which is not always what its files said when they were read last.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The configuration.
    pub config: Config,
    /// The file that it was read from.
    pub file: Option<PathBuf>,
    /// The texts of the files that the configuration names, by path.
    texts: BTreeMap<String, String>,
}

impl InForce {
    /// At the start everything that was read is in force.
    pub fn at_start(needed: &Needed, file: Option<PathBuf>) -> Self {
        Self { config: needed.whole.clone(), file, texts: needed.named_texts() }
    }
}

/// A valid configuration.
pub struct Fresh {
    /// What the loop needs.
    pub needed: Needed,
    /// Whether the policy is a different one or has different settings.
    pub decides_otherwise: bool,
    /// What is in force once the loop has taken it.
    pub in_force: InForce,
    /// The keys of the settings that apply only from the next start.
    pub later: Vec<&'static str>,
}

/// The arguments with the file to read: the one that was named, otherwise the `usual` one.
pub fn with_file(args: &WatchArgs, usual: Option<PathBuf>) -> WatchArgs {
    WatchArgs { config: args.config.clone().or(usual), ..args.clone() }
}

/// Reads the configuration again, from the file that it was read from, otherwise from the `usual`
/// one: a file that is gone is refused. The new policy heeds the same request to `stop` as the
/// loop.
///
/// # Errors
/// The fault of the configuration, in one line.
pub fn read(
    args: &WatchArgs,
    usual: Option<PathBuf>,
    now: &InForce,
    policy: &str,
    stop: &StopFlag,
) -> anyhow::Result<Fresh> {
    let args = with_file(args, now.file.clone().or(usual));
    let needed = Needed::from_args_or(&args, Some(super::WATCHING), stop.clone())?;
    let texts = needed.named_texts();
    let decides_otherwise = needed.policy.name() != policy
        || needed.whole.policies != now.config.policies
        || needed.whole.manage.group != now.config.manage.group
        || texts != now.texts;
    let (config, later) = taken(&now.config, &needed.whole, decides_otherwise);
    Ok(Fresh { needed, decides_otherwise, in_force: InForce { config, file: args.config, texts }, later })
}

/// Puts the value of the second configuration back into the first.
type Keep = fn(&mut ManageConfig, &ManageConfig);

/// The settings that cannot change, or not completely, while the machine is open.
const FIXED: [(&str, Keep); 12] = [
    ("manage.state_file", |fresh, now| fresh.state_file.clone_from(&now.state_file)),
    ("manage.resctrl_root", |fresh, now| fresh.resctrl_root.clone_from(&now.resctrl_root)),
    ("manage.numa_balancing", |fresh, now| fresh.numa_balancing = now.numa_balancing),
    ("manage.counters", |fresh, now| fresh.counters = now.counters),
    ("manage.accessed_pages", |fresh, now| fresh.accessed_pages = now.accessed_pages),
    ("manage.ways", |fresh, now| fresh.ways = now.ways),
    ("manage.watch_affinities", |fresh, now| fresh.watch_affinities = now.watch_affinities),
    ("manage.move_grouped", |fresh, now| fresh.move_grouped = now.move_grouped),
    ("manage.max_pages_per_second", |fresh, now| fresh.max_pages_per_second = now.max_pages_per_second),
    ("manage.stop_seconds", |fresh, now| fresh.stop_seconds = now.stop_seconds),
    ("manage.max_threads (of counters)", |fresh, now| fresh.max_threads = now.max_threads),
    ("manage.min_cpu_percent (of accessed pages)", |fresh, now| fresh.min_cpu_percent = now.min_cpu_percent),
];

/// The configuration that is in force once a running machine has taken what it can of a fresh one,
/// and the keys of the rest. A policy that is built anew also takes `[exec]`.
fn taken(now: &Config, fresh: &Config, decides_otherwise: bool) -> (Config, Vec<&'static str>) {
    let (mut config, mut later) = (fresh.clone(), Vec::new());
    for (key, keep) in FIXED {
        let wanted = config.manage.clone();
        keep(&mut config.manage, &now.manage);
        later.extend((config.manage != wanted).then_some(key));
    }
    later.extend((fresh.daemon != now.daemon).then_some("[daemon]"));
    later.extend((fresh.metrics != now.metrics).then_some("[metrics]"));
    config.daemon.clone_from(&now.daemon);
    config.metrics.clone_from(&now.metrics);
    if !decides_otherwise {
        later.extend((fresh.exec != now.exec).then_some("[exec]"));
        config.exec.clone_from(&now.exec);
    }
    (config, later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fs;
    use std::path::Path;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        watch: WatchArgs,
    }

    fn typed(words: &[&str]) -> WatchArgs {
        Typed::try_parse_from([&["isobar"][..], words].concat()).unwrap().watch
    }

    fn started(args: &WatchArgs, usual: Option<PathBuf>) -> InForce {
        let needed = Needed::from_args_or(&with_file(args, usual.clone()), Some("linux"), StopFlag::default());
        InForce::at_start(&needed.unwrap(), with_file(args, usual).config)
    }

    fn again(args: &WatchArgs, usual: &Path, now: &InForce, policy: &str) -> Fresh {
        read(args, Some(usual.to_owned()), now, policy, &StopFlag::default()).unwrap()
    }

    #[test]
    fn a_file_that_appears_at_the_usual_place_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (args, usual) = (typed(&[]), folder.path().join("isobar.toml"));
        let now = started(&args, None);
        fs::write(&usual, "[manage]\npolicy = \"dino\"\n").unwrap();
        let fresh = again(&args, &usual, &now, "linux");
        let found = (fresh.needed.policy.name(), fresh.decides_otherwise, fresh.in_force.file.clone());
        assert_eq!(found, ("dino", true, Some(usual.clone())));
        fs::remove_file(&usual).unwrap();
        let refused = read(&args, None, &fresh.in_force, "dino", &StopFlag::default()).err().expect("it is gone");
        assert!(format!("{refused:#}").contains("isobar.toml"), "{refused:#}");
    }

    #[test]
    fn what_waits_for_the_next_start_is_named_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (args, file) = (typed(&[]), folder.path().join("isobar.toml"));
        let write =
            |stop: &str| fs::write(&file, format!("[manage]\nstop_seconds = {stop}\nmax_threads = 7\n")).unwrap();
        write("5");
        let mut now = started(&args, Some(file.clone()));
        for (stop, pending) in [("6", true), ("6", true), ("5", false)] {
            write(stop);
            let fresh = again(&args, &file, &now, "linux");
            assert_eq!(fresh.later, if pending { &["manage.stop_seconds"][..] } else { &[] });
            now = fresh.in_force;
        }
        fs::write(&file, "[manage]\nstop_seconds = 5\nmin_cpu_percent = 3\n[exec]\nrestarts = 1\n").unwrap();
        let later = again(&args, &file, &now, "linux").later;
        let of_sensors = ["manage.max_threads (of counters)", "manage.min_cpu_percent (of accessed pages)"];
        assert_eq!(later, [&of_sensors[..], &["[exec]"]].concat());
    }

    #[test]
    fn an_edited_profile_is_another_setting_and_a_comment_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let (file, profile) = (folder.path().join("isobar.toml"), folder.path().join("penalties.toml"));
        fs::write(&file, "[manage]\npolicy = \"n-mass\"\n[n-mass]\nprofile = \"penalties.toml\"\n").unwrap();
        let penalty = |value: &str| fs::write(&profile, format!("[numa_penalty]\nmcf = {value}\n")).unwrap();
        penalty("1.2");
        let args = typed(&["--config", file.to_str().unwrap()]);
        let now = started(&args, None);
        assert!(!again(&args, &file, &now, "n-mass").decides_otherwise);
        fs::write(&file, fs::read_to_string(&file).unwrap() + "# a comment\n").unwrap();
        assert!(!again(&args, &file, &now, "n-mass").decides_otherwise);
        penalty("1.3");
        let fresh = again(&args, &file, &now, "n-mass");
        assert!(fresh.decides_otherwise && !again(&args, &file, &fresh.in_force, "n-mass").decides_otherwise);
    }
}
