//! Compares policies on several workloads, as a matrix of policies and workloads.

use super::comparison::{makers, named, named_after, spec, tell_costs};
use super::joint::yardstick;
use super::{Optimum, Sim};
use crate::deciders::Maker;
use crate::failure::bad_input;
use crate::machines::simulated::read;
use crate::progress::Progress;
use crate::terminal::columns;
use crate::text::{json_line, plain, plural};
use anyhow::Context;
use isobar_lab::{BASE, CompareSpec, Comparison, Joint, LabError, PolicyMatrix, across, across_table, joints_table};
use isobar_runtime::settings::Config;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs every workload under every policy and prints what each policy gains over stock Linux.
///
/// # Errors
/// Bad input: a workload, a policy or a setting; `linux` is missing; or an option that is possible
/// with one workload only.
pub fn compare(files: &[PathBuf], args: &Sim, out: &mut dyn Write) -> anyhow::Result<()> {
    let makers = makers(&args.policy, &args.sets.config()?)?;
    if !makers.iter().any(|(name, _)| name == BASE) {
        let asked = args.policy.join(",");
        return Err(bad_input(format!(
            "--policy {asked}: several workloads are compared against `{BASE}`: expected --policy {BASE},{asked}"
        )));
    }
    if let Some(policy) = &args.timeline {
        return Err(bad_input(format!("--timeline {policy}: shows one run of one workload: expected one workload")));
    }
    if args.optimum == Some(Optimum::Mappings) {
        return Err(bad_input(
            "--optimum: ranks the mappings of one workload: expected one workload, or --optimum joint",
        ));
    }
    if let Some(twice) = (1..files.len()).find(|at| files[..*at].contains(&files[*at])) {
        return Err(bad_input(format!("{}: is named twice: name each workload once", files[twice].display())));
    }
    // All workloads are read before the first minute of work.
    let workloads = files.iter().map(|file| Ok((file, read(file)?))).collect::<anyhow::Result<Vec<_>>>()?;
    let names = names(files);
    let mut joints: Vec<(String, f64, Joint)> = Vec::new();
    let tasks = workloads.into_iter().zip(names).map(|((file, workload), name)| {
        let spec = spec(workload, args);
        (Some(file.as_path()), Task { name, spec })
    });
    let mut each = |file: Option<&Path>, task: &Task, done: &Comparison| {
        if args.optimum == Some(Optimum::Joint) {
            let joint = yardstick(&task.spec.workload, args).map_err(|error| of_file(file, error))?;
            let linux = done.policies.iter().find(|row| row.policy == BASE).map_or(f64::NAN, |row| row.summary.antt);
            joints.push((task.name.clone(), linux, joint.against(done)));
        }
        Ok(())
    };
    let compared = all(tasks.collect(), &makers, &mut each)?;
    let page = |document: &Value| {
        let title = plural(compared.len(), "workload");
        args.report(document.clone(), Path::new(&title), Vec::new(), || Ok(None))
    };
    show(&compared, &joints, args.seed, args.repeat, args.json, &page, out)
}

/// A workload with its name.
pub struct Task {
    /// The name that is shown.
    pub name: String,
    /// The comparison to make with it.
    pub spec: CompareSpec,
}

/// Runs workloads that come from no file under every policy, and prints what each policy gains over
/// stock Linux, which must be among the policies.
///
/// # Errors
/// Bad input: a policy or a setting.
pub fn compare_all(
    tasks: Vec<Task>,
    policies: &[String],
    config: &Config,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let makers = makers(policies, config)?;
    let (seed, repeat) = tasks.first().map_or((1, 1), |task| (task.spec.seed, task.spec.repeat));
    let tasks = tasks.into_iter().map(|task| (None, task)).collect();
    let compared = all(tasks, &makers, &mut |_, _, _| Ok(()))?;
    show(&compared, &[], seed, repeat, json, &|_| Ok(()), out)
}

/// An additional step after a workload was compared.
type DecisionCost<'a> = &'a mut dyn FnMut(Option<&Path>, &Task, &Comparison) -> anyhow::Result<()>;

fn all(
    tasks: Vec<(Option<&Path>, Task)>,
    makers: &[(String, Maker)],
    each: DecisionCost<'_>,
) -> anyhow::Result<Vec<(String, Comparison)>> {
    let policies = named(makers);
    let mut compared = Vec::new();
    for (file, task) in tasks {
        let progress = Progress::of("runs");
        progress.busy(&task.name);
        let done = isobar_lab::compare_with(&task.spec, &policies, &|done, all| progress.notify(done, all));
        progress.end();
        let done = done.map_err(|error| of_file(file, error))?;
        each(file, &task, &done)?;
        compared.push((task.name, done));
    }
    tell_costs(makers);
    Ok(compared)
}

fn of_file(file: Option<&Path>, error: LabError) -> anyhow::Error {
    match file {
        Some(file) => named_after(file, error),
        None => error.into(),
    }
}

fn show(
    compared: &[(String, Comparison)],
    joints: &[(String, f64, Joint)],
    seed: u64,
    repeat: u32,
    json: bool,
    page: &dyn Fn(&Value) -> anyhow::Result<()>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let matrix = across(compared).context("a policy has no figure to compare: its programs never completed")?;
    let mut document = document(seed, repeat, &matrix, compared);
    if !joints.is_empty() {
        document["joint"] = joints.iter().map(|(_, _, joint)| serde_json::to_value(joint)).collect::<Result<_, _>>()?;
    }
    page(&document)?;
    if !json {
        let optimum = if joints.is_empty() { String::new() } else { joints_table(joints) };
        return Ok(write!(out, "{}{optimum}", across_table(&matrix, columns()))?);
    }
    Ok(writeln!(out, "{}", json_line(&document))?)
}

/// The whole result as JSON.
fn document(seed: u64, repeat: u32, matrix: &PolicyMatrix, compared: &[(String, Comparison)]) -> Value {
    let runs: Vec<_> = compared.iter().map(|(_, run)| run).collect();
    json!({
        "seed": seed,
        "repeat": repeat,
        "workloads": matrix.workloads,
        "all": matrix.all,
        "comparisons": runs,
    })
}

/// Names the workloads after their files, without folder and ending if that is unambiguous.
fn names(files: &[PathBuf]) -> Vec<String> {
    let stem = |file: &Path| file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let short: Vec<_> = files.iter().map(|file| stem(file)).collect();
    let apart = short.iter().collect::<BTreeSet<_>>().len() == files.len();
    let whole = files.iter().map(|file| file.display().to_string());
    let names = if apart { short } else { whole.collect() };
    names.iter().map(|name| plain(name).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_where_that_tells_workloads_apart() {
        let of = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["a/one.toml", "b/two.toml"]), ["one", "two"]);
        assert_eq!(of(&["a/one.toml", "b/one.toml"]), ["a/one.toml", "b/one.toml"]);
    }
}
