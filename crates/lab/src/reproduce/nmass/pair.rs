//! mcf and lbm, memory on node 0, in the three mappings of section 2 (figures 2 and 3.c): the only
//! experiment for which the text gives every bar. Two of the mappings (lbm remote, mcf remote) are
//! the source of these programs' penalties. That both local are worse than mcf remote is a check of
//! the caches and the controller, which were not fitted to it.

use crate::compare::alone;
use crate::error::LabError;
use crate::reproduce::options::Options;
use crate::run::{run_policy, slowdowns};
use isobar_policy::baseline::linux::Linux;
use isobar_sim::Workload;

/// Slowdowns of mcf and lbm in per cent; `None` if the text gives none.
type Printed = [Option<f64>; 2];

/// The mappings of figure 2: the CPUs of mcf and lbm, and their slowdowns in per cent as section 2
/// gives them; mcf's in (a) and (c) follow from lbm's and the mean.
const MAPPINGS: [(&str, [u32; 2], Printed); 3] = [
    ("(a) both local", [0, 1], [Some(23.0), Some(11.0)]),
    ("(b) lbm remote", [0, 4], [None, Some(30.0)]),
    ("(c) mcf remote", [4, 0], [Some(21.0), Some(1.0)]),
];

/// One mapping: slowdowns of mcf and lbm in per cent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub mapping: &'static str,
    pub printed: Printed,
    pub ours: [f64; 2],
}

impl Pair {
    /// Mean of both, in per cent.
    pub fn mean(&self) -> f64 {
        f64::midpoint(self.ours[0], self.ours[1])
    }
}

/// Runs the three mappings.
pub(super) fn run(options: &Options) -> Result<Vec<Pair>, LabError> {
    MAPPINGS
        .into_iter()
        .map(|(mapping, cpus, printed)| Ok(Pair { mapping, printed, ours: one(cpus, options)? }))
        .collect()
}

fn one(cpus: [u32; 2], options: &Options) -> Result<[f64; 2], LabError> {
    let app = |(name, cpu)| format!("[[app]]\nprogram = \"{name}\"\nmemory_node = 0\ncpu = {cpu}\n");
    let apps: String = ["mcf", "lbm"].into_iter().zip(cpus).map(app).collect();
    let workload = Workload::from_toml("mcf and lbm", &format!("machine = \"nehalem-2x4\"\n{apps}"))?;
    let workload = options.vary(workload)?;
    let report = run_policy(&workload, options.seed, &mut Linux)?;
    let (slowdowns, _) = slowdowns(&workload, &report, &alone(&workload)?)?;
    Ok([0, 1].map(|app| 100.0 * (slowdowns[app] - 1.0)))
}
