//! Several workloads: policies and workloads as one matrix.

use super::comparison::{named_after, policies, spec};
use super::joint::yardstick;
use super::{Optimum, Sim};
use crate::failure::bad_input;
use crate::machines::simulated::read;
use crate::progress::Progress;
use crate::terminal::columns;
use crate::text::{json_line, plain};
use anyhow::Context;
use isobar_lab::{BASE, Comparison, Joint, across, across_table, joints_table};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs every workload under every policy and prints what each policy gains over stock Linux.
///
/// # Errors
/// Bad input: a workload, a policy, a setting; `linux` missing; what only one workload can be asked
/// for.
pub fn compare(files: &[PathBuf], args: &Sim, out: &mut dyn Write) -> anyhow::Result<()> {
    let policies = policies(args)?;
    if !policies.iter().any(|(name, _)| name == BASE) {
        let asked = args.policy.join(",");
        return Err(bad_input(format!(
            "--policy {asked}: several workloads are compared against `{BASE}`: expected --policy {BASE},{asked}"
        )));
    }
    if args.optimum == Some(Optimum::Mappings) {
        return Err(bad_input(
            "--optimum: ranks the mappings of one workload: expected one workload, or --optimum joint",
        ));
    }
    if let Some(twice) = (1..files.len()).find(|at| files[..*at].contains(&files[*at])) {
        return Err(bad_input(format!("{}: is named twice: name each workload once", files[twice].display())));
    }
    // All of them before the first minute of work.
    let workloads = files.iter().map(|file| Ok((file, read(file)?))).collect::<anyhow::Result<Vec<_>>>()?;
    let names = names(files);
    let mut compared: Vec<(String, Comparison)> = Vec::new();
    let mut joints: Vec<(String, f64, Joint)> = Vec::new();
    for ((file, workload), name) in workloads.into_iter().zip(names) {
        let progress = Progress::of("runs");
        progress.busy(&name);
        let spec = spec(workload, args);
        let done = isobar_lab::compare_with(&spec, &policies, &|done, all| progress.tell(done, all));
        progress.end();
        let done = done.map_err(|error| named_after(file, error))?;
        if args.optimum == Some(Optimum::Joint) {
            let joint = yardstick(&spec.workload, args).map_err(|error| named_after(file, error))?;
            let linux = done.policies.iter().find(|row| row.policy == BASE).map_or(f64::NAN, |row| row.summary.antt);
            joints.push((name.clone(), linux, joint.against(&done)));
        }
        compared.push((name, done));
    }
    let matrix = across(&compared).context("a policy has no figure to compare: its programs never completed")?;
    if !args.json {
        let optimum = if joints.is_empty() { String::new() } else { joints_table(&joints) };
        return Ok(write!(out, "{}{optimum}", across_table(&matrix, columns()))?);
    }
    let runs: Vec<_> = compared.iter().map(|(_, run)| run).collect();
    let mut document = json!({
        "seed": args.seed,
        "repeat": args.repeat,
        "workloads": matrix.workloads,
        "all": matrix.all,
        "comparisons": runs,
    });
    if !joints.is_empty() {
        document["joint"] = joints.iter().map(|(_, _, joint)| serde_json::to_value(joint)).collect::<Result<_, _>>()?;
    }
    Ok(writeln!(out, "{}", json_line(&document))?)
}

/// Workloads by the names of their files, without folder and ending where that is unambiguous.
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
