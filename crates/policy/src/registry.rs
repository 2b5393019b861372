//! Every policy by its canonical name. A policy is added here in one line.

use crate::baseline::fixed;
use crate::baseline::linux::{self, Linux};
use crate::dino::{di_migrate, di_plain, dino};
use crate::divide_content::{
    config as lfoc_config, dino_lfoc_plus, divide_content, lfoc_plus, settings as dc_settings,
};
use crate::nmass::{maximum_local, n_mass, n_mass_regression};
use crate::settings::{ConfigError, NoSettings, PolicyConfig, Settings};
use isobar_model::{Policy, Sensor};

/// One policy that `--policy` takes.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Canonical name; also the name of its section in the configuration.
    pub name: &'static str,
    /// The paper that it comes from.
    pub paper: &'static str,
    /// What it decides, in a few words.
    pub summary: &'static str,
    /// What it moves.
    pub moves: Moves,
    /// The sensors without which it cannot decide.
    pub needs: &'static [Sensor],
    /// Its settings with their defaults.
    pub defaults: fn() -> toml::Table,
    build: fn(toml::Table) -> Result<Box<dyn Policy>, ConfigError>,
}

/// What a policy moves: whoever else moves the same (NUMA balancing, say) works against it or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Nothing.
    Nothing,
    /// Threads; memory stays.
    Threads,
    /// Threads and pages.
    ThreadsAndPages,
}

const DC_PAPER: &str = "Bilbao et al., Divide&Content: A Fair OS-Level Resource Manager for Contention Balancing on NUMA Multicores (2023)";
const DINO_PAPER: &str = "Blagodurov et al., A Case for NUMA-aware Contention Management on Multicore Systems (2011)";
const NMASS_PAPER: &str = "Majo and Gross, Memory Management in NUMA Multicore Systems: Trapped between Cache Contention and Interconnect Overhead (2011)";

#[rustfmt::skip]
static ENTRIES: [Entry; 11] = [
    Entry { name: linux::NAME, paper: "baseline", summary: "decides nothing: the stock scheduler", moves: Moves::Nothing, needs: &[], defaults: NoSettings::defaults, build: |t| { NoSettings::read(linux::NAME, t)?; Ok(Box::new(Linux)) } },
    Entry { name: fixed::NAME, paper: "baseline", summary: "threads and pages where the settings say", moves: Moves::ThreadsAndPages, needs: &[], defaults: fixed::Config::defaults, build: |t| Ok(Box::new(fixed::Fixed::new(&fixed::Config::read(fixed::NAME, t)?))) },
    Entry { name: maximum_local::NAME, paper: NMASS_PAPER, summary: "process to its home node, as far as there are cores", moves: Moves::Threads, needs: maximum_local::NEEDS, defaults: maximum_local::Config::defaults, build: |t| Ok(Box::new(maximum_local::policy(maximum_local::Config::read(maximum_local::NAME, t)?))) },
    Entry { name: n_mass::NAME, paper: NMASS_PAPER, summary: "process to its home node, unless that crowds a cache", moves: Moves::Threads, needs: n_mass::NEEDS, defaults: n_mass::Config::defaults, build: |t| Ok(Box::new(n_mass::policy(n_mass::Config::read(n_mass::NAME, t)?))) },
    Entry { name: n_mass_regression::NAME, paper: NMASS_PAPER, summary: "n-mass with NUMA penalties estimated from miss rates", moves: Moves::Threads, needs: n_mass_regression::NEEDS, defaults: n_mass_regression::Config::defaults, build: |t| Ok(Box::new(n_mass_regression::policy(&n_mass_regression::Config::read(n_mass_regression::NAME, t)?))) },
    Entry { name: di_plain::NAME, paper: DINO_PAPER, summary: "thread to core by miss rate; memory stays", moves: Moves::Threads, needs: di_plain::NEEDS, defaults: NoSettings::defaults, build: |t| { NoSettings::read(di_plain::NAME, t)?; Ok(Box::new(di_plain::DiPlain::default())) } },
    Entry { name: di_migrate::NAME, paper: DINO_PAPER, summary: "thread to core by miss rate; pages follow", moves: Moves::ThreadsAndPages, needs: di_migrate::NEEDS, defaults: di_migrate::Config::defaults, build: |t| Ok(Box::new(di_migrate::DiMigrate::new(&di_migrate::Config::read(di_migrate::NAME, t)?))) },
    Entry { name: dino::NAME, paper: DINO_PAPER, summary: "thread to core by class, superfluous moves avoided; pages follow", moves: Moves::ThreadsAndPages, needs: dino::NEEDS, defaults: dino::Config::defaults, build: |t| Ok(Box::new(dino::Dino::new(dino::Config::read(dino::NAME, t)?))) },
    Entry { name: lfoc_plus::NAME, paper: DC_PAPER, summary: "ways of every LLC to clusters of programs, by sampled classes", moves: Moves::Nothing, needs: lfoc_plus::NEEDS, defaults: lfoc_config::Config::defaults, build: |t| Ok(Box::new(lfoc_plus::LfocPlus::new(lfoc_config::Config::read(lfoc_plus::NAME, t)?))) },
    Entry { name: divide_content::NAME, paper: DC_PAPER, summary: "threads to LLCs so that all bear alike, then ways as lfoc+", moves: Moves::Threads, needs: divide_content::NEEDS, defaults: dc_settings::Config::defaults, build: |t| Ok(Box::new(divide_content::DivideContent::new(dc_settings::Config::read(divide_content::NAME, t)?))) },
    Entry { name: dino_lfoc_plus::NAME, paper: DC_PAPER, summary: "dino places threads and pages, lfoc+ partitions every LLC", moves: Moves::ThreadsAndPages, needs: dino_lfoc_plus::NEEDS, defaults: dino_lfoc_plus::Config::defaults, build: |t| Ok(Box::new(dino_lfoc_plus::DinoLfocPlus::new(dino_lfoc_plus::Config::read(dino_lfoc_plus::NAME, t)?))) },
];

/// Every policy, in the order of the documentation.
#[must_use]
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// A policy by name.
///
/// # Errors
/// [`ConfigError::UnknownPolicy`] with the known names and the nearest one.
pub fn find(name: &str) -> Result<&'static Entry, ConfigError> {
    entries().iter().find(|entry| entry.name == name).ok_or_else(|| ConfigError::unknown_policy(name))
}

/// Makes a policy. The sections of all policies in `settings` are checked, also of those that are not asked for.
///
/// # Errors
/// [`ConfigError`], one line that names the policy or the key.
pub fn build(name: &str, settings: &Settings) -> Result<Box<dyn Policy>, ConfigError> {
    let wanted = find(name)?;
    for (section, table) in settings.sections() {
        (find(section)?.build)(table.clone())?;
    }
    (wanted.build)(settings.section(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(sets: &[&str]) -> String {
        let mut settings = Settings::default();
        let result = sets.iter().try_for_each(|set| {
            let (key, value) = set.split_once('=').unwrap();
            settings.set(key, value)
        });
        result.and_then(|()| build("dino", &settings).map(|_| ())).unwrap_err().to_string()
    }

    #[test]
    fn every_entry_builds_with_its_own_defaults() {
        for entry in entries() {
            let mut tables = toml::Table::new();
            tables.insert(entry.name.into(), toml::Value::Table((entry.defaults)()));
            let policy = build(entry.name, &Settings::from_tables(tables).unwrap()).unwrap();
            assert_eq!(policy.name(), entry.name);
            assert_eq!(policy.needs(), entry.needs);
        }
    }

    #[test]
    fn bad_settings_name_their_key() {
        assert!(said(&["dino.clas_window=3"]).starts_with("dino.clas_window: unknown key: expected one of "));
        assert_eq!(
            said(&["dino.class_votes=11"]),
            "dino.class_votes: 11 is impossible: expected 1 to class_window, which is 10"
        );
        assert_eq!(said(&["dino.class_window=-1"]), "dino.class_window: invalid value: integer `-1`, expected u32");
        assert_eq!(said(&["dino.class_window=many"]), "dino.class_window: invalid type: string \"many\", expected u32");
        assert!(said(&["dyno.class_window=3"]).contains("did you mean `dino`?"));
        assert!(said(&["class_window=3"]).starts_with("class_window: expected POLICY.KEY=VALUE"));
        assert!(said(&["class\r\u{1b}[2J=3"]).starts_with(r"class\r\u{1b}[2J: expected POLICY.KEY=VALUE"));
        assert!(said(&["di-plain.class_window=3"]).starts_with("di-plain.class_window: unknown key"));
    }
}
