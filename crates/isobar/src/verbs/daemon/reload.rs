//! Replaces the configuration of a running loop. The new configuration is first checked as a whole.
//! Settings that a running machine cannot take are named, and apply from the next start.

use crate::verbs::watch::{Needed, WatchArgs};
use isobar_runtime::settings::{Config, ManageConfig};

/// A valid configuration.
pub struct Fresh {
    /// What the loop needs.
    pub needed: Needed,
    /// Whether the policy is a different one or has different settings.
    pub decides_otherwise: bool,
    /// The keys of the settings that apply only from the next start.
    pub later: Vec<&'static str>,
}

/// Reads the configuration again.
///
/// # Errors
/// The fault of the configuration, in one line.
pub fn read(args: &WatchArgs, now: &Config, policy: &str) -> anyhow::Result<Fresh> {
    let needed = Needed::from_args_or(args, Some(super::WATCHING))?;
    let decides_otherwise = needed.policy.name() != policy
        || needed.whole.policies != now.policies
        || needed.whole.manage.group != now.manage.group;
    let later = later(now, &needed.whole);
    Ok(Fresh { needed, decides_otherwise, later })
}

/// Compares one setting of two configurations.
type Differs = fn(&ManageConfig, &ManageConfig) -> bool;

/// The settings that differ and that cannot change at run time.
fn later(now: &Config, fresh: &Config) -> Vec<&'static str> {
    let (a, b) = (&now.manage, &fresh.manage);
    let differs: [(&str, Differs); 10] = [
        ("manage.state_file", |a, b| a.state_file != b.state_file),
        ("manage.resctrl_root", |a, b| a.resctrl_root != b.resctrl_root),
        ("manage.numa_balancing", |a, b| a.numa_balancing != b.numa_balancing),
        ("manage.counters", |a, b| a.counters != b.counters),
        ("manage.accessed_pages", |a, b| a.accessed_pages != b.accessed_pages),
        ("manage.ways", |a, b| a.ways != b.ways),
        ("manage.watch_affinities", |a, b| a.watch_affinities != b.watch_affinities),
        ("manage.move_grouped", |a, b| a.move_grouped != b.move_grouped),
        ("manage.max_pages_per_second", |a, b| a.max_pages_per_second != b.max_pages_per_second),
        ("manage.stop_seconds", |a, b| (a.stop_seconds - b.stop_seconds).abs() > 0.0),
    ];
    let keys = differs.iter().filter(|(_, differs)| differs(a, b)).map(|(key, _)| *key);
    let sections = [
        ("[daemon]", now.daemon != fresh.daemon),
        ("[metrics]", now.metrics != fresh.metrics),
        ("[exec]", now.exec != fresh.exec),
    ];
    keys.chain(sections.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name)).collect()
}
