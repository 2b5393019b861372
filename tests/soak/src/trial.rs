//! One end, from the start of the managed processes to the verdict and the clean-up.

use crate::disk::{Disk, FILL};
use crate::ends::Ender;
use crate::family::{Family, until};
use crate::kinds::Kind;
use crate::manage::{self, Files, Manage, Said};
use crate::random::{Random, millis, one_in};
use crate::recording::Recording;
use crate::setup::Setup;
use crate::subject::Subject;
use crate::verdict::{self, Class, Problem, Threads};
use anyhow::Result;
use rand_chacha::rand_core::Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;

/// The result of an end.
pub struct Outcome {
    /// What was done to isobar.
    pub detail: String,
    /// The program that put everything back.
    pub how: &'static str,
    /// Whether a thread was bound when it ended.
    pub bound: bool,
    /// The threads afterwards.
    pub threads: Threads,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
    /// Whether isobar did not start, because another one manages the machine.
    pub refused: bool,
    /// The command line.
    pub typed: String,
    /// The outputs, under headings.
    pub account: Vec<(String, String)>,
}

/// What isobar prints if another one is at work.
const ANOTHER: &str = "another isobar";

/// The name of the recording of an end.
const RECORDING: &str = "run.isobar";

/// One end.
pub struct Trial<'a> {
    pub setup: &'a Setup,
    pub family: &'a mut Family,
    pub kind: Kind,
    pub random: Random,
    pub folder: PathBuf,
}

impl Trial<'_> {
    /// Runs the end. An error means that the test itself could not be carried out.
    pub fn run(&mut self) -> Result<Outcome> {
        let disk_at = self.folder.join("state");
        fs::create_dir(&disk_at)?;
        let disk = (self.kind == Kind::DiskFull).then(|| Disk::mount(&disk_at)).transpose()?;
        // Not on the small disk, because the recording would fill it before anything is changed.
        let files = Files { state: disk_at.join("state.json"), recording: self.folder.join(RECORDING) };
        let subject = Subject::start(self.family, &self.setup.churn, &self.folder, self.random.next_u64())?;
        let outcome = self.with(&subject, &files, disk.as_ref());
        if !self.family.end_all(|_| true) {
            anyhow::bail!("processes of this test do not end");
        }
        outcome
    }

    fn with(&mut self, subject: &Subject, files: &Files, disk: Option<&Disk>) -> Result<Outcome> {
        sleep(millis(&mut self.random, 50, 500));
        let words = manage::words(self.setup, self.kind, subject.name(), files, &mut self.random);
        let mut manage = Manage::start(self.setup, self.family, self.kind, &words, &mut self.random)?;
        let bound = self.wait_until_at_work(subject, &manage);
        let mut problems = Vec::new();
        let marks = manage.outlet.marks();
        if !self.kind.ends_unasked() && self.kind != Kind::OutputFull && manage.is_over(self.setup, self.family) {
            problems.push((Class::Early, "isobar ended before anything was done to it".to_owned()));
        }
        let detail = self.end(&mut manage, disk)?;
        problems.extend(self.wait_for_end(&manage));
        manage.outlet.release(self.family);
        let marks = if problems.iter().any(|(class, _)| *class == Class::Early) { Vec::new() } else { marks };
        let said = manage.outlet.since(&marks);
        let end = self.family.end_of(manage.child).map_or_else(String::new, crate::family::in_words);
        let mut outcome = self.look(subject, &files.state, &said, bound)?;
        let all = manage.outlet.since(&[]);
        outcome.problems.extend(self.recording(&files.recording, &all)?);
        outcome.detail = detail;
        outcome.problems.splice(0..0, problems);
        let what = format!("manage ({end}) said, after the end began");
        outcome.refused = all.contains(ANOTHER);
        outcome.typed = manage.typed;
        outcome.account.insert(0, (what, said));
        Ok(outcome)
    }

    /// Usually an end comes while threads are bound, but now and then at any time.
    fn wait_until_at_work(&mut self, subject: &Subject, manage: &Manage) -> bool {
        let (setup, any_time) = (self.setup, one_in(&mut self.random, 8));
        let mut bound = false;
        if any_time {
            sleep(millis(&mut self.random, 0, 300));
        } else {
            until(setup.wait, || {
                bound = verdict::is_bound_by_isobar(setup, self.family, subject);
                bound || manage.is_over(setup, self.family)
            });
            if !self.kind.ends_unasked() {
                sleep(millis(&mut self.random, 0, 1500));
            }
        }
        bound || verdict::is_bound_by_isobar(setup, self.family, subject)
    }

    fn end(&mut self, manage: &mut Manage, disk: Option<&Disk>) -> Result<String> {
        let (setup, family, random) = (self.setup, &mut *self.family, &mut self.random);
        Ender { setup, family, random, manage, disk }.end(self.kind)
    }

    /// Ends what does not end by itself, and reports that as a problem.
    fn wait_for_end(&mut self, manage: &Manage) -> Vec<Problem> {
        let (setup, family) = (self.setup, &mut *self.family);
        if until(setup.limit, || manage.is_over(setup, family)) {
            return Vec::new();
        }
        family.end_all(|stat| setup.is_isobar(stat));
        let seconds = setup.limit.as_secs();
        vec![(Class::Slow, format!("isobar (process {}) had not ended after {seconds} s: kill -9", manage.isobar))]
    }

    /// Finds what is left, and whether `isobar restore` puts it back.
    fn look(&mut self, subject: &Subject, state: &Path, said: &str, bound: bool) -> Result<Outcome> {
        let mut problems = Vec::new();
        let left = fs::symlink_metadata(state).is_ok();
        let silent = left && !self.kind.kills() && !said.to_lowercase().contains("restore");
        problems.extend(silent.then(|| (Class::State, "isobar left its state file without a word".to_owned())));
        let restored =
            (left || self.kind.kills()).then(|| manage::restore(self.setup, self.family, state)).transpose()?;
        problems.extend(restored.iter().flat_map(|restored| unfinished(restored, state)));
        problems.extend(litter(state));
        let words = restored.as_ref().map_or("", |restored| &restored.words);
        let mut threads = verdict::threads(self.setup, self.family, subject, &format!("{said}\n{words}"));
        // After a kill -9 no process has watched the bindings. docs/security.md says that such a
        // pin may be lifted.
        let excused = |class: &Class| *class == Class::Owner && self.kind.kills();
        problems.extend(threads.problems.drain(..).filter(|(class, _)| !excused(class)));
        problems.extend(self.processes(subject));
        let how = if left {
            "put back by restore"
        } else if bound {
            "put back by itself"
        } else {
            "nothing was bound"
        };
        let account = restored.map(|restored| (format!("restore ({}) said", restored.end), restored.words));
        let (detail, typed, account) = (String::new(), String::new(), account.into_iter().collect());
        Ok(Outcome { detail, how, bound, threads, problems, refused: false, typed, account })
    }

    fn recording(&mut self, file: &Path, said: &str) -> Result<Vec<Problem>> {
        let (setup, family, killed) = (self.setup, &mut *self.family, self.kind.kills());
        let problems = Recording { setup, family, file, said, killed }.problems()?;
        Ok(problems.into_iter().map(|text| (Class::Recording, text)).collect())
    }

    fn processes(&mut self, subject: &Subject) -> Vec<Problem> {
        let left = self.family.living().into_iter().filter(|(_, stat)| !subject.owns(stat) && stat.name != "cat");
        left.map(|(pid, stat)| (Class::Process, format!("process {pid} ({}) is left", stat.name))).collect()
    }
}

fn unfinished(restored: &Said, state: &Path) -> Vec<Problem> {
    let problem = |text: &str| (Class::State, format!("{text} ({})", restored.end));
    let kept = fs::symlink_metadata(state).is_ok().then(|| problem("`isobar restore` leaves the state file"));
    let failed = (restored.code != Some(0)).then(|| problem("`isobar restore` failed"));
    kept.into_iter().chain(failed).collect()
}

/// Reports files that are left beside the state file.
fn litter(state: &Path) -> Option<Problem> {
    let entries = state.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| name != FILL && name != "state.json").collect();
    (!names.is_empty()).then(|| (Class::Litter, format!("left beside the state file: {}", names.join(", "))))
}
