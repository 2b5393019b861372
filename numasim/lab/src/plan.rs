//! Turns an experiment into the orders of its boots. Each boot first runs every program alone,
//! except programs that bind their own threads, and then all contenders. The order of contenders
//! rotates from boot to boot, so that each of them runs late in some boots. Pure.

use crate::experiment::{Bind, Contender, Experiment, Program};
use crate::place;
use numasim_guest::wire::{Daemon, Job, Order, Regime, Run};
use numasim_model::Spec;
use numasim_model::num;
use std::collections::BTreeMap;

/// Prefix of the id of a run in which a program is alone.
const ALONE: &str = "alone/";
/// Prefix of the id of a contender's run.
const UNDER: &str = "under/";

/// The id of the run in which a program is alone.
#[must_use]
pub fn alone_id(program: &str) -> String {
    format!("{ALONE}{program}")
}

/// The id of a contender's run.
#[must_use]
pub fn under_id(contender: &str) -> String {
    format!("{UNDER}{contender}")
}

/// The contender of a run, by the run's id.
#[must_use]
pub fn contender_of(id: &str) -> &str {
    id.strip_prefix(UNDER).unwrap_or(id)
}

/// The program of a job. Jobs of several instances are called `name#1`, `name#2`.
#[must_use]
pub fn program_of(job: &str) -> &str {
    job.split_once('#').map_or(job, |(program, _)| program)
}

/// How the runs of an experiment are carried out.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Contenders run if their names contain one of these; empty: all run. The baseline always
    /// runs.
    pub only: Vec<String>,
    /// Whether the plugin is left out. Daemons then get their files for that case, and times mean
    /// nothing.
    pub plain: bool,
}

/// The order of a boot; `repeat` counts boots from 0.
///
/// # Errors
/// A place does not exist on the machine; the line has the key, the problem and the remedy.
pub fn order(experiment: &Experiment, spec: &Spec, repeat: u32, options: &Options) -> Result<Order, String> {
    let measured = experiment.program.iter().filter(|program| !program.background && program.each_thread_on.is_none());
    let alone = measured.map(|program| alone(experiment, spec, program)).collect::<Result<Vec<_>, _>>()?;
    let chosen = contenders(experiment, &options.only);
    let turn = rotation(experiment.seed, repeat, chosen.len());
    let (late, early) = chosen.split_at(turn);
    let under = early.iter().chain(late).map(|contender| under(experiment, spec, contender, options));
    let under = under.collect::<Result<Vec<_>, _>>()?;
    let runs = alone.into_iter().chain(under).collect();
    Ok(Order { modelled: !options.plain, limit_seconds: experiment.limit_seconds, runs })
}

/// The wanted contenders, which always include the baseline.
#[must_use]
pub fn contenders<'a>(experiment: &'a Experiment, only: &[String]) -> Vec<&'a Contender> {
    let baseline = experiment.baseline();
    let wanted =
        |name: &str| only.is_empty() || name == baseline || only.iter().any(|part| name.contains(part.as_str()));
    experiment.contender.iter().filter(|contender| wanted(&contender.name())).collect()
}

/// Index of the contender that comes first in a boot.
fn rotation(seed: u64, repeat: u32, count: usize) -> usize {
    let count = u64::try_from(count).unwrap_or(1).max(1);
    usize::try_from(seed.wrapping_add(u64::from(repeat)) % count).unwrap_or(0)
}

/// A program alone, with memory and CPUs on the first node, and nothing else running: the reference
/// for slowdowns.
fn alone(experiment: &Experiment, spec: &Spec, program: &Program) -> Result<Run, String> {
    let cpus = place::first(spec)?;
    let job = Job {
        name: program.name.clone(),
        argv: words(&program.run),
        setup_cpus: cpus.clone(),
        begin_cpus: None,
        run_cpus: Some(cpus),
        background: false,
        placed_by_hand: false,
    };
    let regime = Regime { no_huge_pages: !experiment.huge_pages, ..Regime::default() };
    Ok(Run { id: alone_id(&program.name), regime, ways: Vec::new(), jobs: vec![job] })
}

fn under(experiment: &Experiment, spec: &Spec, contender: &Contender, options: &Options) -> Result<Run, String> {
    let mut jobs = Vec::new();
    for program in &experiment.program {
        for at in 1..=program.instances {
            let hand = hand(contender, &program.name, at);
            let node = hand.and_then(|bind| bind.cpus_of);
            node.map(|node| place::of_node(spec, "contender.bind.cpus_of", node)).transpose()?;
            let job = job(spec, program, hand)?;
            let name = if program.instances == 1 { program.name.clone() } else { format!("{}#{at}", program.name) };
            jobs.push(Job { name, begin_cpus: begin(program, &job, at), ..job });
        }
    }
    let regime = Regime {
        no_huge_pages: !experiment.huge_pages,
        resctrl: experiment.resctrl && !options.plain,
        ..regime(experiment, contender, options)
    };
    Ok(Run { id: under_id(&contender.name()), regime, ways: Vec::new(), jobs })
}

/// The CPUs where an instance (from 1) begins. Of several instances, each begins on one CPU of the
/// list, in turn.
fn begin(program: &Program, job: &Job, instance: u32) -> Option<Vec<u32>> {
    let all = job.begin_cpus.clone()?;
    let turn = num::index(instance.saturating_sub(1)) % all.len().max(1);
    if program.instances == 1 { Some(all) } else { all.get(turn).map(|cpu| vec![*cpu]) }
}

/// The place to which numactl binds an instance (from 1) of a program by hand.
fn hand<'a>(contender: &'a Contender, program: &str, instance: u32) -> Option<&'a Bind> {
    let Contender::Numactl { bind, bind_each, .. } = contender else { return None };
    let turn = num::index(instance.saturating_sub(1));
    let each = bind_each.get(program).and_then(|each| each.get(turn % each.len().max(1)));
    each.or_else(|| bind.get(program))
}

fn job(spec: &Spec, program: &Program, hand: Option<&Bind>) -> Result<Job, String> {
    let list = |key: &str, text: &Option<String>| text.as_deref().map(|text| place::list(spec, key, text)).transpose();
    let (begin_cpus, run_cpus) =
        (list("program.begin_on", &program.begin_on)?, list("program.run_on", &program.run_on)?);
    let each_on = list("program.each_thread_on", &program.each_thread_on)?;
    let mut command = words(&program.run);
    command.extend(each_on.iter().flat_map(|cpus| ["--each-on".to_owned(), numbers(cpus)]));
    let argv = match hand {
        Some(bind) => ["numactl".to_owned()].into_iter().chain(bind.words()).chain(command).collect(),
        None => command,
    };
    Ok(Job {
        name: program.name.clone(),
        argv,
        setup_cpus: place::setup(spec, program)?,
        begin_cpus,
        run_cpus,
        background: program.background,
        placed_by_hand: hand.is_some() || each_on.is_some(),
    })
}

/// The words of a command. Experiments name a program by its path if the guest's shell has a
/// command of the same name (`sort`).
fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

/// CPUs in the form that the programs read.
fn numbers(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn regime(experiment: &Experiment, contender: &Contender, options: &Options) -> Regime {
    match contender {
        Contender::Linux { numa_balancing, before, .. } => {
            let before = before.as_deref().map(words).unwrap_or_default();
            Regime { numa_balancing: *numa_balancing, before, ..Regime::default() }
        }
        Contender::Numactl { .. } => Regime::default(),
        Contender::Numad { interval_seconds, .. } => {
            Regime { daemon: Some(numad(experiment, *interval_seconds)), ..Regime::default() }
        }
        Contender::Daemon { run, numa_balancing, bring, .. } => {
            let daemon = Some(Daemon { bring: bring.clone(), ..daemon(experiment, run, options.plain) });
            Regime { numa_balancing: *numa_balancing, daemon, ..Regime::default() }
        }
    }
}

fn daemon(experiment: &Experiment, run: &str, plain: bool) -> Daemon {
    let mut files = experiment.files.clone();
    files.extend(experiment.plain_files.clone().into_iter().filter(|_| plain));
    Daemon { argv: words(run), files, lead_seconds: experiment.lead_seconds, ..Daemon::default() }
}

/// Starts numad. It leaves the foreground, and it ignores processes of less than 300 MB unless they
/// are named (numad(8), `-p`).
fn numad(experiment: &Experiment, interval_seconds: u32) -> Daemon {
    let argv = ["numad", "-i", &format!("{interval_seconds}:{interval_seconds}"), "{pids}"].map(str::to_owned);
    Daemon {
        argv: argv.to_vec(),
        files: BTreeMap::new(),
        lead_seconds: experiment.lead_seconds,
        log_file: Some("/var/log/numad.log".to_owned()),
        pid_file: Some("/var/run/numad.pid".to_owned()),
        bring: Vec::new(),
    }
}

/// Number of runs of a boot.
#[must_use]
pub fn runs(order: &Order) -> u32 {
    num::narrow(order.runs.len())
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
