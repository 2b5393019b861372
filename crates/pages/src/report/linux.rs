//! Where the kernel had placed the pages, for comparison with the mappings. Nothing is assumed
//! about pages for which the kernel gave no answer: the row, and the first-touch figures that it is
//! compared with, cover only the other pages.

use crate::metrics::{Metrics, percent};
use crate::profile::KernelPlacement;
use crate::seen::Seen;
use isobar_model::num;

/// Where the kernel had placed the pages of the traced run.
#[derive(Clone, Debug, PartialEq)]
pub struct Linux {
    /// Nodes of the machine on which the program ran.
    pub machine_nodes: u32,
    /// Pages for which the kernel gave a node.
    pub pages: usize,
    /// Accesses to these pages, in per cent of all.
    pub accesses_percent: Option<f64>,
    /// The metrics of equations 3 to 5, 8 and 9 over these pages.
    pub metrics: Metrics,
    /// Accesses to these pages from a node other than the page's, in per cent.
    pub remote: Option<f64>,
    /// Balance minus that of first-touch over the same pages (equation 11).
    pub delta_b_acc: Option<f64>,
    /// Locality minus that of first-touch over the same pages (equation 12).
    pub delta_loc_app: Option<f64>,
}

/// Why the kernel's placement is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotObserved {
    /// The file does not say.
    #[error("the file does not say where the kernel had the pages; traces of `isobar trace` do since version 2")]
    NotRecorded,
    /// The report uses larger pages.
    #[error("it was recorded for pages of {0} bytes")]
    PageSize(u64),
    /// Pages were on nodes that the report does not have.
    #[error("the program ran on {machine} nodes, but this report is for {asked}: add --nodes {machine}")]
    Nodes {
        /// of the machine
        machine: u32,
        /// of the report
        asked: usize,
    },
}

/// The kernel's placement of these pages, which are those of the profile.
pub(super) fn linux(seen: &Seen<'_>, found: Option<&KernelPlacement>) -> Result<Linux, NotObserved> {
    let found = found.ok_or(NotObserved::NotRecorded)?;
    let nodes = || found.node_of.iter().copied();
    if nodes().flatten().any(|node| usize::from(node) >= seen.nodes()) {
        return Err(NotObserved::Nodes { machine: found.nodes, asked: seen.nodes() });
    }
    let metrics = Metrics::of_some(seen, nodes());
    let first = Metrics::of_some(seen, seen.pages().iter().zip(nodes()).map(|(page, node)| node.map(|_| page.first)));
    let (known, local) = served(seen, nodes());
    Ok(Linux {
        machine_nodes: found.nodes,
        pages: nodes().flatten().count(),
        accesses_percent: percent(known, seen.accesses()),
        remote: percent(known.saturating_sub(local), known),
        delta_b_acc: metrics.b_acc.zip(first.b_acc).map(|(here, first)| here - first),
        delta_loc_app: metrics.loc_app.zip(first.loc_app).map(|(here, first)| here - first),
        metrics,
    })
}

/// Accesses to pages whose node is known, and how many of them come from that node.
fn served(seen: &Seen<'_>, nodes: impl Iterator<Item = Option<u16>>) -> (u128, u128) {
    let (mut known, mut local, mut by_node) = (0, 0, vec![0; seen.nodes()]);
    for (at, node) in nodes.enumerate().filter_map(|(at, node)| Some((at, node?))) {
        seen.by_node(at, &mut by_node);
        known += by_node.iter().map(|count| u128::from(*count)).sum::<u128>();
        local += by_node.get(num::index(node.into())).map_or(0, |count| u128::from(*count));
    }
    (known, local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{profile, report};

    /// Table 2 of the paper. The kernel had page 1 on the node that uses it, page 3 on a node that
    /// does not, and gave no answer for page 0. The other pages are on node 0.
    #[test]
    fn the_row_is_of_the_pages_whose_node_is_known() {
        let rows = [[1, 0, 1000, 0], [1, 1000, 0, 0], [1000, 0, 0, 0], [1000, 0, 0, 50]];
        let mut profile = profile(&rows, &[("array", 0..4)]);
        profile.linux = Some(KernelPlacement { nodes: 4, node_of: vec![None, Some(1), Some(0), Some(2)] });
        let found = report(&profile, 4).linux.unwrap();
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert_eq!((found.machine_nodes, found.pages), (4, 3));
        assert_eq!(found.metrics.node_accesses, [1000, 1001, 1050, 0]);
        assert_eq!(found.metrics.node_pages, [1, 1, 1, 0]);
        // Of 3051 accesses, 1000 from node 1 to page 1 and 1000 from node 0 to page 2 are local.
        assert!(close(found.accesses_percent, 3051.0 / 4052.0 * 100.0));
        assert!(close(found.remote, (3051.0 - 2000.0) / 3051.0 * 100.0));
        assert!(close(found.metrics.loc_app, 2001.0 / 3051.0 * 100.0));
        // First touch has the same three pages on node 0, which is the best node for two of them.
        assert!(close(found.delta_b_acc, (1050.0 * 4.0 / 3051.0 - 1.0) * 100.0 - 300.0));
        assert!(close(found.delta_loc_app, (2001.0 - 2050.0) / 3051.0 * 100.0));
    }

    #[test]
    fn what_is_not_known_has_its_reason() {
        let mut profile = profile(&[[9, 0, 1, 0]], &[("array", 0..1)]);
        assert_eq!(report(&profile, 4).linux, Err(NotObserved::NotRecorded));
        profile.linux = Some(KernelPlacement { nodes: 8, node_of: vec![Some(5)] });
        let message = report(&profile, 4).linux.unwrap_err().to_string();
        assert_eq!(message, "the program ran on 8 nodes, but this report is for 4: add --nodes 8");
        profile.linux = Some(KernelPlacement { nodes: 1, node_of: vec![Some(0)] });
        assert_eq!(report(&profile, 4).linux.unwrap().metrics.node_pages, [1, 0, 0, 0]);
    }
}
