//! Writes a sweep as a Slurm job array (sbatch(1)). Every task runs its part of the jobs that have
//! no result yet, so that the array can be submitted again until all are done. This module writes a
//! script and submits nothing.

use super::Sweep;
use crate::failure::bad_input;
use crate::text::plain;
use anyhow::Context;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Number of tasks in an array if none is given. The usual limit of a cluster is 1000.
const TASKS: usize = 100;

/// Writes the script.
///
/// # Errors
/// If it cannot be written.
pub fn write(folder: &Path, args: &Sweep, jobs: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    fs::create_dir_all(folder.join("log")).map_err(|error| {
        bad_input(format!("--slurm {}: {error}: expected a folder, or a place where one can be made", folder.display()))
    })?;
    let whole = |path: &Path| fs::canonicalize(path).with_context(|| path.display().to_string());
    let tasks = args.tasks.map_or(TASKS, |tasks| usize::try_from(tasks).unwrap_or(TASKS)).min(jobs);
    let results = args.folder();
    fs::create_dir_all(&results).with_context(|| results.display().to_string())?;
    let script = Script {
        isobar: std::env::current_exe()?,
        file: whole(&args.file)?,
        results: whole(&results)?,
        log: whole(&folder.join("log"))?,
        here: std::env::current_dir()?,
        tasks,
    };
    let path = folder.join("sweep.sbatch");
    fs::write(&path, script.text()?).with_context(|| path.display().to_string())?;
    let path = plain(&path.to_string_lossy()).into_owned();
    writeln!(out, "{jobs} jobs in {tasks} tasks: sbatch {path}")?;
    Ok(writeln!(
        out,
        "then: isobar sweep {} -o {} --merge",
        plain(&args.file.to_string_lossy()),
        plain(&results.to_string_lossy())
    )?)
}

struct Script {
    isobar: PathBuf,
    file: PathBuf,
    results: PathBuf,
    log: PathBuf,
    here: PathBuf,
    tasks: usize,
}

impl Script {
    fn text(&self) -> anyhow::Result<String> {
        let Self { isobar, file, results, log, here, tasks } = self;
        // sbatch reads each option up to the next space and does not interpret quotes.
        let option = |path: &Path| {
            let text = path.to_string_lossy().into_owned();
            let plain = text.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"\"'\\%".contains(c));
            plain.then_some(text).ok_or_else(|| {
                bad_input(format!("{}: Slurm takes no folder with spaces or quotes in its name", path.display()))
            })
        };
        let (log, here) = (option(log)?, option(here)?);
        let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"));
        Ok(format!(
            "#!/bin/bash
# Written by `isobar sweep --slurm`. Submit it with sbatch, again where tasks were cut off: what is
# done is not run again. Add what your cluster wants (--partition, --account, --time, --mem).
#SBATCH --job-name=isobar-sweep
#SBATCH --array=1-{tasks}
#SBATCH --cpus-per-task=1
#SBATCH --output={log}/%A_%a.txt
#SBATCH --chdir={here}
exec {} sweep {} --output {} --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\"
",
            quoted(isobar),
            quoted(file),
            quoted(results)
        ))
    }
}
