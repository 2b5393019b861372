//! Compares policies on a simulated machine.

use super::joint::yardstick;
use super::{Optimum, Sim};
use crate::deciders::{self, Maker, Place};
use crate::failure::bad_input;
use crate::input;
use crate::machines::simulated::read;
use crate::progress::Progress;
use crate::text::json_line;
use crate::verbs::report::Timed;
use isobar_lab::{BASE, CompareSpec, Comparison, LabError, MOST_MAPPINGS, Mapping, NamedPolicy};
use isobar_runtime::policies;
use isobar_runtime::settings::Config;
use isobar_sim::Workload;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// Runs the workload under every policy and prints the comparison.
///
/// # Errors
/// Bad input: the workload, a policy, a setting.
pub fn compare(file: &Path, args: &Sim, out: &mut dyn Write) -> anyhow::Result<()> {
    let makers = makers(&args.policy, &args.sets.config()?)?;
    let policies = named(&makers);
    let shown = timeline(args, &policies)?;
    if args.time_limit.is_some() && args.optimum == Some(Optimum::Mappings) {
        return Err(bad_input("--time-limit: limits the search of `--optimum joint`: give that too"));
    }
    let spec = spec(read(file)?, args);
    let progress = Progress::of("runs");
    let done = run(&spec, &policies, args.optimum == Some(Optimum::Mappings), &progress);
    progress.end();
    let (compared, ranked) = done.map_err(|error| named_after(file, error))?;
    tell_costs(&makers);
    let mut json = serde_json::to_value(&compared)?;
    let mut text = isobar_lab::table(&compared);
    if compared.policies.iter().all(|row| row.vs_linux_percent.is_none()) {
        text.push_str("\nvs linux: not compared, since `linux` is not among the policies of --policy\n");
    }
    if let Some(ranked) = ranked {
        let names: Vec<_> = spec.workload.apps.iter().map(|app| app.name.as_str()).collect();
        text.push_str(&isobar_lab::optimum_table(&ranked, &names));
        json["optimum"] = json!({"mappings": ranked.len(), "best": ranked.first(), "worst": ranked.last()});
    }
    if args.optimum == Some(Optimum::Joint) {
        let joint = yardstick(&spec.workload, args).map_err(|error| named_after(file, error))?.against(&compared);
        text.push_str(&isobar_lab::joint_table(&joint));
        json["joint"] = serde_json::to_value(&joint)?;
    }
    add_notes(&spec.workload, &mut text, &mut json);
    if args.page.asked() {
        let seconds = compared.policies.iter().find(|row| row.policy == shown.0).map_or(0.0, |row| row.seconds);
        let timed = || Timed::run(&spec.workload, spec.seed, shown, seconds).map(Some);
        args.report(json.clone(), file, facts(&spec.workload), timed)?;
    }
    Ok(if args.json { writeln!(out, "{}", json_line(&json)) } else { write!(out, "{text}") }?)
}

/// The policy whose run the page shows over time.
///
/// # Errors
/// Bad input: it is not among the compared policies.
fn timeline<'p, 'a>(args: &Sim, policies: &'p [NamedPolicy<'a>]) -> anyhow::Result<&'p NamedPolicy<'a>> {
    let wanted = args.timeline.as_ref().or(args.policy.last());
    policies.iter().find(|(name, _)| Some(name) == wanted).ok_or_else(|| {
        let wanted = wanted.map_or("", String::as_str);
        bad_input(format!(
            "--timeline {wanted}: is not among the compared policies: expected one of {}",
            args.policy.join(",")
        ))
    })
}

/// The facts about the workload on the page.
fn facts(workload: &Workload) -> Vec<(String, String)> {
    vec![("machine".to_owned(), crate::report::machine_in_words(&workload.machine.topology))]
}

/// The comparison to make with a workload.
pub fn spec(workload: Workload, args: &Sim) -> CompareSpec {
    let (jobs, starts) = (args.jobs.count(), args.schedules.into());
    CompareSpec { workload, seed: args.seed, repeat: args.repeat, starts, jobs }
}

/// The policies that were asked for, each together with the policies of groups. The baseline is
/// plain Linux, without groups.
///
/// # Errors
/// Bad input: a policy that is not known or occurs twice, or a setting.
pub fn makers(names: &[String], config: &Config) -> anyhow::Result<Vec<(String, Maker)>> {
    each_once(names)?;
    let mut without_groups = config.clone();
    without_groups.manage.group.clear();
    let maker = |name: &String| {
        let config = if name == BASE { &without_groups } else { config };
        Ok((name.clone(), deciders::maker(name, config, &input::settings, Place::Apart)?))
    };
    names.iter().map(maker).collect()
}

/// Converts an error of an experiment with a workload. If the workload asks for too much, it is bad
/// input that names the workload's file.
pub fn named_after(file: &Path, error: LabError) -> anyhow::Error {
    match error {
        LabError::Unfinished { .. } | LabError::TooMany { .. } => bad_input(format!("{}: {error}", file.display())),
        error => error.into(),
    }
}

fn run(
    spec: &CompareSpec,
    policies: &[NamedPolicy<'_>],
    optimum: bool,
    progress: &Progress,
) -> Result<(Comparison, Option<Vec<Mapping>>), LabError> {
    // This comes first because it fails early if there are too many mappings.
    let rank = || isobar_lab::optimum(&spec.workload, MOST_MAPPINGS, spec.jobs);
    let ranked = optimum.then(rank).transpose()?;
    Ok((isobar_lab::compare_with(spec, policies, &|done, all| progress.notify(done, all))?, ranked))
}

/// Adds remarks on the programs' numbers.
fn add_notes(workload: &Workload, text: &mut String, json: &mut Value) {
    let notes: BTreeSet<_> = workload.apps.iter().flat_map(|app| app.program.notes()).collect();
    if notes.is_empty() {
        return;
    }
    text.push('\n');
    notes.iter().for_each(|note| text.extend(["note: ", &crate::text::plain(note), "\n"]));
    json["notes"] = notes.into_iter().collect();
}

/// Refuses a list of policies with an empty name or with a policy twice, which is a mistake: it
/// would cost minutes and show nothing more.
fn each_once(policies: &[String]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    for name in policies {
        if name.trim().is_empty() {
            let known = policies::names().join(", ");
            return Err(bad_input(format!("--policy {}: an empty name: expected some of {known}", policies.join(","))));
        }
        if !seen.insert(name) {
            return Err(bad_input(format!("--policy {}: `{name}` occurs twice: name each once", policies.join(","))));
        }
    }
    Ok(())
}

/// The policies by name, each with a function that makes instances for the comparison.
pub fn named(makers: &[(String, Maker)]) -> Vec<NamedPolicy<'_>> {
    makers.iter().map(|(name, maker)| -> NamedPolicy<'_> { (name.clone(), Box::new(|| maker.make())) }).collect()
}

/// Reports what the programs among the policies cost.
pub fn tell_costs(makers: &[(String, Maker)]) {
    makers.iter().for_each(|(_, maker)| maker.tell_costs());
}
