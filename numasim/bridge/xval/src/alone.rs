//! The runs in which a program is alone: with all ways, with fewer, and with remote memory.

use crate::file::Xval;
use numasim_model::Spec;
use std::collections::BTreeSet;

/// A run in which a program is alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alone {
    /// Its program.
    pub program: String,
    /// The number of ways that it may fill; `None` stands for all.
    pub ways: Option<u32>,
    /// Whether its memory is on the nearest other node.
    pub remote: bool,
}

impl Alone {
    /// The id of its run.
    #[must_use]
    pub fn id(&self) -> String {
        let ways = self.ways.map_or_else(|| "all".to_owned(), |ways| ways.to_string());
        format!("alone/{}/{ways}/{}", self.program, if self.remote { "remote" } else { "local" })
    }
}

/// All runs of a program alone: with all ways, with fewer ways, and with all ways and remote
/// memory.
#[must_use]
pub fn alone(xval: &Xval, spec: &Spec, program: &str) -> Vec<Alone> {
    let of = |ways, remote| Alone { program: program.to_owned(), ways, remote };
    let fewer = xval.ways.iter().copied().collect::<BTreeSet<_>>();
    let mut runs = vec![of(None, false)];
    runs.extend(fewer.into_iter().rev().map(|ways| of(Some(ways), false)));
    runs.extend(nearest_other(spec, 0).map(|_| of(None, true)));
    runs
}

/// The nearest other node that has CPUs; ties go to the lower number.
#[must_use]
pub fn nearest_other(spec: &Spec, home: usize) -> Option<usize> {
    let row = spec.latency.ns.get(home)?;
    let others = (0..row.len()).filter(|node| *node != home && !spec.node[*node].cpus.as_slice().is_empty());
    others.min_by(|a, b| row[*a].total_cmp(&row[*b]))
}
