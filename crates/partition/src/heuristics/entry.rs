//! Defines a heuristic: its name, its source, what it decides, and its function. This file knows
//! how a heuristic for one LLC answers for several LLCs; it knows no particular heuristic.

use crate::class::ClassLimits;
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::solution::{Group, Solution};

/// The parameters of a heuristic, in addition to the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Number of LLCs.
    pub groups: usize,
    /// Programs that fit on one LLC.
    pub cores_per_group: usize,
    /// Limits between the classes of programs (LFOC, LFOC+).
    pub classes: ClassLimits,
    /// Maximum number of clusters on one LLC, which is the hardware's number of classes of service.
    /// `None` = no limit.
    pub max_clusters: Option<usize>,
    /// Minimum number of ways of a partition (`min_cbm_bits`).
    pub min_ways: usize,
    /// Bandwidth of a memory controller, in MB/s; `None` = no limit. Only `divide-content` uses it.
    pub max_bandwidth: Option<f64>,
}

impl Setting {
    /// `groups` LLCs with `programs` spread evenly over them; everything else default.
    #[must_use]
    pub fn new(groups: usize, programs: usize) -> Self {
        Self {
            groups,
            cores_per_group: programs.div_ceil(groups.max(1)),
            classes: ClassLimits::default(),
            max_clusters: None,
            min_ways: 1,
            max_bandwidth: None,
        }
    }

    /// Minimum number of ways of a partition of an LLC of `ways` ways; at least 1, at most all.
    pub(crate) fn least(&self, ways: usize) -> usize {
        self.min_ways.clamp(1, ways.max(1))
    }

    /// Maximum number of clusters on an LLC of `ways` ways; at least 1.
    pub(crate) fn most_clusters(&self, ways: usize) -> usize {
        self.max_clusters.unwrap_or(usize::MAX).min(ways / self.least(ways)).max(1)
    }
}

/// What a heuristic decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Clusters and ways inside one LLC.
    OneLlc,
    /// Clusters and ways, and which program runs on which LLC.
    Groups,
}

/// Clusters the given programs (positions in the workload, ascending, not empty) on one LLC.
pub type OneLlc = fn(&dyn StaticModel, &[usize], &Setting) -> Result<Group, PartitionError>;

/// Places and clusters all programs.
pub type Groups = fn(&dyn StaticModel, &Setting) -> Result<Solution, PartitionError>;

/// The function of a heuristic.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// See [`OneLlc`].
    OneLlc(OneLlc),
    /// See [`Groups`].
    Groups(Groups),
}

/// One heuristic of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name that `--algorithm` takes.
    pub name: &'static str,
    /// The publication that it comes from.
    pub paper: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its function.
    pub rule: Rule,
}

impl Entry {
    /// What the heuristic decides.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        match self.rule {
            Rule::OneLlc(_) => Scope::OneLlc,
            Rule::Groups(_) => Scope::Groups,
        }
    }

    /// The heuristic's answer for the whole workload of a model, in canonical form.
    ///
    /// # Errors
    /// [`PartitionError::Refused`] if the workload does not fit: more programs than cores, or, for
    /// strict partitioning, more programs than ways.
    pub fn run(&self, model: &dyn StaticModel, setting: &Setting) -> Result<Solution, PartitionError> {
        seated(self.name, model, setting)?;
        let solution = match self.rule {
            Rule::OneLlc(partition) => in_order(partition, model, setting)?,
            Rule::Groups(place) => place(model, setting)?,
        };
        Ok(solution.canonical())
    }
}

/// Refuses a workload with more programs than cores.
fn seated(heuristic: &'static str, model: &dyn StaticModel, setting: &Setting) -> Result<(), PartitionError> {
    let (programs, groups, cores) = (model.programs().len(), setting.groups, setting.cores_per_group);
    if programs <= groups * cores {
        return Ok(());
    }
    let why =
        format!("{programs} programs, but {groups} LLCs of {cores} cores; take more groups or more cores a group");
    Err(PartitionError::Refused { heuristic, why })
}

fn in_order(partition: OneLlc, model: &dyn StaticModel, setting: &Setting) -> Result<Solution, PartitionError> {
    let programs: Vec<usize> = (0..model.programs().len()).collect();
    let mut groups: Vec<Group> = programs
        .chunks(setting.cores_per_group.max(1))
        .map(|programs| partition(model, programs, setting))
        .collect::<Result<_, _>>()?;
    groups.resize(setting.groups.max(groups.len()), Group::new());
    Ok(Solution { groups })
}
