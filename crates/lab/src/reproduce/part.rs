//! A paper's experiments in parts: the claims that follow from the same runs, and the workloads of
//! these runs. An estimate that changes none of a part's workloads cannot change its claims.

use crate::error::LabError;
use crate::reproduce::claim::{Claim, Figure, Reproduction};
use crate::reproduce::estimate::{KINDS, Kind, Varied, alike};
use crate::reproduce::options::Options;
use isobar_sim::{End, Workload};

/// Called with the number of runs done and the total.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The claims and the figures of a part.
pub(crate) type Done = (Vec<Claim>, Vec<Figure>);

/// Experiments whose claims follow from the same runs.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The workloads that it runs, or enough of them to show which estimates they contain; empty if
    /// nothing runs on a simulated machine.
    pub(crate) workloads: fn(&Options) -> Result<Vec<Workload>, LabError>,
    /// Runs them.
    pub(crate) run: fn(&Options, Progress<'_>) -> Result<Done, LabError>,
}

/// A paper's experiments.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The paper: `nmass`, `dino`, `dc`.
    pub name: &'static str,
    /// Its parts, in the order of their claims.
    pub parts: &'static [Part],
}

impl Part {
    /// The kinds of estimates that change the part's workloads.
    pub(crate) fn kinds(&self, options: &Options) -> Result<Vec<&'static Kind>, LabError> {
        let given = (self.workloads)(&Options { varied: None, ..*options })?;
        let mut kinds = Vec::new();
        for kind in KINDS {
            let at = |end| (self.workloads)(&Options { varied: Some(Varied { kind, end }), ..*options });
            if !(alike(&given, &at(End::Low)?) && alike(&given, &at(End::High)?)) {
                kinds.push(kind);
            }
        }
        Ok(kinds)
    }
}

impl Paper {
    /// The workloads that the experiments run, named by the paper and a number, for running other
    /// policies on them. If an experiment draws many workloads, representatives of them.
    ///
    /// # Errors
    /// As [`Paper::run`].
    pub fn workloads(&self, options: &Options) -> Result<Vec<(String, Workload)>, LabError> {
        let all = self.parts.iter().map(|part| (part.workloads)(options)).collect::<Result<Vec<_>, _>>()?.concat();
        let runs = all.into_iter().filter(|workload| !workload.apps.is_empty());
        Ok(runs.enumerate().map(|(index, workload)| (format!("{}-{}", self.name, index + 1), workload)).collect())
    }

    /// Runs all parts.
    ///
    /// # Errors
    /// [`LabError`] if a run cannot be made: a fault of the shipped data, or of a policy.
    pub fn run(&self, options: &Options, progress: Progress<'_>) -> Result<Reproduction, LabError> {
        let done = self.parts.iter().map(|part| (part.run)(options, progress)).collect::<Result<Vec<_>, _>>()?;
        let (claims, figures): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        Ok(Reproduction { paper: self.name, claims: claims.concat(), figures: figures.concat() })
    }
}
