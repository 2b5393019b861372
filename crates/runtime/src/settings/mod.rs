//! The user's settings, from the configuration file and `--set`. isobar's own sections, such as
//! `[manage]` and `[metrics]`, are checked here. The sections of policies are passed on unchanged,
//! for the policies to check. This module knows keys, limits and defaults. It opens no machine, and
//! files come through its caller.
//!
//! The command line overrides the file. A misspelt key or an impossible value is refused in one
//! line that names the file and line (or the `--set`), the key, and what is expected.

mod daemon;
mod error;
mod exec;
mod group;
mod metrics;
mod names;
#[cfg(test)]
mod tests;

pub use daemon::DaemonConfig;
pub use error::SettingsError;
pub use exec::ExecConfig;
pub use group::GroupConfig;
pub use metrics::{MetricsConfig, address};
pub use names::named;

use crate::selection::{Pattern, Rules};
use isobar_model::Pid;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Reads the text of a file that the user named: a configuration, or a profile that it names.
pub type Read<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// Everything that was set.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The section `[manage]`, with `--set manage.KEY=VALUE` applied.
    pub manage: ManageConfig,
    /// The section `[exec]`, with `--set exec.KEY=VALUE` applied.
    pub exec: ExecConfig,
    /// The section `[metrics]`, with `--set metrics.KEY=VALUE` applied.
    pub metrics: MetricsConfig,
    /// The section `[daemon]`, with `--set daemon.KEY=VALUE` applied.
    pub daemon: DaemonConfig,
    /// The other sections of the file: one for each policy.
    pub policies: Table,
    /// `--set` for policies, in order.
    pub sets: Vec<Setting>,
    /// The file that the sections come from.
    pub file: Option<PathBuf>,
}

/// One `--set KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key with its section, as `dino.class_window`.
    pub key: String,
    /// The value as typed.
    pub value: String,
}

/// The section `[manage]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ManageConfig {
    /// The policy, if `--policy` names none.
    pub policy: Option<String>,
    /// Seconds between decisions; unset = [`DEFAULT_INTERVAL_SECONDS`], or what a simulated
    /// workload asks for.
    pub interval_seconds: Option<f64>,
    /// Threads below this share of a CPU are observed but not managed (per cent).
    pub min_cpu_percent: f64,
    /// Manage only these names, pids, groups ("unit:redis.service") and cgroup paths, which may be
    /// globs; empty = all.
    pub only: Vec<String>,
    /// Never manage these names, pids, groups and cgroup paths, which may be globs.
    pub ignore: Vec<String>,
    /// Also move threads that their owner pinned.
    pub move_pinned: bool,
    /// Whether threads that another tool has put into its own resctrl group get cache ways.
    pub move_grouped: bool,
    /// Whether isobar watches changes of affinities. This detects an owner who binds a thread to
    /// the CPU that isobar chose.
    pub watch_affinities: bool,
    /// What happens to the kernel's NUMA balancing while isobar manages.
    pub numa_balancing: BalancingChoice,
    /// Where resctrl is mounted, if not on /sys/fs/resctrl.
    pub resctrl_root: Option<PathBuf>,
    /// Maximum number of base pages that are migrated per second.
    pub max_pages_per_second: u64,
    /// Maximum number of threads that are moved per epoch.
    pub max_moves_per_epoch: u64,
    /// Maximum number of threads that are managed: the busiest.
    pub max_threads: u64,
    /// Time within which changes must be put back once isobar is asked to stop (seconds). After
    /// that, isobar reports what is left and ends.
    pub stop_seconds: f64,
    /// Where isobar records what it changed, if not in the usual place.
    pub state_file: Option<PathBuf>,
    /// Which event counters to read.
    pub counters: CounterChoice,
    /// How accessed pages are detected.
    pub accessed_pages: AccessedChoice,
    /// The interface through which cache ways are assigned.
    pub ways: WaysChoice,
    /// Processes with a policy of their own; the first entry that matches a process holds.
    pub group: Vec<GroupConfig>,
}

/// Which event counters to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterChoice {
    /// Hardware events, if there are any.
    #[default]
    Auto,
    /// The kernel's software events, which every machine has: for trying out the code path, not for
    /// decisions.
    Software,
    /// The page of a numasim guest: a test backend.
    Numasim,
}

/// How accessed pages are detected, for policies that move only such pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessedChoice {
    /// By DAMON if it is free, otherwise by mapping.
    #[default]
    Auto,
    /// By DAMON or not at all.
    Damon,
    /// Referenced bits, mapping by mapping.
    Mappings,
}

/// What happens to the kernel's NUMA balancing, which applies to the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BalancingChoice {
    /// It stays as it is.
    #[default]
    Leave,
    /// It is off until isobar ends, and then restored to its earlier state.
    Off,
}

/// The interface through which cache ways are assigned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaysChoice {
    /// The kernel's resctrl.
    #[default]
    Resctrl,
    /// The page of a numasim guest: a test backend.
    Numasim,
}

impl Default for ManageConfig {
    fn default() -> Self {
        Self {
            policy: None,
            interval_seconds: None,
            min_cpu_percent: 10.0,
            only: Vec::new(),
            ignore: Vec::new(),
            move_pinned: false,
            move_grouped: false,
            watch_affinities: true,
            numa_balancing: BalancingChoice::Leave,
            resctrl_root: None,
            max_pages_per_second: 65_536,
            max_moves_per_epoch: 256,
            max_threads: 2048,
            stop_seconds: 10.0,
            state_file: None,
            counters: CounterChoice::Auto,
            accessed_pages: AccessedChoice::Auto,
            ways: WaysChoice::Resctrl,
            group: Vec::new(),
        }
    }
}

/// The default length of an epoch: that of DINO and Divide&Content, one second.
pub const DEFAULT_INTERVAL_SECONDS: f64 = 1.0;

/// The accepted lengths of an epoch, in seconds. If it were shorter, watching itself would load the
/// machine; if it were longer, isobar would miss everything worth seeing.
pub const INTERVAL_SECONDS: RangeInclusive<f64> = 0.01..=86_400.0;

impl Config {
    /// Reads the file, if there is one, and applies `--set`.
    ///
    /// # Errors
    /// The first error, in one line.
    pub fn load(file: Option<&Path>, sets: &[String], read: Read<'_>) -> Result<Self, SettingsError> {
        let (mut config, mut own) = file.map_or_else(|| Ok(Default::default()), |file| Self::read(file, read))?;
        for text in sets {
            let setting = Setting::parse(text)?;
            match setting.key.split_once('.') {
                Some((section, key)) if Sections::NAMES.contains(&section) => {
                    let value = toml_value(&setting.value);
                    if let Value::Table(of) = own.entry(section).or_insert_with(|| Table::new().into()) {
                        of.insert(key.to_owned(), value);
                    }
                    config.take(Sections::of(&own).map_err(|why| refused(text, why))?);
                }
                _ => config.sets.push(setting),
            }
        }
        Ok(config)
    }

    /// `--set` for a verb that manages nothing: only settings of policies are allowed.
    ///
    /// # Errors
    /// [`SettingsError::Set`], also for `manage.KEY`, which would be accepted without an effect.
    pub fn of_policies(sets: &[String]) -> Result<Self, SettingsError> {
        // Without a file, nothing is read.
        let config = Self::load(None, sets, &|_| Err(io::ErrorKind::Unsupported.into()))?;
        let is_ours =
            |text: &&String| ["manage.", "metrics.", "daemon."].iter().any(|ours| text.trim_start().starts_with(ours));
        // Groups with their own policies concern policies.
        let is_ours = |text: &&String| is_ours(text) && !text.trim_start().starts_with("manage.group=");
        match sets.iter().find(is_ours) {
            Some(text) => Err(refused(text, "only `manage` and `explain` take it: expected POLICY.KEY=VALUE")),
            None => Ok(config),
        }
    }

    /// The file, and those of its sections that are isobar's own as they are written, so that
    /// `--set` can be laid over them. The file is read only once, because it may be a pipe.
    fn read(file: &Path, read: Read<'_>) -> Result<(Self, Table), SettingsError> {
        let text = read(file).map_err(|problem| SettingsError::Unreadable(file.to_owned(), problem))?;
        let (sections, policies) =
            Self::parse(&text).map_err(|(line, why)| SettingsError::Line(file.to_owned(), line, why))?;
        let (own, policies) = policies.into_iter().partition(|(name, _)| Sections::NAMES.contains(&name.as_str()));
        let mut config = Self { policies, file: Some(file.to_owned()), ..Self::default() };
        config.take(sections);
        Ok((config, own))
    }

    fn take(&mut self, sections: Sections) {
        let Sections { manage, exec, metrics, daemon } = sections;
        (self.manage, self.exec, self.metrics, self.daemon) = (manage, exec, metrics, daemon);
    }

    /// isobar's own settings, checked, and all sections as they are.
    fn parse(text: &str) -> Result<(Sections, Table), (usize, String)> {
        let at = |error: toml::de::Error| (line_of(text, &error), one_line(error.message()));
        let sections: Sections = toml::from_str(text).map_err(at)?;
        sections
            .check()
            .map_err(|(name, why)| (line_of_section(text, &format!("[{name}]")), format!("{name}: {why}")))?;
        sections.manage.check_groups().map_err(|(number, why)| (line_of_group(text, number), why))?;
        let all: Table = toml::from_str(text).map_err(at)?;
        Ok((sections, all))
    }
}

/// A file of which only isobar's own sections matter. They are parsed directly from the text, which
/// keeps line numbers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sections {
    manage: ManageConfig,
    exec: ExecConfig,
    metrics: MetricsConfig,
    daemon: DaemonConfig,
}

impl Sections {
    const NAMES: [&str; 4] = ["manage", "exec", "metrics", "daemon"];

    /// The first impossible value: its section, and what is expected.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let [manage, exec, metrics, daemon] = Self::NAMES;
        self.manage.check().map_err(|why| (manage, why))?;
        self.exec.check().map_err(|why| (exec, why))?;
        self.metrics.check().map_err(|why| (metrics, why))?;
        self.daemon.check().map_err(|why| (daemon, why))
    }

    /// Reads these tables and checks them.
    fn of(own: &Table) -> Result<Self, String> {
        let sections = Self::deserialize(own.clone()).map_err(|error| one_line(error.message()))?;
        sections.check().map_err(|(_, why)| why)?;
        sections.manage.check_groups().map_err(|(_, why)| why)?;
        Ok(sections)
    }
}

impl Setting {
    /// Reads `section.key=value`.
    ///
    /// # Errors
    /// [`SettingsError::Set`]: no `=`, no section, or an empty key.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let wrong = || refused(text, "expected SECTION.KEY=VALUE, such as dino.class_window=3");
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let (section, name) = key.trim().split_once('.').ok_or_else(wrong)?;
        if section.is_empty() || name.is_empty() || value.trim().is_empty() {
            return Err(wrong());
        }
        Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
    }
}

fn refused(set: &str, why: impl Into<String>) -> SettingsError {
    SettingsError::Set(set.to_owned(), why.into())
}

impl ManageConfig {
    /// The rules for which threads are managed; those of `never` never are.
    #[must_use]
    pub fn rules(&self, never: BTreeSet<Pid>) -> Rules {
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::parse(text)).collect();
        Rules {
            only: patterns(&self.only),
            ignore: patterns(&self.ignore),
            never,
            min_share: self.min_cpu_percent / 100.0,
            max_threads: usize::try_from(self.max_threads).unwrap_or(usize::MAX),
        }
    }

    /// # Errors
    /// The number of the first invalid entry, and what is expected.
    fn check_groups(&self) -> Result<(), (usize, String)> {
        let mut numbered = self.group.iter().zip(1..);
        numbered.try_for_each(|(group, number)| {
            group.check().map_err(|why| (number, format!("manage.group {number}: {why}")))
        })
    }

    fn check(&self) -> Result<(), String> {
        let within = |key: &str, value: f64, range: RangeInclusive<f64>| {
            let (low, high) = (range.start(), range.end());
            let right = range.contains(&value);
            if right { Ok(()) } else { Err(format!("{key} = {value}: expected a number from {low} to {high}")) }
        };
        let some = |key: &str, value: u64| {
            if value > 0 { Ok(()) } else { Err(format!("{key} = 0: expected a number above 0")) }
        };
        named("only", &self.only)?;
        named("ignore", &self.ignore)?;
        let interval = self.interval_seconds.unwrap_or(DEFAULT_INTERVAL_SECONDS);
        within("interval_seconds", interval, INTERVAL_SECONDS)?;
        within("min_cpu_percent", self.min_cpu_percent, 0.0..=100.0)?;
        within("stop_seconds", self.stop_seconds, 0.1..=3600.0)?;
        some("max_pages_per_second", self.max_pages_per_second)?;
        some("max_moves_per_epoch", self.max_moves_per_epoch)?;
        some("max_threads", self.max_threads)
    }
}

/// A value in TOML syntax. Text that is not TOML is taken as a string, so that
/// `--set manage.policy=dino` needs no quotes.
fn toml_value(text: &str) -> Value {
    let document = toml::from_str::<Table>(&format!("value = {text}"));
    let value = document.ok().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// A message of several lines as one.
pub(crate) fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The line of an error in a text.
pub(crate) fn line_of(text: &str, error: &toml::de::Error) -> usize {
    let start = error.span().map_or(0, |span| span.start);
    text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1
}

fn line_of_section(text: &str, head: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(head)).map_or(1, |index| index + 1)
}

/// The line of the entry `[[manage.group]]` with this number, counted from 1. Entries may also be
/// written inside `[manage]`.
fn line_of_group(text: &str, number: usize) -> usize {
    let heads = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("[[manage.group]]"));
    let nth = heads.map(|(index, _)| index + 1).nth(number - 1);
    nth.unwrap_or_else(|| line_of_section(text, "[manage]"))
}
