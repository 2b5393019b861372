//! Accesses by address and time, separately for each accessor: the data of a heat map that is
//! coloured by node or thread. Rows and columns are bounded, however long the run and however large
//! its memory. A row holds pages of one structure, unless there are too many structures.

use super::course::Groups;
use crate::profile::PageProfile;
use crate::trace::Slice;
use isobar_model::num;

/// Maximum number of columns.
const COLUMNS: usize = 200;
/// Maximum number of rows.
const ROWS: usize = 110;

/// A row of the map: consecutive pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Address of the first page.
    pub address: u64,
    /// How many of its pages were touched.
    pub pages: usize,
    /// The structure of its pages, or of most of them.
    pub structure: usize,
    /// Pages that each accessor touched first.
    pub first: Vec<u64>,
    /// The first slice in which one of its pages was touched.
    pub first_slice: Option<u64>,
}

/// Accesses by address and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Accesses {
    /// Rows, by ascending address.
    pub bands: Vec<Band>,
    /// Seconds per column.
    pub column_seconds: f64,
    /// Number of accessors per cell.
    pub accessors: usize,
    /// Columns; each has, row by row, a count for each accessor.
    pub columns: Vec<Vec<u64>>,
}

/// Sums slices, one at a time.
#[derive(Debug)]
pub struct Summing<'a> {
    of_thread: &'a [u16],
    accessors: usize,
    slice_seconds: f64,
    bands: Vec<Band>,
    /// The first page of each band.
    starts: Vec<u64>,
    columns: Groups<Vec<u64>>,
}

impl Accesses {
    /// Starts a sum over the slices of a profile's trace; `of_thread` gives the accessor of each
    /// thread, below `accessors`.
    #[must_use]
    pub fn of<'a>(profile: &PageProfile, of_thread: &'a [u16], accessors: usize) -> Summing<'a> {
        let runs = runs(profile);
        let starts: Vec<u64> =
            runs.iter().filter_map(|run| Some(profile.usage.pages().get(*run.first()?)?.number)).collect();
        let bands: Vec<Band> = runs.iter().map(|run| band(profile, run, of_thread, accessors)).collect();
        let columns = Groups::new(COLUMNS, vec![0; bands.len() * accessors]);
        let slice_seconds = num::float(profile.header.slice_ns) / 1e9;
        Summing { of_thread, accessors, slice_seconds, bands, starts, columns }
    }
}

impl Summing<'_> {
    /// Adds a slice, or a part of one. Slices come in the order of their numbers.
    pub fn add(&mut self, slice: &Slice) {
        for touch in &slice.first {
            if let Some(band) = row(&self.starts, touch.page).and_then(|row| self.bands.get_mut(row)) {
                band.first_slice.get_or_insert(slice.number);
            }
        }
        let column = self.columns.at(slice.number);
        for one in &slice.rows {
            let who = self.of_thread.get(num::index(one.thread)).map(|who| usize::from(*who));
            let at = row(&self.starts, one.page).zip(who).map(|(row, who)| row * self.accessors + who);
            if let Some(cell) = at.and_then(|at| column.get_mut(at)) {
                *cell = cell.saturating_add(one.loads).saturating_add(one.stores);
            }
        }
    }

    /// The result, once all slices are added.
    #[must_use]
    pub fn finish(self) -> Accesses {
        let column_seconds = num::float(self.columns.each()) * self.slice_seconds;
        Accesses { bands: self.bands, column_seconds, accessors: self.accessors, columns: self.columns.into_items() }
    }
}

/// The row that a page falls into.
fn row(starts: &[u64], page: u64) -> Option<usize> {
    starts.partition_point(|first| *first <= page).checked_sub(1)
}

/// The pages by address, as positions, divided into the rows of the map.
fn runs(profile: &PageProfile) -> Vec<Vec<usize>> {
    let pages = profile.usage.pages();
    let mut sorted: Vec<usize> = (0..pages.len()).collect();
    sorted.sort_unstable_by_key(|at| pages[*at].number);
    let structure = |at: &usize| profile.structure_of.get(*at);
    let parts: Vec<&[usize]> = sorted.chunk_by(|a, b| structure(a) == structure(b)).collect();
    let parts = if parts.len() > ROWS / 2 { vec![&sorted[..]] } else { parts };
    let (all, room) = (sorted.len().max(1), ROWS - parts.len().min(ROWS));
    let cut = |part: &&[usize]| {
        let rows = (1 + part.len() * room / all).min(part.len());
        (0..rows).map(|row| part[row * part.len() / rows..(row + 1) * part.len() / rows].to_vec()).collect::<Vec<_>>()
    };
    parts.iter().filter(|part| !part.is_empty()).flat_map(cut).collect()
}

fn band(profile: &PageProfile, run: &[usize], of_thread: &[u16], accessors: usize) -> Band {
    let (mut first, mut of) = (vec![0; accessors], vec![0_usize; profile.structures.len()]);
    for at in run {
        let page = profile.usage.pages()[*at];
        let who = of_thread.get(num::index(page.first)).map_or(0, |who| usize::from(*who));
        if let Some(count) = first.get_mut(who) {
            *count += 1;
        }
        let structure = profile.structure_of.get(*at).map(|structure| num::index(*structure));
        if let Some(count) = structure.and_then(|structure| of.get_mut(structure)) {
            *count += 1;
        }
    }
    let structure = of.iter().enumerate().rev().max_by_key(|(_, count)| **count).map_or(0, |(at, _)| at);
    let start = run.first().map_or(0, |at| profile.usage.pages()[*at].number);
    let address = start.saturating_mul(profile.header.page_bytes);
    Band { address, pages: run.len(), structure, first, first_slice: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::profile;
    use crate::trace::{FirstTouch, Row};

    fn slice(number: u64, touch: &[(u64, u32)], rows: &[(u64, u32, u64)]) -> Slice {
        let row =
            |(page, thread, loads): &(u64, u32, u64)| Row { page: *page, thread: *thread, loads: *loads, stores: 1 };
        let first = touch.iter().map(|(page, thread)| FirstTouch { page: *page, thread: *thread }).collect();
        Slice { number, first, rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn accesses_are_apart_by_who_makes_them() {
        // Four threads on two nodes, four pages in two structures.
        let profile = profile(&[[9, 0, 0, 0], [0, 9, 0, 0], [0, 0, 9, 0], [0, 0, 0, 9]], &[("a", 0..1), ("b", 1..4)]);
        let mut summing = Accesses::of(&profile, &[0, 0, 1, 1], 2);
        summing.add(&slice(1, &[(0, 0), (1, 3)], &[(0, 0, 4), (0, 3, 2), (1, 2, 6)]));
        summing.add(&slice(2, &[(3, 3)], &[(3, 1, 1)]));
        let map = summing.finish();
        let brief: Vec<_> = map.bands.iter().map(|band| (band.address, band.structure, band.first_slice)).collect();
        assert_eq!(brief, [(0, 0, Some(1)), (4096, 1, Some(1)), (8192, 1, None), (12288, 1, Some(2))]);
        assert_eq!(map.columns, [vec![0; 8], vec![5, 3, 0, 7, 0, 0, 0, 0], vec![0, 0, 0, 0, 0, 0, 2, 0]]);
        assert_eq!((map.accessors, map.bands.iter().map(|band| band.pages).sum::<usize>()), (2, 4));
    }

    #[test]
    fn rows_and_columns_are_bounded_and_no_page_is_lost() {
        let pages: Vec<[u64; 4]> = vec![[1; 4]; 1000];
        let profile = profile(&pages, &[("small", 0..1), ("large", 1..1000)]);
        let mut summing = Accesses::of(&profile, &[0, 1, 2, 3], 4);
        (0..3000).for_each(|number| summing.add(&slice(number, &[], &[(number % 1000, 2, 0)])));
        let map = summing.finish();
        assert!(map.bands.len() <= ROWS && map.columns.len() <= COLUMNS, "{} {}", map.bands.len(), map.columns.len());
        assert_eq!(map.bands.iter().map(|band| band.pages).sum::<usize>(), 1000);
        assert_eq!((map.bands[0].pages, map.bands[0].structure, map.bands[1].structure), (1, 0, 1));
        assert_eq!(map.columns.iter().flatten().sum::<u64>(), 3000);
    }
}
