//! Merges the results of a sweep into one table. It knows what each kind of job prints; it runs
//! nothing.

use super::jobs::{Job, Kind};
use crate::failure::bad_input;
use crate::text::json_line;
use anyhow::Context;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// A row: the columns of its grid point, then its figures.
type Row = Map<String, Value>;

/// The policy that simulations are compared with.
const BASE: &str = isobar_lab::BASE;

/// Prints the results. Returns how many jobs have none.
///
/// # Errors
/// A result that does not come from a job, or output that cannot be written.
pub fn merge(jobs: &[Job], folder: &Path, json: bool, out: &mut dyn Write) -> anyhow::Result<usize> {
    let (mut rows, mut missing) = (Vec::new(), 0);
    for job in jobs {
        match fs::read_to_string(job.result(folder)) {
            Ok(text) => rows.extend(rows_of(job, &text).with_context(|| job.result(folder).display().to_string())?),
            Err(error) if error.kind() == ErrorKind::NotFound => missing += 1,
            Err(error) => return Err(bad_input(format!("{}: cannot be read: {error}", job.result(folder).display()))),
        }
    }
    measure(&mut rows, jobs);
    if json {
        rows.iter().try_for_each(|row| writeln!(out, "{}", json_line(&Value::Object(row.clone()))))?;
    } else {
        csv(&rows, out)?;
    }
    Ok(missing)
}

/// The rows of a job: for each line that it printed, the rows in that line.
fn rows_of(job: &Job, text: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let mut document: Row =
            serde_json::from_str(line).context("is not the result of a job: remove it, and the job is run again")?;
        let inner = match job.kind {
            Kind::Sim => document.remove("policies"),
            Kind::Numasim => document.remove("rows"),
            Kind::Study => None,
        };
        let inner = match inner {
            Some(Value::Array(inner)) => inner,
            _ => vec![Value::Object(document)],
        };
        let mut point =
            Row::from_iter([("job".to_owned(), job.name.clone().into()), ("kind".to_owned(), job.kind.name().into())]);
        point.extend(job.parameters.clone());
        rows.extend(
            inner
                .into_iter()
                .filter_map(|row| if let Value::Object(row) = row { Some(joined(&point, row)) } else { None }),
        );
    }
    Ok(rows)
}

/// The grid point followed by the figures. If both have a key, the value of the parameter is kept.
fn joined(point: &Row, figures: Row) -> Row {
    let mut row = point.clone();
    for (key, value) in figures {
        row.entry(key).or_insert(value);
    }
    row
}

/// Adds the improvement of each simulation over stock Linux with the same workload, seed and
/// schedules, as `sim` prints it, if that run was among the jobs.
fn measure(rows: &mut [Row], jobs: &[Job]) {
    let alike: BTreeMap<&str, Vec<&OsString>> = jobs.iter().map(|job| (&*job.name, but_for_policy(job))).collect();
    let key = |row: &Row| Some((alike.get(row.get("job")?.as_str()?)?, row.get("seed")?.to_string()));
    let is_base = |row: &&Row| row.get("policy").and_then(Value::as_str) == Some(BASE);
    let base: BTreeMap<_, _> = rows.iter().filter(is_base).filter_map(|row| Some((key(row)?, seconds(row)))).collect();
    for row in rows.iter_mut().filter(|row| row.get("kind").and_then(Value::as_str) == Some(Kind::Sim.name())) {
        let gain = key(row).and_then(|key| mean_gain(&seconds(row), base.get(&key)?));
        row.insert("vs_linux_percent".to_owned(), gain.into());
    }
}

/// The arguments of a job without its policy and the settings of the policy, of which stock Linux
/// has none. Workloads of the same name in two folders remain distinct.
fn but_for_policy(job: &Job) -> Vec<&OsString> {
    let is_policy =
        |word: &&OsString| ["--policy=", "--set="].iter().any(|key| word.to_string_lossy().starts_with(key));
    job.arguments.iter().filter(|word| !is_policy(word)).collect()
}

/// The completion times of the applications.
fn seconds(row: &Row) -> Vec<f64> {
    let apps = row.get("apps").and_then(Value::as_array);
    apps.into_iter().flatten().filter_map(|app| app.get("seconds")?.as_f64()).collect()
}

fn mean_gain(seconds: &[f64], base: &[f64]) -> Option<f64> {
    if seconds.len() != base.len() || base.is_empty() {
        return None;
    }
    let gains: f64 = seconds.iter().zip(base).map(|(now, base)| 100.0 * (1.0 - now / base)).sum();
    Some(gains / isobar_model::num::float_len(base.len()))
}

/// Prints columns in the order in which they first occur. Lists and tables are printed in JSON
/// only.
fn csv(rows: &[Row], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut columns: Vec<&String> = Vec::new();
    for row in rows {
        for (key, value) in row {
            if !value.is_array() && !value.is_object() && !columns.contains(&key) {
                columns.push(key);
            }
        }
    }
    let mut table = csv::Writer::from_writer(out);
    if !columns.is_empty() {
        table.write_record(&columns)?;
    }
    for row in rows {
        table.write_record(columns.iter().map(|column| cell(row.get(*column))))?;
    }
    Ok(table.flush()?)
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobs::Draft;
    use super::*;

    fn job(policy: &str) -> Job {
        job_on("a/w.toml", policy)
    }

    fn job_on(workload: &str, policy: &str) -> Job {
        let mut draft = Draft::of(Kind::Sim);
        draft.file("workload", Path::new(workload), &[workload.to_owned()]);
        draft.parameter("policy", policy).parameter("seed", 1);
        draft.argument(workload).argument(format!("--policy={policy}"));
        draft.finish(None)
    }

    fn result(antt: f64, seconds: [f64; 2]) -> String {
        format!(
            r#"{{"seed":1,"policies":[{{"policy":"x","antt":{antt},"vs_linux_percent":null,"apps":[{{"seconds":{}}},{{"seconds":{}}}]}}]}}"#,
            seconds[0], seconds[1]
        )
    }

    #[test]
    fn workloads_of_one_name_in_two_folders_are_measured_each_against_its_own_linux() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("jobs")).unwrap();
        let jobs = ["linux", "dino"].map(|policy| ["a/w.toml", "b/w.toml"].map(|file| job_on(file, policy))).concat();
        for (job, seconds) in jobs.iter().zip([10.0, 100.0, 9.0, 90.0]) {
            fs::write(job.result(folder.path()), result(1.0, [seconds; 2])).unwrap();
        }
        let mut text = Vec::new();
        assert_eq!(merge(&jobs, folder.path(), false, &mut text).unwrap(), 0);
        let text = String::from_utf8(text).unwrap();
        let gains: Vec<f64> =
            text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
        assert_eq!(gains.iter().map(|gain| gain.round()).collect::<Vec<_>>(), [0.0, 0.0, 10.0, 10.0]);
    }

    #[test]
    fn results_become_a_table_with_the_gain_over_linux_and_what_is_missing_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("jobs")).unwrap();
        let jobs = [job("linux"), job("dino"), job("isobar")];
        fs::write(jobs[0].result(folder.path()), result(2.25, [10.0, 20.0])).unwrap();
        fs::write(jobs[1].result(folder.path()), result(1.5, [5.0, 25.0])).unwrap();
        let mut text = Vec::new();
        assert_eq!(merge(&jobs, folder.path(), false, &mut text).unwrap(), 1);
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "job,kind,workload,policy,seed,antt,vs_linux_percent");
        assert_eq!(lines[1], format!("{},sim,w,linux,1,2.25,0.0", jobs[0].name));
        assert_eq!(lines[2], format!("{},sim,w,dino,1,1.5,12.5", jobs[1].name));
        fs::write(jobs[2].result(folder.path()), "half a li").unwrap();
        let error = merge(&jobs, folder.path(), false, &mut Vec::new()).unwrap_err();
        assert!(format!("{error:#}").contains("is not the result of a job"), "{error:#}");
    }
}
