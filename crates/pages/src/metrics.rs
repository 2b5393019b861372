//! Metrics of the paper's section 4: how exclusive a usage is, and how balanced and local a
//! placement of its pages. Percentages range from 0 to 100, not from 0 to 1.

use crate::mapping::Placement;
use crate::seen::Seen;
use isobar_model::num;

/// Exclusivity of all accesses (equation 2): the fraction that comes from the node with the most
/// accesses to the page. Between 1/N and 1; `None` without accesses.
#[must_use]
pub fn exclusivity(seen: &Seen<'_>) -> Option<f64> {
    // Equation 1 times the accesses of a page is the number of accesses from the page's best node.
    let most: u128 = seen.pages().iter().map(|page| u128::from(page.most)).sum();
    (seen.accesses() > 0).then(|| float(most) / float(seen.accesses()))
}

/// How far the largest load is above the mean, in per cent (equations 3 and 5): 0 if all are equal,
/// (N - 1) x 100 if one node has everything. `None` if there is no load.
#[must_use]
pub fn imbalance(loads: &[u128]) -> Option<f64> {
    let (most, sum) = (loads.iter().max()?, loads.iter().sum::<u128>());
    (sum > 0).then(|| (float(*most) * num::float_len(loads.len()) / float(sum) - 1.0) * 100.0)
}

/// The balance and locality of a placement of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// Pages on each node (`NodePages`).
    pub node_pages: Vec<u128>,
    /// Accesses that each node serves: those of all threads to the pages on the node. (Equation 4
    /// as printed sums accesses *from* a node; the paper's text and figures need the accesses
    /// served.)
    pub node_accesses: Vec<u128>,
    /// Balance of pages (equation 3).
    pub b_pages: Option<f64>,
    /// Balance of accesses (equation 5).
    pub b_acc: Option<f64>,
    /// Pages on the node with the most accesses to them, in per cent of all pages (equation 8).
    pub loc_pages: Option<f64>,
    /// The same, with each page weighted by its accesses (equation 9).
    pub loc_app: Option<f64>,
}

impl Metrics {
    /// The metrics of a placement. Pages without accesses count as pages and add no accesses; they
    /// are local on the node that touched them first.
    #[must_use]
    pub fn of(seen: &Seen<'_>, placement: &Placement) -> Self {
        Self::of_some(seen, placement.nodes().iter().copied().map(Some))
    }

    /// The metrics over only those pages whose node is known.
    pub(crate) fn of_some(seen: &Seen<'_>, nodes: impl Iterator<Item = Option<u16>>) -> Self {
        let (mut node_pages, mut node_accesses) = (vec![0; seen.nodes()], vec![0; seen.nodes()]);
        let (mut local, mut local_accesses) = (0_u128, 0_u128);
        let known = seen.pages().iter().zip(nodes).filter_map(|(page, node)| Some((page, node?)));
        for (page, node) in known {
            let accesses = u128::from(page.accesses);
            node_pages[usize::from(node)] += 1;
            node_accesses[usize::from(node)] += accesses;
            if node == page.best {
                local += 1;
                local_accesses += accesses;
            }
        }
        let (pages, accesses) = (node_pages.iter().sum::<u128>(), node_accesses.iter().sum::<u128>());
        Self {
            b_pages: imbalance(&node_pages),
            b_acc: imbalance(&node_accesses),
            loc_pages: percent(local, pages),
            loc_app: percent(local_accesses, accesses),
            node_pages,
            node_accesses,
        }
    }
}

/// A part in per cent of a whole; `None` if the whole is 0.
pub(crate) fn percent(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole) * 100.0)
}

/// Rounded to 53 bits; a percentage needs no more.
#[expect(clippy::cast_precision_loss, reason = "a percentage of it is wanted")]
pub(crate) const fn float(sum: u128) -> f64 {
    sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::mapping::Mapping;
    use crate::usage::{Page, Usage};

    #[test]
    fn nothing_and_everything_on_one_node() {
        assert_eq!((imbalance(&[]), imbalance(&[0, 0])), (None, None));
        assert_eq!((imbalance(&[5, 5, 5, 5]), imbalance(&[7, 0, 0, 0])), (Some(0.0), Some(300.0)));
        assert_eq!(imbalance(&[u128::from(u64::MAX); 2]), Some(0.0));
    }

    /// Table 1 of the paper: four threads, one per node. Thread 1 makes 81.9 % of the accesses to
    /// page 1557 ("more than 80 %"), thread 0 makes 39.3 % of those to page 1537.
    #[test]
    fn the_matrix_product_of_table_1() {
        let rows = [
            (1537, [17_222, 9_347, 8_173, 9_054]),
            (1553, [95_869, 1_412, 1_146, 1_382]),
            (1557, [12_544, 56_598, 0, 0]),
            (1558, [256, 81_028, 0, 0]),
            (1564, [256, 0, 70_835, 0]),
            (1566, [256, 0, 0, 57_033]),
            (1572, [131_328, 0, 0, 0]),
            (1573, [6_400, 28_445, 0, 0]),
            (1577, [256, 2_594, 38_912, 0]),
            (1581, [256, 0, 2_195, 38_343]),
            (1600, [5_381_218, 1_230_331, 1_017_819, 1_177_382]),
            (1601, [2, 1_688_110, 0, 0]),
            (1602, [2, 0, 1_395_867, 0]),
            (1603, [2, 0, 0, 1_614_711]),
        ];
        let mut usage = Usage::new(4, 4096).unwrap();
        rows.iter().for_each(|(number, counts)| usage.push(Page { number: *number, first: 0 }, counts).unwrap());
        let homes = Homes::compact(4, 4).unwrap();
        let seen = Seen::new(&usage, &homes).unwrap();
        let page = |at: usize| float(seen.pages()[at].most.into()) / float(seen.pages()[at].accesses.into());
        assert!((page(2) - 56_598.0 / 69_142.0).abs() < 1e-12 && page(2) > 0.8);
        assert!((page(0) - 17_222.0 / 43_796.0).abs() < 1e-12);
        let best: Vec<u16> = seen.pages().iter().map(|page| page.best).collect();
        assert_eq!(best, [0, 0, 1, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
        // The largest count of each row, summed, over all accesses.
        assert!((exclusivity(&seen).unwrap() - 10_695_519.0 / 14_176_584.0).abs() < 1e-12);
        // First-touch leaves everything on node 0.
        let first = Metrics::of(&seen, &Mapping::FirstTouch.place(&seen));
        assert_eq!((first.b_pages, first.b_acc), (Some(300.0), Some(300.0)));
        let local = Metrics::of(&seen, &Mapping::Locality.place(&seen));
        assert_eq!((local.loc_app, local.node_pages), (Some(100.0), vec![4, 4, 3, 3]));
    }
}
