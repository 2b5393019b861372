//! The report on a page trace: which thread or node accesses which address when, together with the
//! output of `isobar pages --json`.

use crate::data::Head;
use crate::page::page;
use serde::Serialize;
use serde_json::Value;

/// How a program uses its pages.
#[derive(Clone, Debug, Serialize)]
pub struct PageUse {
    /// What the report is about.
    pub head: Head,
    /// The summary, in words.
    pub summary: Vec<String>,
    /// The document of `isobar pages --json`.
    pub usage: Value,
    /// End of each point in time, in seconds; empty if the file has no time.
    pub times: Vec<f64>,
    /// Accesses since the point before.
    pub accesses: Vec<f64>,
    /// Exclusivity of these accesses.
    pub exclusivity: Vec<Option<f64>>,
    /// Pages whose best node changed.
    pub migrations: Vec<u64>,
    /// Accesses by address and time.
    pub heat: Option<Heat>,
}

/// Accesses by address and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heat {
    /// Seconds per column.
    pub column_seconds: f64,
    /// Names of structures.
    pub structures: Vec<String>,
    /// Rows, by ascending address.
    pub bands: Vec<Band>,
    /// What cells can be coloured by.
    pub layers: Vec<Layer>,
    /// By column, the cells that have accesses. Each cell has its row and accesses, then for each
    /// layer the accessor with the most of them and its share in per cent.
    pub cells: Vec<Vec<Vec<u64>>>,
}

/// A row: consecutive pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Address of the first page, as text, because JSON readers round large numbers.
    pub address: String,
    /// Number of pages.
    pub pages: usize,
    /// Position of their structure.
    pub structure: usize,
    /// For each layer, the accessor that touched most of them first.
    pub first: Vec<usize>,
    /// When the first of them was touched.
    pub first_seconds: Option<f64>,
}

/// A kind of accessor: nodes or threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// `node` or `thread`.
    pub name: String,
    /// The accessors' names.
    pub names: Vec<String>,
    /// For each accessor that was counted, its position in `names`.
    #[serde(skip)]
    pub of: Vec<usize>,
}

impl Layer {
    /// The accessor with the most of these counts (one per accessor), and its share in per cent;
    /// the lowest of several equal ones.
    #[must_use]
    pub fn most(&self, counts: &[u64]) -> (usize, u64) {
        let mut sums = vec![0_u128; self.names.len()];
        for (count, of) in counts.iter().zip(&self.of) {
            if let Some(sum) = sums.get_mut(*of) {
                *sum += u128::from(*count);
            }
        }
        let all: u128 = sums.iter().sum();
        let (mut best, mut most) = (0, 0);
        for (at, sum) in sums.iter().enumerate() {
            if *sum > most {
                (best, most) = (at, *sum);
            }
        }
        (best, u64::try_from((most * 100 + all / 2).checked_div(all).unwrap_or(0)).unwrap_or(0))
    }
}

impl Heat {
    /// Adds the accesses of the next column: for each row, the counts of all accessors.
    pub fn column<'a>(&mut self, rows: impl Iterator<Item = &'a [u64]>) {
        let layers = &self.layers;
        let cell = |(row, counts): (usize, &[u64])| {
            let accesses = counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
            let by = layers.iter().map(|layer| layer.most(counts));
            let by = by.flat_map(|(who, percent)| [u64::try_from(who).unwrap_or(0), percent]);
            (accesses > 0).then(|| [u64::try_from(row).unwrap_or(0), accesses].into_iter().chain(by).collect())
        };
        self.cells.push(rows.enumerate().filter_map(cell).collect());
    }
}

impl PageUse {
    /// The page as one file of HTML.
    #[must_use]
    pub fn html(&self) -> String {
        page("pages", &self.head.title, &self.summary, &[include_str!("assets/pages.js")], self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_of_whoever_accesses_it_most() {
        let threads =
            Layer { name: "thread".into(), names: vec!["a".into(), "b".into(), "c".into()], of: vec![0, 1, 2] };
        let nodes = Layer { name: "node".into(), names: vec!["node 0".into(), "node 1".into()], of: vec![0, 1, 1] };
        // Of the threads the first has most; of the nodes, its node has not.
        assert_eq!((threads.most(&[4, 3, 3]), nodes.most(&[4, 3, 3])), ((0, 40), (1, 60)));
        let mut heat = Heat { layers: vec![nodes, threads], ..Heat::default() };
        heat.column([&[4, 3, 3][..], &[0, 0, 0], &[0, 0, 9]].into_iter());
        assert_eq!(heat.cells, [vec![vec![0, 10, 1, 60, 0, 40], vec![2, 9, 1, 100, 2, 100]]]);
    }
}
