//! A study: the tasks of a request, answered side by side and reported in order.

use crate::algorithms::Algorithm;
use crate::answer::{self, Answer};
use crate::ask::{Ask, ModelKind, Source};
use crate::error::StudyError;
use crate::fixed::{self, FixedSolution};
use crate::queueing::Queueing;
use crate::row::{self, Measures, Row};
use crate::setup::Setup;
use crate::watch::Watch;
use crate::workloads::{self, Workload};
use crate::{library, remarks, stream};
use isobar_model::profile::{Profile, Property};
use isobar_partition::model::{Bandwidth, PbbCache, StaticModel};
use isobar_profiles::Profiles;
use isobar_sim::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A study whose request has been checked.
#[derive(Debug)]
pub struct Study {
    setup: Setup,
    profiles: Profiles,
    workloads: Vec<Workload>,
    given: Vec<FixedSolution>,
    /// The programs, for the queueing model only.
    programs: BTreeMap<String, Arc<Program>>,
    tasks: Vec<Task>,
}

/// A workload and the algorithm that answers it; for `fixed`, also the solution.
#[derive(Clone, Copy, Debug)]
struct Task {
    workload: usize,
    algorithm: Algorithm,
    given: Option<usize>,
}

impl Study {
    /// Checks a request against its files and figures. Without `workloads`, each of the given
    /// solutions is for a workload of its own.
    ///
    /// # Errors
    /// [`StudyError`], one line that names the file, line or key, what is wrong, and what would be
    /// right.
    pub fn new(
        ask: &Ask,
        profiles: Profiles,
        workloads: Option<Source<'_>>,
        solutions: Option<Source<'_>>,
    ) -> Result<Self, StudyError> {
        let setup = Setup::new(ask, &profiles, solutions.is_some())?;
        let given = match solutions {
            Some(Source { file, text }) => {
                let given = fixed::parse(file, text, &profiles)?;
                given.iter().enumerate().try_for_each(|(index, given)| setup.takes(file, index, given))?;
                given
            }
            None => Vec::new(),
        };
        let (file, workloads) = match (workloads, solutions) {
            (Some(Source { file, text }), _) => (file, workloads::parse(file, text, Some(&profiles))?),
            (None, Some(Source { file, .. })) => (file, fixed::workloads(&given)),
            (None, None) => return Err(StudyError::request("no workloads: add --workloads FILE")),
        };
        workloads.iter().try_for_each(|workload| setup.fits(file, workload))?;
        let mut study = Self { setup, profiles, workloads, given, programs: BTreeMap::new(), tasks: Vec::new() };
        if study.setup.model == ModelKind::Queueing {
            let names = study.workloads.iter().flat_map(|workload| &workload.programs).collect();
            study.programs = library::programs(&study.profiles, &names, &study.setup.spec)?;
        }
        study.tasks = study.tasks();
        Ok(study)
    }

    /// What is odd about the profiles in use, over all workloads; one line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        self.remarks_on(self.workloads.iter().flat_map(|workload| &workload.programs))
    }

    /// Model, machine, groups and bandwidth, in one line.
    #[must_use]
    pub fn heading(&self) -> String {
        let setup = &self.setup;
        let machine = if setup.model == ModelKind::Queueing { format!(" on {}", setup.machine) } else { String::new() };
        let bandwidth = setup.bandwidth.map_or_else(
            || "no bandwidth limit".to_owned(),
            |mbps| format!("{mbps:.0} MB/s {}", if setup.uma { "for all groups" } else { "a group" }),
        );
        let groups = setup.groups();
        let plural = if groups == 1 { "" } else { "s" };
        format!("model {}{machine}; {groups} group{plural} of {} ways, {bandwidth}", setup.model.name(), setup.ways)
    }

    /// The number of answers that the study will give.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.tasks.len()
    }

    /// Answers all tasks, with `jobs` threads in all. Rows come in the order of the workloads and,
    /// within each workload, of the algorithms. Ends early if the observer says stop: running
    /// searches report the best solution that they have, and no other task is begun.
    ///
    /// # Errors
    /// [`StudyError::Jobs`], and any error of `sink`.
    pub fn run<E: From<StudyError>>(
        &self,
        jobs: usize,
        watch: &dyn Watch,
        sink: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let done = AtomicUsize::new(0);
        let one = |task: &Task| {
            let row = self.answer(task, watch);
            watch.done(done.fetch_add(1, Ordering::SeqCst) + 1, self.tasks.len());
            row
        };
        stream::in_order(jobs, &self.tasks, &|| watch.stopped(), one, sink)
    }

    fn tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for workload in 0..self.workloads.len() {
            for algorithm in &self.setup.algorithms {
                let task = |given| Task { workload, algorithm: *algorithm, given };
                if matches!(algorithm, Algorithm::Fixed) {
                    let fitting = self.fitting(workload);
                    let none = if fitting.is_empty() { vec![task(None)] } else { Vec::new() };
                    tasks.extend(fitting.into_iter().map(|given| task(Some(given))).chain(none));
                } else {
                    tasks.push(task(None));
                }
            }
        }
        tasks
    }

    /// The given solutions that are for a workload: if the two lists correspond line by line, the
    /// solution in the same place, otherwise all solutions for the same programs.
    fn fitting(&self, number: usize) -> Vec<usize> {
        let fits = |number: usize, index: usize| self.given[index].for_workload(&self.workloads[number]).is_some();
        if self.workloads.len() == self.given.len() && (0..self.given.len()).all(|both| fits(both, both)) {
            return vec![number];
        }
        (0..self.given.len()).filter(|index| fits(number, *index)).collect()
    }

    fn model(&self, workload: &Workload, share: Property) -> Box<dyn StaticModel> {
        let setup = &self.setup;
        let profiles: Vec<Profile> =
            workload.programs.iter().filter_map(|name| self.profiles.profile(name)).cloned().collect();
        let pbbcache = |kind| {
            let model = PbbCache::new(kind, profiles.clone(), setup.ways, setup.max_bandwidth);
            Box::new(model.uma(setup.uma).shared_by(share))
        };
        match setup.model {
            ModelKind::Simple => pbbcache(Bandwidth::Simple),
            ModelKind::Stalls => pbbcache(Bandwidth::Stalls),
            ModelKind::Queueing => {
                let programs: Vec<_> =
                    workload.programs.iter().filter_map(|name| self.programs.get(name)).cloned().collect();
                let model = Queueing::new(&setup.spec, &programs, profiles, setup.ways, setup.max_bandwidth);
                Box::new(model.uma(setup.uma))
            }
        }
    }

    fn answer(&self, task: &Task, watch: &dyn Watch) -> Row {
        let workload = &self.workloads[task.workload];
        let given = task.given.map(|index| &self.given[index]);
        let model = self.model(workload, given.map_or(Property::Llcmpkc, |given| given.share));
        let begun = watch.elapsed();
        let answered = match task.algorithm {
            Algorithm::Heuristic(entry) => answer::heuristic(entry, &*model, &self.setup),
            Algorithm::Exact(search) => answer::search(search, &*model, &self.setup, task.workload + 1, watch),
            Algorithm::Fixed => match given.and_then(|given| given.for_workload(workload)) {
                Some(solution) => answer::evaluated(&*model, solution),
                None => Answer {
                    problem: Some("the file has no solution for these programs".to_owned()),
                    ..Answer::default()
                },
            },
        };
        self.row(task, &*model, answered, watch.elapsed().saturating_sub(begun).as_secs_f64())
    }

    fn row(&self, task: &Task, model: &dyn StaticModel, answer: Answer, seconds: f64) -> Row {
        let workload = &self.workloads[task.workload];
        let setup = &self.setup;
        let groups = answer.solution.as_ref().map_or(0, |solution| solution.groups.len()).max(setup.groups());
        let is_search = matches!(task.algorithm, Algorithm::Exact(_));
        let measures = answer.figures.as_ref().map(|figures| Measures::from(figures.summary)).unwrap_or_default();
        Row {
            workload: task.workload + 1,
            line: workload.line,
            algorithm: task.algorithm.name().to_owned(),
            model: model.name(),
            max_bandwidth_mbps: setup.bandwidth,
            groups,
            uma: setup.uma,
            cores: setup.cores(workload.programs.len()),
            ways: setup.ways,
            objective: is_search.then(|| setup.objective.name()),
            apps: row::apps(&workload.programs, answer.solution.as_ref(), answer.figures.as_ref()),
            measures,
            seconds,
            nodes_explored: answer.nodes_explored,
            proved_optimal: answer.proved_optimal,
            bound: answer.bound,
            gap_percent: answer::gap_percent(setup.objective, &measures, answer.bound),
            problem: answer.problem,
            remarks: self.remarks_on(&workload.programs),
        }
    }

    fn remarks_on<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Vec<String> {
        let names: BTreeSet<&str> = names.into_iter().map(String::as_str).collect();
        let names: Vec<_> = names.into_iter().collect();
        remarks::all(&self.setup, &self.profiles, &names, &self.programs)
    }
}

#[cfg(test)]
mod tests;
