//! Runs the jobs of a sweep as child processes, several at a time. A result file appears complete
//! or not at all, so that a killed sweep can be continued. The jobs end with the sweep.

use super::jobs::Job;
use crate::failure::Ended;
use crate::progress::Progress;
use crate::signals::StopFlag;
use crate::text::{json_line, plain, plural};
use anyhow::Context;
use isobar_linux::launch::{bound, end_group};
use serde_json::json;
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The result of a sweep.
#[derive(Debug)]
pub struct Done {
    before: usize,
    now: usize,
    failed: Vec<String>,
    left: usize,
}

/// How one job ended.
enum End {
    Done,
    Failed,
    Stopped,
}

/// Pause between two checks of a job.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a job that is asked to stop has to end what it started, such as numasim's machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the jobs that have no result yet, `side_by_side` at a time. A failed job does not stop the
/// others.
///
/// # Errors
/// If results cannot be written.
pub fn run(jobs: &[Job], folder: &Path, side_by_side: usize) -> anyhow::Result<Done> {
    for part in ["jobs", "failed"] {
        let path = folder.join(part);
        fs::create_dir_all(&path).with_context(|| format!("{}: cannot be made", path.display()))?;
    }
    let open: Vec<&Job> = jobs.iter().filter(|job| !job.result(folder).exists()).collect();
    let stop = StopFlag::install()?;
    let progress = Progress::of("jobs");
    let before = jobs.len() - open.len();
    let sweep = Sweep { folder, stop: &stop, open: &open, next: AtomicUsize::new(0), ended: Mutex::new(Vec::new()) };
    let done = thread::scope(|scope| {
        let worker = || scope.spawn(|| sweep.work(&|done| progress.notify(before + done, jobs.len())));
        let workers: Vec<_> = (0..side_by_side.clamp(1, open.len().max(1))).map(|_| worker()).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a worker failed"))))
    });
    progress.end();
    done?;
    Ok(sweep.summary(before))
}

struct Sweep<'a> {
    folder: &'a Path,
    stop: &'a StopFlag,
    open: &'a [&'a Job],
    next: AtomicUsize,
    ended: Mutex<Vec<(usize, End)>>,
}

impl Sweep<'_> {
    /// Runs one job after another. The process of a job ends with this thread.
    fn work(&self, progress: &dyn Fn(usize)) -> anyhow::Result<()> {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.open.get(index).filter(|_| !self.stop.is_raised()) else { return Ok(()) };
            let end = self.one(job).with_context(|| job.name.clone())?;
            let mut ended = self.ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            ended.push((index, end));
            progress(ended.len());
        }
    }

    fn one(&self, job: &Job) -> anyhow::Result<End> {
        let (result, failure) = (job.result(self.folder), job.failure(self.folder));
        // Two sweeps of one folder, on machines that share it, must not write to the same file.
        let chance = RandomState::new().build_hasher().finish();
        let beside = |path: &Path| path.with_extension(format!("{chance:016x}.tmp"));
        let (output, complaint) = (Temporary(beside(&result)), Temporary(beside(&failure)));
        let (out, err) = (File::create(&output.0)?, File::create(&complaint.0)?);
        let mut command = match &job.program {
            Some(program) => Command::new(program),
            None => Command::new(std::env::current_exe()?),
        };
        command.args(&job.arguments).stdin(Stdio::null()).stdout(out).stderr(err);
        let ended = bound(&mut command).spawn().and_then(|child| self.end_of(child));
        match ended {
            Ok(None) => Ok(End::Stopped),
            Ok(Some(status)) if status.success() => {
                // A file with its final name is complete, even after a loss of power.
                File::open(&output.0)?.sync_all()?;
                fs::rename(&output.0, &result)?;
                drop(fs::remove_file(&failure));
                Ok(End::Done)
            }
            other => {
                let why = other.map_or_else(
                    |error| error.to_string(),
                    |status| status.map_or_else(String::new, |it| it.to_string()),
                );
                writeln!(File::options().append(true).open(&complaint.0)?, "{why}")?;
                fs::rename(&complaint.0, &failure)?;
                Ok(End::Failed)
            }
        }
    }

    /// Waits for a job; `None` if the sweep was asked to stop, and the job with it.
    fn end_of(&self, mut child: Child) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if self.stop.is_raised() {
                end_group(&mut child, PATIENCE)?;
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }

    fn summary(self, before: usize) -> Done {
        let mut ended = self.ended.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        ended.sort_by_key(|(index, _)| *index);
        let count = |wanted: fn(&End) -> bool| ended.iter().filter(|(_, end)| wanted(end)).count();
        let (now, stopped) = (count(|end| matches!(end, End::Done)), count(|end| matches!(end, End::Stopped)));
        let failed = ended.iter().filter(|(_, end)| matches!(end, End::Failed));
        let failed: Vec<_> = failed.map(|(index, _)| self.open[*index].name.clone()).collect();
        Done { before, now, left: self.open.len() - ended.len() + stopped, failed }
    }
}

/// A file that is deleted when this is dropped, unless it was renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

impl Done {
    /// Reports the result.
    ///
    /// # Errors
    /// If a job failed or some are left: exit code 1.
    pub fn show(&self, folder: &Path, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { before, now, failed, left } = self;
        if json {
            let document = json!({
                "done_before": before, "done_now": now, "failed": failed, "left": left, "folder": folder.to_string_lossy(),
            });
            writeln!(out, "{}", json_line(&document))?;
        } else {
            let folder = plain(&folder.to_string_lossy()).into_owned();
            let left =
                if *left > 0 { format!(", {left} left to do: run the same command again") } else { String::new() };
            writeln!(
                out,
                "{} done, {before} of them earlier; {} failed{left}; results are in {folder}/jobs",
                plural(before + now, "job"),
                failed.len()
            )?;
            failed.iter().try_for_each(|name| writeln!(out, "failed: {folder}/failed/{name}.txt"))?;
        }
        if failed.is_empty() && self.left == 0 { Ok(()) } else { Err(Ended::of(1).into()) }
    }
}
