//! The result of a run: the ground truth that no sensor of the simulated machine shows.

use crate::workload::{App, Run};
use isobar_model::num;

/// One run of a workload under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Simulated seconds.
    pub seconds: f64,
    /// By application, in the order of the workload.
    pub apps: Vec<AppReport>,
}

/// One application in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AppReport {
    /// Its name in the workload.
    pub name: String,
    /// Mean completion time of its runs, including restarts, or the time of the run
    /// `[run] judged_run`; `None` if none completed.
    pub mean_seconds: Option<f64>,
    /// Completed runs.
    pub completed: usize,
    /// Thread moves that changed the CPU.
    pub thread_migrations: u64,
    /// Thread moves that also changed the last-level cache.
    pub llc_migrations: u64,
    /// Page migrations: each is a stretch of epochs in which its pages went to one node.
    pub memory_migrations: u64,
    /// Pages that arrived.
    pub pages_moved: u64,
}

/// What is counted while a run lasts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub completions: Vec<f64>,
    pub thread_migrations: u64,
    pub llc_migrations: u64,
    pub memory_migrations: u64,
    pub pages_moved: u64,
}

impl Totals {
    pub fn report(&self, app: &App, run: &Run) -> AppReport {
        let count = self.completions.len();
        let mean = self.completions.iter().sum::<f64>() / num::float_len(count.max(1));
        let judged = |run: u32| self.completions.get(num::index(run.saturating_sub(1))).copied();
        AppReport {
            name: app.name.clone(),
            mean_seconds: run.judged_run.map_or((count > 0).then_some(mean), judged),
            completed: count,
            thread_migrations: self.thread_migrations,
            llc_migrations: self.llc_migrations,
            memory_migrations: self.memory_migrations,
            pages_moved: self.pages_moved,
        }
    }
}
