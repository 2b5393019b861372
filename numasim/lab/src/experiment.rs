//! An experiment as written in TOML. It knows keys, defaults and limits; it refuses to know
//! machines' CPUs (plan.rs asks those) and to run anything.

use crate::error::LabError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What it is called.
    pub name: String,
    /// What it asks, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// A machine that ships, which is then scaled, or the path of a numasim machine file (ends in
    /// `.toml`), which is not.
    pub machine: String,
    /// How the machine is scaled; only for machines by name.
    #[serde(default)]
    pub scale: Scale,
    /// Boots; each does all contenders, in an order of its own.
    #[serde(default = "five")]
    pub repeats: u32,
    /// Rotates the order of contenders.
    #[serde(default = "one")]
    pub seed: u64,
    /// Guest seconds that a run may take.
    #[serde(default = "sixty")]
    pub limit_seconds: f64,
    /// Host seconds that a boot may take.
    #[serde(default = "half_an_hour")]
    pub boot_limit_seconds: u32,
    /// Guest seconds for which daemons run before the programs start (0), as they would on a real
    /// machine: the guest's CPUs are slow, and its kernel takes seconds to switch performance
    /// events on.
    #[serde(default)]
    pub lead_seconds: f64,
    /// The contender that the others are compared with; default: see [`Experiment::baseline`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare_with: Option<String>,
    /// What runs.
    pub program: Vec<Program>,
    /// Files that daemons read: path in the guest to content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Files in place of those of the same path where nothing is modelled (`--plain`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plain_files: BTreeMap<String, String>,
    /// Under what.
    pub contender: Vec<Contender>,
}

/// How a real machine becomes one that an emulator carries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scale {
    /// Guest nanoseconds for each of the real machine.
    pub time: f64,
    /// Bytes of a real cache for each byte here.
    pub cache: f64,
    /// Memory of a node.
    pub node_mib: u32,
}

impl Default for Scale {
    fn default() -> Self {
        Self { time: 20.0, cache: 16.0, node_mib: 512 }
    }
}

/// A program of the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What tables call it.
    pub name: String,
    /// The command, such as `chase --size-kib 4096 --work 200000`; words are parted by blanks.
    pub run: String,
    /// How many of it run.
    #[serde(default = "one_instance")]
    pub instances: u32,
    /// Where its set-up happens, and so where its memory lands by first touch.
    #[serde(default)]
    pub start: Start,
    /// CPUs that its threads are brought to after their set-up, as a list such as "4-7"; of several
    /// instances each gets one of the list, in turn. Once all programs run they are free to go,
    /// unless `run_on` is there, too. A thread that is free is one that stock Linux and daemons may
    /// move; what its owner confines they leave alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_on: Option<String>,
    /// CPUs it is confined to after its set-up, as a list such as "4-7"; of several instances each
    /// gets all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_on: Option<String>,
    /// Whether it only keeps the machine busy, and is not measured.
    #[serde(default)]
    pub background: bool,
}

/// Where a program's set-up happens: on CPUs, or on all CPUs of a node; without either on the first
/// node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// A list such as "0-1".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// A node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
}

/// What places programs and memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Contender {
    /// Stock Linux.
    Linux {
        /// What tables call it.
        #[serde(default)]
        name: Option<String>,
        /// Automatic NUMA balancing.
        numa_balancing: bool,
    },
    /// Debian's numad; NUMA balancing off, as its manual page advises.
    Numad {
        /// What tables call it.
        #[serde(default)]
        name: Option<String>,
        /// Seconds between its scans (its `-i`, both bounds).
        #[serde(default = "numad_interval")]
        interval_seconds: u32,
    },
    /// Programs placed by hand with numactl; NUMA balancing off.
    Numactl {
        /// What tables call it.
        #[serde(default)]
        name: Option<String>,
        /// Program name to its place.
        bind: BTreeMap<String, Bind>,
    },
    /// Any program that runs beside the jobs: started before them, ended after them with SIGTERM.
    Daemon {
        /// What tables call it.
        name: String,
        /// The command; words are parted by blanks, and `{pids}` stands for `-p PID` of every job.
        run: String,
        /// The package of this workspace that has the program; without it the guest must have it
        /// already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        package: Option<String>,
        /// Automatic NUMA balancing beside it.
        #[serde(default)]
        numa_balancing: bool,
    },
}

/// Where numactl puts a program; of several instances each goes there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// `--cpunodebind`.
    pub cpus_of: u32,
    /// `--membind`.
    pub memory_of: u32,
}

const fn five() -> u32 {
    5
}
const fn one() -> u64 {
    1
}
const fn one_instance() -> u32 {
    1
}
const fn sixty() -> f64 {
    60.0
}
const fn half_an_hour() -> u32 {
    1800
}
const fn numad_interval() -> u32 {
    1
}

impl Contender {
    /// What tables call it: as named, else after its kind.
    #[must_use]
    pub fn name(&self) -> String {
        let (name, usual) = match self {
            Self::Linux { name, numa_balancing: true } => (name, "linux".to_owned()),
            Self::Linux { name, numa_balancing: false } => (name, "linux, balancing off".to_owned()),
            Self::Numad { name, .. } => (name, "numad".to_owned()),
            Self::Numactl { name, .. } => (name, "numactl".to_owned()),
            Self::Daemon { name, .. } => return name.clone(),
        };
        name.clone().unwrap_or(usual)
    }
}

impl Experiment {
    /// Reads and checks an experiment; `file` is what messages call it.
    ///
    /// # Errors
    /// One line with the file, the line or key, and the remedy.
    pub fn parse(text: &str, file: &str) -> Result<Self, LabError> {
        let experiment: Self = toml::from_str(text).map_err(|error| LabError::toml(file, text, &error))?;
        experiment.check().map_err(|problem| LabError::input(file, problem))?;
        Ok(experiment)
    }

    /// The contender that the others are compared with: the one that the file names, else stock
    /// Linux with NUMA balancing, else without, else the first.
    #[must_use]
    pub fn baseline(&self) -> String {
        if let Some(name) = &self.compare_with {
            return name.clone();
        }
        let stock = |wanted| {
            self.contender
                .iter()
                .find(|c| matches!(c, Contender::Linux { numa_balancing, .. } if *numa_balancing == wanted))
        };
        stock(true).or_else(|| stock(false)).or(self.contender.first()).map(Contender::name).unwrap_or_default()
    }

    fn check(&self) -> Result<(), String> {
        counted("repeats", self.repeats, 1, 100)?;
        counted("boot_limit_seconds", self.boot_limit_seconds, 1, 86_400)?;
        within("limit_seconds", self.limit_seconds, 1.0, 3600.0)?;
        within("lead_seconds", self.lead_seconds, 0.0, 60.0)?;
        within("scale.time", self.scale.time, 1.0, 1000.0)?;
        within("scale.cache", self.scale.cache, 1.0, 1000.0)?;
        counted("scale.node_mib", self.scale.node_mib, 64, 8192)?;
        distinct("program", self.program.iter().map(|program| program.name.clone()))?;
        distinct("contender", self.contender.iter().map(Contender::name))?;
        self.check_baseline()?;
        self.program.iter().try_for_each(Program::check)?;
        if self.program.iter().all(|program| program.background) {
            return Err("program: all are background: at least one must be measured".to_owned());
        }
        self.contender.iter().try_for_each(|contender| self.check_contender(contender))
    }

    fn check_baseline(&self) -> Result<(), String> {
        let baseline = self.baseline();
        let names: Vec<_> = self.contender.iter().map(Contender::name).collect();
        let known = names.is_empty() || names.contains(&baseline);
        known
            .then_some(())
            .ok_or_else(|| format!("compare_with: no contender is called `{baseline}`; there are {}", names.join("; ")))
    }

    fn check_contender(&self, contender: &Contender) -> Result<(), String> {
        match contender {
            Contender::Numactl { bind, .. } => {
                let unknown = bind.keys().find(|name| !self.program.iter().any(|program| program.name == **name));
                let names = || self.program.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
                unknown.map_or(Ok(()), |name| {
                    Err(format!("contender.bind: no program is called `{name}`; there are {}", names()))
                })
            }
            Contender::Daemon { name, run, .. } if run.split_whitespace().next().is_none() => {
                Err(format!("contender.run of `{name}` is empty; write a command, such as \"numad -i 1:1 {{pids}}\""))
            }
            Contender::Numad { interval_seconds, .. } => {
                counted("contender.interval_seconds", *interval_seconds, 1, 3600)
            }
            Contender::Daemon { .. } | Contender::Linux { .. } => Ok(()),
        }
    }
}

impl Program {
    fn check(&self) -> Result<(), String> {
        counted("program.instances", self.instances, 1, 64)?;
        if self.run.split_whitespace().next().is_none() {
            return Err(format!(
                "program.run of `{}` is empty; write a command, such as \"chase --work 100000\"",
                self.name
            ));
        }
        if self.start.cpus.is_some() && self.start.node.is_some() {
            return Err(format!("program.start of `{}` has both cpus and node; keep one", self.name));
        }
        let reserved = ["--ready-file", "--start-file", "--repeat"];
        match self.run.split_whitespace().find(|word| reserved.contains(word)) {
            Some(word) => Err(format!("program.run of `{}` has {word}, which the director adds itself", self.name)),
            None => Ok(()),
        }
    }
}

fn distinct(key: &str, names: impl Iterator<Item = String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() || name.contains(['/', '#', '\'', '"']) || name.contains(char::is_control) {
            return Err(format!("{key}.name = \"{}\": expected a name without / # and quotes", name.escape_default()));
        }
        if !seen.insert(name.clone()) {
            return Err(format!("{key}: two are called `{name}`; give one a name of its own"));
        }
    }
    if seen.is_empty() { Err(format!("{key}: there must be at least one")) } else { Ok(()) }
}

fn counted(key: &str, value: u32, least: u32, most: u32) -> Result<(), String> {
    let right = (least..=most).contains(&value);
    right.then_some(()).ok_or_else(|| format!("{key} = {value}: expected a whole number from {least} to {most}"))
}

fn within(key: &str, value: f64, least: f64, most: f64) -> Result<(), String> {
    let right = (least..=most).contains(&value);
    right.then_some(()).ok_or_else(|| format!("{key} = {value}: expected a number from {least} to {most}"))
}

#[cfg(test)]
#[path = "experiment_tests.rs"]
mod tests;
