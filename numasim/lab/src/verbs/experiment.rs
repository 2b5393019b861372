//! `numasim experiment`: boots side by side, then the table.

use super::{print, progress};
use crate::args::ExperimentArgs;
use numasim_lab::boot::{self, Host, Task, boot};
use numasim_lab::ending::Ending;
use numasim_lab::experiment::{Contender, Experiment};
use numasim_lab::image::Contents;
use numasim_lab::plan::{self, Options};
use numasim_lab::scratch::Scratch;
use numasim_lab::summary::{Boot, Summary, summary};
use numasim_lab::{LabError, machine, recipe, report};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

/// Runs an experiment, or one after another where programs run one at a time. 1 where a boot or a
/// run did not count.
pub fn run(args: &ExperimentArgs, interrupted: &AtomicBool) -> Result<u8, LabError> {
    let shown = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).map_err(|error| LabError::input(&shown, error.to_string()))?;
    let mut experiment = Experiment::parse(&text, &shown)?;
    experiment.repeats = args.repeats.unwrap_or(experiment.repeats);
    experiment.choose(&args.program).map_err(|problem| LabError::input(&shown, problem))?;
    known(&experiment, &args.only).map_err(|problem| LabError::input(&shown, problem))?;
    experiment.seed = args.seed.unwrap_or(experiment.seed);
    let machine = machine::named(&beside(&experiment.machine, &args.file), experiment.scale)?;
    let options = Options { only: args.only.clone(), plain: args.plain };
    let each = experiment.apart();
    let orders = |each: &Experiment| {
        let orders = (0..each.repeats).map(|repeat| plan::order(each, &machine.spec, repeat, &options));
        orders.collect::<Result<Vec<_>, _>>().map_err(|problem| LabError::input(&shown, problem))
    };
    let each = each.iter().map(|each| Ok((each, orders(each)?))).collect::<Result<Vec<_>, LabError>>()?;

    let host = Host::new(machine.clone(), &contents(&experiment, args), args.plain, experiment.boot_limit_seconds)?;
    let host = host.keeping(args.keep.is_some()).kernel_scaled(experiment.scaled_kernel);
    let scratch = Scratch::new()?;
    let folder = args.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    let mut code = 0;
    for (one, orders) in &each {
        let folder = if experiment.one_at_a_time { folder.join(programs(one)) } else { folder.clone() };
        let boots = boots(&host, orders, one.seed, &folder, args.jobs, interrupted)?;
        let result = summary(one, &args.only, (host.spec.time_scale, host.spec.cache_scale), &boots);
        code |= u8::from(!result.problems.is_empty());
        show(args, &result, experiment.one_at_a_time.then(|| programs(one)))?;
    }
    Ok(code)
}

/// Whether each part of a name that is asked for is one of a contender.
fn known(experiment: &Experiment, only: &[String]) -> Result<(), String> {
    let names: Vec<String> = experiment.contender.iter().map(Contender::name).collect();
    match only.iter().find(|part| !names.iter().any(|name| name.contains(part.as_str()))) {
        Some(part) => Err(format!("--only: no contender's name contains `{part}`; there are {}", names.join(", "))),
        None => Ok(()),
    }
}

/// The programs that are measured, as the name of a folder.
fn programs(experiment: &Experiment) -> String {
    let measured = experiment.program.iter().filter(|program| !program.background);
    measured.map(|program| program.name.as_str()).collect::<Vec<_>>().join("-")
}

/// Prints a table, or one line of JSON, and writes the figures; those of one of several go into a
/// folder of their own.
fn show(args: &ExperimentArgs, result: &Summary, apart: Option<String>) -> Result<(), LabError> {
    let json = || serde_json::to_string(result).unwrap_or_default() + "\n";
    print(&if args.json { json() } else { report::text(result) });
    let folder = args.svg.as_ref().map(|svg| apart.map_or_else(|| svg.clone(), |apart| svg.join(apart)));
    folder.map_or(Ok(()), |folder| figures(&folder, &report::figures(result)))
}

/// A machine file lies beside the experiment that names it.
fn beside(machine: &str, experiment: &Path) -> String {
    let folder = experiment.parent().filter(|_| machine.ends_with(".toml"));
    folder.map_or_else(|| machine.to_owned(), |folder| folder.join(machine).display().to_string())
}

/// What the guest needs for the programs and contenders that are asked for.
fn contents(experiment: &Experiment, args: &ExperimentArgs) -> Contents {
    let chosen = plan::contenders(experiment, &args.only);
    let folder = args.host_files.as_deref().or(args.file.parent()).unwrap_or(Path::new("."));
    Contents {
        packages: chosen.iter().filter_map(|one| one.package()).map(str::to_owned).collect(),
        tools: chosen.iter().any(|one| matches!(one, Contender::Numad { .. } | Contender::Numactl { .. })),
        add: Vec::new(),
        files: experiment.host_files().iter().map(|name| folder.join(name)).collect(),
        recipes: experiment
            .program
            .iter()
            .filter_map(|program| recipe::named_by(&program.run))
            .map(str::to_owned)
            .collect(),
    }
}

/// All boots, `jobs` at a time; in the order of repeats, whatever ends first.
fn boots(
    host: &Host,
    orders: &[numasim_guest::wire::Order],
    seed: u64,
    folder: &Path,
    jobs: u32,
    interrupted: &AtomicBool,
) -> Result<Vec<Boot>, LabError> {
    let (next, all_done) = (AtomicU32::new(0), AtomicBool::new(false));
    let progress = || progress::tell(folder, orders, &all_done);
    let done: Mutex<Vec<Result<Boot, LabError>>> = Mutex::new(Vec::new());
    let work = || {
        while let Some((repeat, order)) = take(&next, orders) {
            let booted = one(host, (repeat, seed), order, &folder.join(boot::folder(repeat)), interrupted);
            let failed = booted.is_err();
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(booted);
            if failed {
                next.store(u32::MAX / 2, Ordering::Relaxed); // nothing more is begun
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(progress);
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let panicked = workers.into_iter().find_map(|worker| worker.join().err());
        // The thread that reports progress must end whatever came of the workers, or the scope
        // would wait for ever.
        all_done.store(true, Ordering::Relaxed);
        if let Some(panic) = panicked {
            std::panic::resume_unwind(panic);
        }
    });
    let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut boots = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    boots.sort_by_key(|boot| boot.repeat);
    Ok(boots)
}

fn take<'a, T>(next: &AtomicU32, all: &'a [T]) -> Option<(u32, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    all.get(usize::try_from(at).ok()?).map(|one| (at, one))
}

fn one(
    host: &Host,
    (repeat, seed): (u32, u64),
    order: &numasim_guest::wire::Order,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<Boot, LabError> {
    let began = Instant::now();
    let booted = boot(host, &Task::Order { order, seed: seed + u64::from(repeat) }, folder, interrupted)?;
    let words = booted.ending.in_words(host.limit_seconds);
    let runs = plan::runs(order);
    eprintln!("boot {}: {runs} runs in {:.0} s: {words}", repeat + 1, began.elapsed().as_secs_f64());
    let problem = (booted.ending != Ending::Done).then_some(words);
    Ok(Boot { repeat, order: order.clone(), lines: booted.remains.lines, problem })
}

fn figures(folder: &Path, figures: &[(String, String)]) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|error| LabError::io(folder, error))?;
    for (name, svg) in figures {
        let path = folder.join(name);
        std::fs::write(&path, svg).map_err(|error| LabError::io(&path, error))?;
    }
    Ok(())
}
