//! `numasim experiment`: runs boots side by side, then prints the tables.

use super::campaign::{self, BootOrder, Entry, Outcome, Store};
use super::own::Own;
use super::{origin, print};
use crate::args::ExperimentArgs;
use numasim_guest::wire::RESCTRL;
use numasim_lab::boot::Host;
use numasim_lab::experiment::{Contender, Experiment};
use numasim_lab::fetch::{self, Qemu};
use numasim_lab::identity::Identity;
use numasim_lab::image::{self, Contents, Image};
use numasim_lab::machine::{self, Machine};
use numasim_lab::plan::{self, Options};
use numasim_lab::scratch::Scratch;
use numasim_lab::stopping::{MOST_BOOTS, Rule, Stop};
use numasim_lab::stored::slug;
use numasim_lab::summary::Summary;
use numasim_lab::{LabError, recipe, report};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Runs experiments. Returns 1 if a boot or a run did not count.
pub fn run(args: &ExperimentArgs, interrupted: &AtomicBool) -> Result<u8, LabError> {
    let read = args.files.iter().map(|file| Read::of(file, args)).collect::<Result<Vec<_>, _>>()?;
    distinct(&read)?;
    results_folder(args)?;
    let scratch = Scratch::new()?;
    let folder = args.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    let mut parts = Parts::under(fetch::qemu()?, &fetch::kernel()?, &scratch.path().join("kernel"))?;
    let hosts = read.iter().map(|read| parts.host(read, args)).collect::<Result<Vec<_>, _>>()?;
    let mut entries = entries(&read, &hosts, &folder, args)?;
    if std::env::var_os(fetch::KERNEL_VARIABLE).is_some_and(|named| !named.is_empty()) {
        entries.iter_mut().for_each(Entry::name_kernel);
    }
    let turns = if args.budget.is_some() { BootOrder::Each } else { BootOrder::Whole };
    let (outcomes, done) = campaign::run(&entries, turns, args.jobs, interrupted);
    let mut code = 0;
    let ended = outcomes.iter().zip(&entries).filter(|(outcome, _)| done.is_ok() || outcome.stop.is_some());
    for (Outcome { boots, stop }, entry) in ended {
        let mut result = entry.summary(boots);
        let asked = args.until.is_some() || args.budget.is_some();
        result.stopped = stop.filter(|_| asked).map(Stop::in_words).unwrap_or_default();
        code |= u8::from(!result.problems.is_empty());
        show(args, &result, (entries.len() > 1).then(|| slug(&entry.experiment.name)))?;
    }
    done.map(|()| code)
}

/// Creates the folder of results, before anything boots.
pub(super) fn results_folder(args: &ExperimentArgs) -> Result<(), LabError> {
    let Some(folder) = &args.results else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|error| LabError::io(folder, error))
}

/// An experiment as it was read.
pub(super) struct Read {
    pub(super) file: PathBuf,
    pub(super) whole: Experiment,
    /// Parts of names with which `--only` chooses the contenders that ran; empty if all ran.
    pub(super) only: Vec<String>,
    machine: Machine,
    /// Programs of this machine that run as further contenders.
    own: Vec<Own>,
}

impl Read {
    /// Reads an experiment and checks it against the machine, before anything is built.
    pub(super) fn of(file: &Path, args: &ExperimentArgs) -> Result<Self, LabError> {
        let shown = file.display().to_string();
        let wrong = |problem| LabError::input(&shown, problem);
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let mut whole = Experiment::parse(&text, &shown)?;
        let most = if args.until.is_some() { MOST_BOOTS } else { whole.repeats };
        whole.repeats = args.repeats.unwrap_or(most);
        whole.choose(&args.program).map_err(wrong)?;
        let own = args.daemon.iter().map(|command| Own::of(command)).collect::<Result<Vec<_>, _>>()?;
        own.iter().try_for_each(|own| own.enter(&mut whole)).map_err(wrong)?;
        known(&whole, &args.only).map_err(wrong)?;
        whole.seed = args.seed.unwrap_or(whole.seed);
        let machine = machine::named(&beside(&whole.machine, file), whole.scale)?;
        let options = options(args);
        for one in whole.apart() {
            plan::order(&one, &machine.spec, 0, &options).map_err(wrong)?;
        }
        Ok(Self { file: file.to_owned(), whole, only: args.only.clone(), machine, own })
    }
}

fn options(args: &ExperimentArgs) -> Options {
    Options { only: args.only.clone(), plain: args.plain }
}

/// What is found and built once, for all experiments that need the same.
pub(super) struct Parts {
    qemu: Qemu,
    /// The copy of the kernel, and the file of which it is a copy.
    kernel: (PathBuf, PathBuf),
    images: Vec<(Contents, Image)>,
}

impl Parts {
    /// Uses this kernel, whatever other kernels are here. The kernel is copied into a folder.
    pub(super) fn under(qemu: Qemu, kernel: &Path, folder: &Path) -> Result<Self, LabError> {
        let copy = image::held(kernel, folder)?;
        Ok(Self { qemu, kernel: (copy, kernel.to_owned()), images: Vec::new() })
    }

    pub(super) fn host(&mut self, read: &Read, args: &ExperimentArgs) -> Result<Host, LabError> {
        let contents = contents(read, args);
        let image = match self.images.iter().find(|(other, _)| *other == contents) {
            Some((_, image)) => image.clone(),
            None => {
                let built = image::build(&contents, args.plain)?;
                self.images.push((contents, built.clone()));
                built
            }
        };
        let (kernel, from) = self.kernel.clone();
        let found = (self.qemu.clone(), from.clone());
        let host = Host::of(read.machine.clone(), found, image, read.whole.boot_limit_seconds).under(kernel, from);
        Ok(host.keeping(args.keep.is_some()).kernel_scaled(read.whole.scaled_kernel))
    }
}

/// The experiments, with each program as an experiment of its own if that is asked for. The boots
/// of this machine's shard are every N-th boot, counting the first boot of each experiment, then
/// the second boot of each, and so on.
pub(super) fn entries(
    read: &[Read],
    hosts: &[Host],
    folder: &Path,
    args: &ExperimentArgs,
) -> Result<Vec<Entry>, LabError> {
    let all: Vec<_> =
        read.iter().zip(hosts).flat_map(|(read, host)| apart(read).map(move |one| (read, host, one))).collect();
    let (count, commit) = (u32::try_from(all.len()).unwrap_or(u32::MAX), commit(args));
    let one = |(at, (read, host, experiment)): (u32, (&Read, &Host, Experiment))| {
        let mine = |repeat: &u32| args.shard.is_none_or(|shard| shard.has(repeat * count + at));
        let repeats: Vec<u32> = (0..experiment.repeats).filter(mine).collect();
        let several = count > 1;
        let budget = args.budget.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
        let most = u32::try_from(repeats.len()).unwrap_or(u32::MAX);
        Ok(Entry {
            store: store(read, host, &experiment, &commit, args)?,
            label: if several { format!("{}, ", experiment.name) } else { String::new() },
            folder: if several { folder.join(slug(&experiment.name)) } else { folder.to_owned() },
            rule: Rule { until_percent: args.until, most, budget },
            options: options(args),
            host: host.clone(),
            repeats,
            experiment,
        })
    };
    (0..).zip(all).map(one).collect()
}

fn apart(read: &Read) -> impl Iterator<Item = Experiment> {
    read.whole.apart().into_iter()
}

fn commit(args: &ExperimentArgs) -> String {
    let asked = || if args.results.is_some() { origin::commit() } else { String::new() };
    args.commit.clone().unwrap_or_else(asked)
}

fn store(
    read: &Read,
    host: &Host,
    experiment: &Experiment,
    commit: &str,
    args: &ExperimentArgs,
) -> Result<Option<Store>, LabError> {
    let Some(folder) = args.results.clone() else { return Ok(None) };
    let identity = Identity::of(experiment, &options(args), host)?;
    let program = read.whole.one_at_a_time.then(|| programs(experiment));
    let command = origin::command(&read.file, args, &read.only, program.as_deref());
    Ok(Some(Store { folder, identity, command, commit: commit.to_owned() }))
}

/// Checks that each experiment has its own name, and thus its own folder.
pub(super) fn distinct(read: &[Read]) -> Result<(), LabError> {
    let named = |read: &Read| {
        let file = read.file.display().to_string();
        apart(read).map(move |one| (slug(&one.name), one.name, file.clone())).collect::<Vec<_>>()
    };
    let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (folder, name, file) in read.iter().flat_map(named) {
        if let Some((other, first)) = seen.get(&folder) {
            let same = if *other == name { format!("`{name}`") } else { format!("`{name}`, and one there `{other}`") };
            let problem = format!("name: an experiment is called {same}, as in {first}: give each a name of its own");
            return Err(LabError::input(&file, problem));
        }
        seen.insert(folder, (name, file));
    }
    Ok(())
}

/// Checks that every `--only` matches the name of a contender.
fn known(experiment: &Experiment, only: &[String]) -> Result<(), String> {
    let names: Vec<String> = experiment.contender.iter().map(Contender::name).collect();
    match only.iter().find(|part| !names.iter().any(|name| name.contains(part.as_str()))) {
        Some(part) => Err(format!("--only: no contender's name contains `{part}`; there are {}", names.join(", "))),
        None => Ok(()),
    }
}

/// Names of the measured programs, joined with `-`.
fn programs(experiment: &Experiment) -> String {
    let measured = experiment.program.iter().filter(|program| !program.background);
    measured.map(|program| program.name.as_str()).collect::<Vec<_>>().join("-")
}

/// Prints a table or one line of JSON, and writes the figures. If there are several experiments,
/// the figures of each go into a folder of their own.
fn show(args: &ExperimentArgs, result: &Summary, apart: Option<String>) -> Result<(), LabError> {
    let json = || serde_json::to_string(result).unwrap_or_default() + "\n";
    let none = || format!("{}: no boot\n{}\n", result.experiment, result.stopped).replace("\n\n", "\n");
    print(&match result.repeats {
        _ if args.json => json(),
        0 => none(),
        _ => report::text(result),
    });
    let folder = args.svg.as_ref().map(|svg| apart.map_or_else(|| svg.clone(), |apart| svg.join(apart)));
    folder.map_or(Ok(()), |folder| super::figures(&folder, &report::figures(result)))
}

/// The path of a machine. A machine file is looked for beside the experiment that names it.
fn beside(machine: &str, experiment: &Path) -> String {
    let folder = experiment.parent().filter(|_| machine.ends_with(".toml"));
    folder.map_or_else(|| machine.to_owned(), |folder| folder.join(machine).display().to_string())
}

/// What the guest needs for the programs and the chosen contenders.
fn contents(read: &Read, args: &ExperimentArgs) -> Contents {
    let experiment = &read.whole;
    let chosen = plan::contenders(experiment, &args.only);
    let folder = args.host_files.as_deref().or(read.file.parent()).unwrap_or(Path::new("."));
    let own = read.own.iter().filter(|own| chosen.contains(&&own.contender));
    let packages = chosen.iter().filter_map(|one| one.package()).chain(experiment.resctrl.then_some(RESCTRL));
    Contents {
        packages: packages.map(str::to_owned).collect(),
        tools: chosen.iter().any(|one| matches!(one, Contender::Numad { .. } | Contender::Numactl { .. })),
        add: own.map(|own| own.program.clone()).collect(),
        files: experiment.host_files().iter().map(|name| folder.join(name)).collect(),
        recipes: experiment
            .program
            .iter()
            .filter_map(|program| recipe::named_by(&program.run))
            .map(str::to_owned)
            .collect(),
    }
}

#[cfg(test)]
#[path = "experiment_tests.rs"]
mod tests;
