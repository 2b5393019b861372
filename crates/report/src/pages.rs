//! A page trace: which thread or node accesses which address when, beside what `isobar pages
//! --json` says of it.

use crate::data::Head;
use crate::page::page;
use serde::Serialize;
use serde_json::Value;

/// How a program uses its pages.
#[derive(Clone, Debug, Serialize)]
pub struct PageUse {
    /// What it is about.
    pub head: Head,
    /// In words.
    pub summary: Vec<String>,
    /// The document of `isobar pages --json`.
    pub usage: Value,
    /// End of each point in time, in seconds; empty where the file has no time.
    pub times: Vec<f64>,
    /// Accesses until then, since the point before.
    pub accesses: Vec<f64>,
    /// Exclusivity of them.
    pub exclusivity: Vec<Option<f64>>,
    /// Pages whose best node changed.
    pub migrations: Vec<u64>,
    /// Accesses by address and time.
    pub heat: Option<Heat>,
}

/// Accesses by address and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heat {
    /// Seconds of a column.
    pub column_seconds: f64,
    /// Names of structures.
    pub structures: Vec<String>,
    /// Rows, by ascending address.
    pub bands: Vec<Band>,
    /// By what cells can be coloured.
    pub layers: Vec<Layer>,
    /// By column, the cells that have accesses: row and accesses, then for each layer who made most
    /// of them, and how many of 100.
    pub cells: Vec<Vec<Vec<u64>>>,
}

/// A row: pages that follow each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Address of the first, as text, since JSON's readers round large numbers.
    pub address: String,
    /// How many.
    pub pages: usize,
    /// Position of their structure.
    pub structure: usize,
    /// For each layer, who touched most of them first.
    pub first: Vec<usize>,
    /// When the first of them was touched.
    pub first_seconds: Option<f64>,
}

/// Who accesses: nodes or threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// `node`, `thread`.
    pub name: String,
    /// Their names.
    pub names: Vec<String>,
    /// Of each accessor that was counted, its position in `names`.
    #[serde(skip)]
    pub of: Vec<usize>,
}

impl Layer {
    /// Who has most of these counts, one for each accessor, and how many of 100; the lowest of
    /// equals.
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
    /// Takes the accesses of the next column: for each row the counts of all accessors.
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
        // The first thread has most, its node has not.
        assert_eq!((threads.most(&[4, 3, 3]), nodes.most(&[4, 3, 3])), ((0, 40), (1, 60)));
        let mut heat = Heat { layers: vec![nodes, threads], ..Heat::default() };
        heat.column([&[4, 3, 3][..], &[0, 0, 0], &[0, 0, 9]].into_iter());
        assert_eq!(heat.cells, [vec![vec![0, 10, 1, 60, 0, 40], vec![2, 9, 1, 100, 2, 100]]]);
    }
}
