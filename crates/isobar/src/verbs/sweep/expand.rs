//! Expands the file of a sweep to its jobs. Everything that can be checked is checked here, before
//! the first hour of work: files, policies, settings.

use super::file::{File, Numasim, Sim, Study, read};
use super::jobs::{Draft, Job, Kind};
use crate::deciders;
use crate::failure::bad_input;
use crate::input;
use isobar_runtime::settings::Config;
use isobar_sim::Workload;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The jobs of a sweep, in the order of the file. Identical jobs are listed once.
///
/// # Errors
/// Bad input: the file, or what it names.
pub fn expand(path: &Path) -> anyhow::Result<Vec<Job>> {
    let File { sim, study, numasim } = read(path)?;
    let at = At { file: path, folder: path.parent().unwrap_or(Path::new("")) };
    let mut all = Vec::new();
    for (index, grid) in sim.iter().enumerate() {
        all.extend(at.simulations(grid).map_err(|error| at.section("sim", index, &error))?);
    }
    for (index, grid) in study.iter().enumerate() {
        all.extend(at.studies(grid).map_err(|error| at.section("study", index, &error))?);
    }
    for (index, grid) in numasim.iter().enumerate() {
        all.extend(at.experiments(grid).map_err(|error| at.section("numasim", index, &error))?);
    }
    let mut names = BTreeSet::new();
    all.retain(|job| names.insert(job.name.clone()));
    if all.is_empty() {
        return Err(bad_input(format!("{}: no job: expected [[sim]], [[study]] or [[numasim]]", path.display())));
    }
    Ok(all)
}

/// A file, with the texts of everything that it consists of.
type WithTexts = (PathBuf, Vec<String>);

struct At<'a> {
    file: &'a Path,
    folder: &'a Path,
}

impl At<'_> {
    fn section(&self, kind: &str, index: usize, error: &anyhow::Error) -> anyhow::Error {
        bad_input(format!("{}: [[{kind}]] number {}: {error:#}", self.file.display(), index + 1))
    }

    fn simulations(&self, grid: &Sim) -> anyhow::Result<Vec<Job>> {
        some("policies", &grid.policies)?;
        some("settings", &grid.settings)?;
        if !["auto", "all", "sampled"].contains(&grid.schedules.as_str()) {
            return Err(bad_input(format!("schedules = {:?}: expected auto, all or sampled", grid.schedules)));
        }
        for sets in &grid.settings {
            let config = Config::of_policies(sets).map_err(bad_input)?;
            grid.policies.iter().try_for_each(|name| deciders::check(name, &config, &input::settings))?;
        }
        let mut jobs = Vec::new();
        for (file, texts) in self.files("workloads", &grid.workloads, &workload)? {
            for policy in &grid.policies {
                for seed in grid.seeds.each() {
                    jobs.extend(grid.settings.iter().map(|sets| simulation(grid, (&file, &texts), policy, seed, sets)));
                }
            }
        }
        Ok(jobs)
    }

    fn studies(&self, grid: &Study) -> anyhow::Result<Vec<Job>> {
        some("profiles", &grid.profiles)?;
        some("algorithms", &grid.algorithms)?;
        some("models", &grid.models)?;
        let groups: Vec<Option<u32>> =
            if grid.groups.is_empty() { vec![None] } else { grid.groups.iter().copied().map(Some).collect() };
        let mut jobs = Vec::new();
        for profiles in &grid.profiles {
            let profiles = self.profiles(profiles)?;
            for (file, texts) in self.files("workloads", &grid.workloads, &plain_file)? {
                for algorithm in &grid.algorithms {
                    for model in &grid.models {
                        let one = |groups| study(grid, &profiles, (&file, &texts), (algorithm, model, groups));
                        jobs.extend(groups.iter().map(|groups| one(*groups)));
                    }
                }
            }
        }
        Ok(jobs)
    }

    fn experiments(&self, grid: &Numasim) -> anyhow::Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for (file, texts) in self.files("experiments", &grid.experiments, &plain_file)? {
            jobs.extend(grid.seeds.each().into_iter().map(|seed| experiment(grid, &file, &texts, seed)));
        }
        Ok(jobs)
    }

    /// Profiles: a file, or `machine:NAME`, which is its own text.
    fn profiles(&self, name: &str) -> anyhow::Result<WithTexts> {
        if name.starts_with(isobar_study::MACHINE) {
            return Ok((PathBuf::from(name), vec![name.to_owned()]));
        }
        let path = self.folder.join(name);
        let texts = plain_file(&path)?;
        Ok((path, texts))
    }

    /// The files of a list of names and globs, in order, each with its texts.
    fn files(
        &self,
        key: &str,
        names: &[String],
        texts: &dyn Fn(&Path) -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<Vec<WithTexts>> {
        some(key, names)?;
        let mut found: Vec<WithTexts> = Vec::new();
        for name in names {
            let pattern = self.folder.join(name);
            let paths = glob::glob(&pattern.to_string_lossy())
                .map_err(|error| bad_input(format!("{key}: {name}: {error}")))?
                .collect::<Result<Vec<_>, _>>()?;
            if paths.is_empty() {
                return Err(bad_input(format!("{key}: {}: no such file", pattern.display())));
            }
            for path in paths {
                if !found.iter().any(|(known, _)| *known == path) {
                    let texts = texts(&path)?;
                    found.push((path, texts));
                }
            }
        }
        Ok(found)
    }
}

fn some<T>(key: &str, list: &[T]) -> anyhow::Result<()> {
    if list.is_empty() { Err(bad_input(format!("{key} is empty: expected one or more"))) } else { Ok(()) }
}

/// The texts that a workload consists of, after checking the workload.
fn workload(path: &Path) -> anyhow::Result<Vec<String>> {
    let mut texts = plain_file(path)?;
    let (folder, more) = (path.parent().unwrap_or(Path::new("")), RefCell::new(Vec::new()));
    let beside = |name: &str| {
        let text = input::described(&folder.join(name)).map_err(|error| format!("cannot be read: {error}"))?;
        more.borrow_mut().push(text.clone());
        Ok(text)
    };
    Workload::from_toml_with(&path.display().to_string(), &texts[0], &beside).map_err(bad_input)?;
    texts.extend(more.into_inner());
    Ok(texts)
}

fn plain_file(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = input::text(path, input::TABLE);
    Ok(vec![text.map_err(|error| bad_input(format!("{}: cannot be read: {error}", path.display())))?])
}

fn simulation(grid: &Sim, workload: (&Path, &[String]), policy: &str, seed: u64, sets: &[String]) -> Job {
    let mut draft = Draft::of(Kind::Sim);
    draft.file("workload", workload.0, workload.1).parameter("policy", policy).parameter("seed", seed);
    draft.parameter("settings", sets.join(" "));
    draft.argument("sim").argument(workload.0).argument("--json").argument("--jobs").argument("1");
    draft.argument(format!("--policy={policy}")).argument(format!("--seed={seed}"));
    draft.option(&format!("--schedules={}", grid.schedules));
    for set in sets {
        draft.argument(format!("--set={set}"));
    }
    draft.finish(None)
}

fn study(
    grid: &Study,
    profiles: &WithTexts,
    workloads: (&Path, &[String]),
    (algorithm, model, groups): (&str, &str, Option<u32>),
) -> Job {
    let mut draft = Draft::of(Kind::Study);
    draft.file("profiles", &profiles.0, &profiles.1).file("workloads", workloads.0, workloads.1);
    draft.parameter("algorithm", algorithm).parameter("model", model);
    draft.argument("study").argument("--json").argument("--jobs").argument("1");
    draft.argument("--profiles").argument(&profiles.0).argument("--workloads").argument(workloads.0);
    draft.argument(format!("--algorithm={algorithm}")).argument(format!("--model={model}"));
    if let Some(groups) = groups {
        draft.parameter("groups", groups).argument(format!("--groups={groups}"));
    }
    for option in &grid.options {
        draft.option(option);
    }
    draft.finish(None)
}

fn experiment(grid: &Numasim, file: &Path, texts: &[String], seed: u64) -> Job {
    let mut draft = Draft::of(Kind::Numasim);
    draft.file("experiment", file, texts).parameter("seed", seed);
    draft.argument("experiment").argument(file).argument("--json").argument("--jobs").argument("1");
    draft.argument(format!("--seed={seed}"));
    if let Some(repeats) = grid.repeats {
        draft.parameter("repeats", Value::from(repeats)).argument(format!("--repeats={repeats}"));
    }
    draft.run_by(&grid.command)
}
