//! An experiment, as it is written in TOML. This file knows keys, defaults and limits. It knows
//! nothing of a machine's CPUs (plan.rs checks against those) and runs nothing.

mod contender;
mod field;

use crate::error::LabError;
pub use contender::{Bind, Contender};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// The question that it answers, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// A machine that ships, which is then scaled, or the path of a numasim machine file (ends in
    /// `.toml`), which is used as it is.
    pub machine: String,
    /// How the machine is scaled; only for machines by name.
    #[serde(default)]
    pub scale: Scale,
    /// Number of boots. Each boot runs all contenders, in an order of its own.
    #[serde(default = "five")]
    pub repeats: u32,
    /// Seed of the first boot; each further boot adds 1. It decides the guest's random numbers, and
    /// which contender runs first.
    #[serde(default = "one")]
    pub seed: u64,
    /// Guest seconds that a run may take.
    #[serde(default = "sixty")]
    pub limit_seconds: f64,
    /// Host seconds that a boot may take.
    #[serde(default = "half_an_hour")]
    pub boot_limit_seconds: u32,
    /// Guest seconds for which daemons run before the programs start (default 0), as on a real
    /// machine, where they run already. The guest's CPUs are slow, and its kernel takes seconds to
    /// switch on performance events.
    #[serde(default)]
    pub lead_seconds: f64,
    /// The contender that the others are compared with; default: see [`Experiment::baseline`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare_with: Option<String>,
    /// Whether the guest's kernel may use transparent huge pages, as it does by default. Footprints
    /// are scaled down and huge pages are not: where caches are 16 times smaller, a huge page of 2
    /// MiB acts like one of 32 MiB.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub huge_pages: bool,
    /// Whether the constants of the guest's kernel are scaled like the machine (kernel.rs): slices,
    /// and the periods and sizes of NUMA balancing. If not, they are the kernel's own, in guest
    /// seconds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scaled_kernel: bool,
    /// Whether resctrl is mounted on `/sys/fs/resctrl` of the guest, anew for each contender. Its
    /// groups control and monitor the ways of the modelled machine, so programs made for resctrl
    /// can be used as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resctrl: bool,
    /// Whether each program has its own boots and its own table, without the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_at_a_time: bool,
    /// Files of the host that appear in `/host` of the guest under their own names, such as the
    /// page trace of a program. `{program}` stands for the name of each program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_files: Vec<String>,
    /// A file beside this one with contenders, and files for daemons, that several experiments
    /// share (experiment/field.rs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The programs that run.
    pub program: Vec<Program>,
    /// Files that daemons read, by path in the guest; the value is the content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Files that replace those of the same path if nothing is modelled (`--plain`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plain_files: BTreeMap<String, String>,
    /// What the programs run under, in addition to the contenders of `field`.
    #[serde(default)]
    pub contender: Vec<Contender>,
}

/// How a real machine is scaled down so that an emulator can carry it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scale {
    /// Guest nanoseconds for each nanosecond of the real machine.
    pub time: f64,
    /// Bytes of a real cache for each byte of a modelled one.
    pub cache: f64,
    /// Memory of each node, in MiB.
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
    /// Its name in tables.
    pub name: String,
    /// The command, such as `chase --size-kib 4096 --work 200000`. Words are separated by blanks.
    pub run: String,
    /// Number of instances that run.
    #[serde(default = "one_instance")]
    pub instances: u32,
    /// Where its set-up happens, and so where its memory lands by first touch.
    #[serde(default)]
    pub start: Start,
    /// CPUs that its threads are brought to after their set-up, as a list such as "4-7". Of several
    /// instances each gets one CPU of the list, in turn. Once all programs run, the threads are
    /// free to go, unless `run_on` is given, too. Stock Linux and daemons may move a free thread;
    /// they leave alone a thread that its owner confines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_on: Option<String>,
    /// CPUs that it is confined to after its set-up, as a list such as "4-7". Each of several
    /// instances gets the whole list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_on: Option<String>,
    /// CPUs to which the program binds its threads before they touch any memory: thread n is bound
    /// to the n-th CPU of the list, in turn (`--each-on` of the programs that ship). Nothing else
    /// places such a program, and it is not run alone on the first node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_thread_on: Option<String>,
    /// The names of its processes, by which daemons know them, if they differ from the command's
    /// name, as those of a script do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Whether it only keeps the machine busy, and is not measured.
    #[serde(default)]
    pub background: bool,
}

/// Where a program's set-up happens: on the given CPUs, or on all CPUs of the given node. The
/// default is the first node.
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

const fn yes() -> bool {
    true
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

impl Experiment {
    /// Reads and checks an experiment. `file` is the name that messages use, and `field` is looked
    /// for beside it.
    ///
    /// # Errors
    /// One line with the file, the line or key, and the remedy.
    pub fn parse(text: &str, file: &str) -> Result<Self, LabError> {
        let mut experiment: Self = toml::from_str(text).map_err(|error| LabError::toml(file, text, &error))?;
        if let Some(field) = experiment.field.take() {
            experiment.enter(&field, file)?;
        }
        experiment.check().map_err(|problem| LabError::input(file, problem))?;
        Ok(experiment)
    }

    /// The contender that the others are compared with: the one that the file names, or else stock
    /// Linux with NUMA balancing, or stock Linux without it, or the first contender.
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

    /// The experiments that this one stands for: itself, or one for each measured program, named
    /// after both.
    #[must_use]
    pub fn apart(&self) -> Vec<Self> {
        if !self.one_at_a_time {
            return vec![self.clone()];
        }
        let measured = self.program.iter().filter(|program| !program.background);
        let alone = |program: &Program| Self {
            name: format!("{}, {}", self.name, program.name),
            program: self.program.iter().filter(|other| other.background || *other == program).cloned().collect(),
            ..self.clone()
        };
        measured.map(alone).collect()
    }

    /// Removes the measured programs that are not among `names`. If `names` is empty, all stay.
    ///
    /// # Errors
    /// No program has one of the names.
    pub fn choose(&mut self, names: &[String]) -> Result<(), String> {
        let all = self.program.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
        let known = |name: &&String| self.program.iter().any(|program| program.name == **name);
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(format!("--program: no program is called `{unknown}`; there are {all}"));
        }
        self.program.retain(|program| names.is_empty() || program.background || names.contains(&program.name));
        Ok(())
    }

    /// The files of the host that the guest gets, by their names there.
    #[must_use]
    pub fn host_files(&self) -> BTreeSet<String> {
        let names = |file: &String| -> Vec<String> {
            self.program.iter().map(|program| file.replace("{program}", &program.name)).collect()
        };
        self.host_files.iter().flat_map(names).collect()
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
        if self.contender.is_empty() {
            return Err("contender: none: write [[contender]] or field = \"FILE\"".to_owned());
        }
        distinct("contender", self.contender.iter().map(Contender::name))?;
        self.check_baseline()?;
        self.program.iter().try_for_each(Program::check)?;
        self.host_files.iter().try_for_each(|file| host_file(file))?;
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
            Contender::Numactl { bind, bind_each, .. } => {
                bind.iter().try_for_each(|(program, bind)| bind.check(program))?;
                bind_each.iter().try_for_each(|(program, all)| all.iter().try_for_each(|bind| bind.check(program)))?;
                let known = |name: &&String| self.program.iter().any(|program| program.name == **name);
                let names = || self.program.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
                if let Some(name) = bind.keys().chain(bind_each.keys()).find(|name| !known(name)) {
                    return Err(format!("contender.bind: no program is called `{name}`; there are {}", names()));
                }
                let twice = bind_each.iter().find(|(name, all)| bind.contains_key(*name) || all.is_empty());
                twice.map_or(Ok(()), |(name, _)| {
                    Err(format!("contender.bind_each of `{name}`: write a list of places, and leave out its `bind`"))
                })
            }
            Contender::Daemon { name, run, .. } if run.split_whitespace().next().is_none() => {
                Err(format!("contender.run of `{name}` is empty; write a command, such as \"numad -i 1:1 {{pids}}\""))
            }
            Contender::Daemon { bring, .. } => bring.iter().try_for_each(|path| brought(path)),
            Contender::Numad { interval_seconds, .. } => {
                counted("contender.interval_seconds", *interval_seconds, 1, 3600)
            }
            Contender::Linux { before: Some(before), .. } if before.split_whitespace().next().is_none() => {
                Err("contender.before is empty; write a command, such as \"mover {pid}\", or leave it out".to_owned())
            }
            Contender::Linux { .. } => Ok(()),
        }
    }
}

impl Program {
    /// The names of its processes: those that are listed or, if none is, its command's name.
    #[must_use]
    pub fn commands(&self) -> Vec<&str> {
        let command = self.run.split_whitespace().next().and_then(|path| path.rsplit('/').next());
        if self.commands.is_empty() {
            command.into_iter().collect()
        } else {
            self.commands.iter().map(String::as_str).collect()
        }
    }

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
        let placed = self.start != Start::default() || self.begin_on.is_some() || self.run_on.is_some();
        if self.each_thread_on.is_some() && (placed || self.instances > 1) {
            return Err(format!(
                "program.each_thread_on of `{}` binds its threads: leave out start, begin_on, run_on and instances",
                self.name
            ));
        }
        let reserved = ["--ready-file", "--start-file", "--repeat", "--each-on"];
        match self.run.split_whitespace().find(|word| reserved.contains(word)) {
            Some(word) => Err(format!("program.run of `{}` has {word}, which the director adds itself", self.name)),
            None => Ok(()),
        }
    }
}

/// Checks the name of a file of the host. Files keep their names, and lie in one folder of the
/// guest.
fn host_file(name: &str) -> Result<(), String> {
    let right = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    right.then_some(()).ok_or_else(|| {
        format!("host_files: \"{}\": expected the name of a file, without a folder", name.escape_default())
    })
}

/// Checks the path of a file of the guest, which keeps its name on the host.
fn brought(path: &str) -> Result<(), String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let right = path.starts_with('/') && !matches!(name, "" | "." | "..");
    right.then_some(()).ok_or_else(|| {
        format!("contender.bring: \"{}\": expected the path of a file, such as /tmp/run.isobar", path.escape_default())
    })
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
