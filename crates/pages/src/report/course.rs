//! A program slice by slice: how exclusive its accesses are, how many pages change their best node
//! (figure 11 of the paper), and which of its pages are hot. The number of points is bounded,
//! however long the run: if there would be more, neighbouring points are merged.

use crate::dynamics::Dynamics;
use crate::error::PagesError;
use crate::homes::Homes;
use crate::metrics::{self, float};
use crate::profile::PageProfile;
use crate::seen::Seen;
use crate::trace::{End, Row, Slice};
use crate::usage::{Page, Usage};
use isobar_model::{Seconds, num};

/// A slice is restless if at least this fraction of all pages migrates in it. This is how many
/// migrate in each slice of Vips, the most dynamic program of the paper, from which the paper
/// expects less gain (section 6.2).
pub const RESTLESS: f64 = 0.004;

/// Maximum number of points in time.
const POINTS: usize = 1024;
/// Maximum number of columns of the heat map.
const COLUMNS: usize = 256;
/// Maximum number of rows of the heat map.
const ROWS: usize = 128;

/// A point in time: one slice, or several consecutive ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Seconds from the start of the trace.
    pub begin: f64,
    /// Pages whose best node changed (equation 6).
    pub migrations: u64,
    /// Exclusivity of the accesses; `None` if there are none.
    pub exclusivity: Option<f64>,
    /// Accesses.
    pub accesses: u128,
}

/// Accesses by page and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// First address of each row, ascending. All rows hold the same number of accessed pages.
    pub rows: Vec<u64>,
    /// Columns in time; each has the accesses of every row.
    pub columns: Vec<Vec<u64>>,
    /// Seconds per column.
    pub column_seconds: f64,
}

/// A program slice by slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Number of slices with accesses.
    pub slices: u64,
    /// Seconds per slice.
    pub slice_seconds: f64,
    /// Seconds per point.
    pub point_seconds: f64,
    /// Points in time, without gaps.
    pub points: Vec<Point>,
    /// Accesses by page and time.
    pub heat: Heat,
    /// Migrations in all slices.
    pub migrations: u64,
    /// Slices in which at least [`RESTLESS`] of all pages migrate, in per cent of the slices with
    /// accesses; `None` if no slice has any.
    pub restless_percent: Option<f64>,
    /// Exclusivity within the slices, each slice weighted by its accesses. How far it is above that
    /// of the whole run is what following the pages could gain.
    pub exclusivity: Option<f64>,
    /// Duration of the run in seconds, by the trace's clock.
    pub seconds: f64,
    /// Migrations per second (equation 7); `None` if no time passed.
    pub dynamicity: Option<f64>,
}

/// Builds a course from slices, one at a time.
#[derive(Debug)]
pub struct Follow<'a> {
    homes: &'a Homes,
    page_bytes: u64,
    shift: u32,
    slice_seconds: f64,
    dynamics: Dynamics,
    points: Groups<Sums>,
    rows: Vec<u64>,
    heat: Groups<Vec<u64>>,
    slices: u64,
    restless: u64,
    /// Migrations from which on a slice is restless.
    enough: f64,
    migrations: u64,
    behind: u64,
    /// A slice that may have more parts to come.
    open: Option<Slice>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    migrations: u64,
    accesses: u128,
    /// Exclusivity times accesses.
    exclusive: f64,
}

impl Course {
    /// Follows the slices of a profile's trace.
    ///
    /// # Errors
    /// A page size that the trace does not have.
    pub fn follow<'a>(
        profile: &PageProfile,
        homes: &'a Homes,
        page_bytes: Option<u64>,
    ) -> Result<Follow<'a>, PagesError> {
        let (from, to) = (profile.header.page_bytes, page_bytes.unwrap_or(profile.header.page_bytes));
        if !from.is_power_of_two() || !to.is_power_of_two() || to < from {
            return Err(PagesError::PageSize { from, to });
        }
        let shift = to.trailing_zeros() - from.trailing_zeros();
        let mut pages: Vec<u64> = profile.usage.pages().iter().map(|page| page.number).collect();
        pages.sort_unstable();
        let rows = rows(&pages);
        pages.dedup_by_key(|page| *page >> shift);
        Ok(Follow {
            homes,
            page_bytes: to,
            shift,
            slice_seconds: num::float(profile.header.slice_ns) / 1e9,
            dynamics: Dynamics::default(),
            points: Groups::new(POINTS, Sums::default()),
            heat: Groups::new(COLUMNS, vec![0; rows.len()]),
            rows,
            slices: 0,
            restless: 0,
            enough: (num::float_len(pages.len()) * RESTLESS).max(f64::MIN_POSITIVE),
            migrations: 0,
            behind: 0,
            open: None,
        })
    }
}

impl Follow<'_> {
    /// Adds a slice, or the next part of the slice before. Slices come in the order of their
    /// numbers.
    ///
    /// # Errors
    /// More nodes or threads than are allowed.
    pub fn add(&mut self, mut slice: Slice) -> Result<(), PagesError> {
        match &mut self.open {
            Some(open) if open.number == slice.number => open.rows.append(&mut slice.rows),
            open => {
                if let Some(whole) = open.replace(slice) {
                    self.close(&whole)?;
                }
            }
        }
        Ok(())
    }

    fn close(&mut self, slice: &Slice) -> Result<(), PagesError> {
        let usage = self.usage(&slice.rows)?;
        let seen = Seen::new(&usage, self.homes)?;
        let found = self.dynamics.add(&seen);
        let point = self.points.at(slice.number);
        point.migrations += found.migrations;
        point.accesses += seen.accesses();
        point.exclusive += found.exclusivity.unwrap_or_default() * float(seen.accesses());
        self.warm(slice);
        self.slices += 1;
        self.restless += u64::from(num::float(found.migrations) >= self.enough);
        self.migrations += found.migrations;
        self.behind = self.behind.max(slice.number.saturating_add(1));
        Ok(())
    }

    /// The rows of a slice, which are sorted by page, at the page size that was asked for.
    fn usage(&self, rows: &[Row]) -> Result<Usage, PagesError> {
        let threads = self.homes.threads();
        let (mut usage, mut counts) = (Usage::new(threads, self.page_bytes)?, vec![0_u64; threads]);
        for same in rows.chunk_by(|a, b| a.page >> self.shift == b.page >> self.shift) {
            counts.fill(0);
            for row in same {
                if let Some(count) = counts.get_mut(num::index(row.thread)) {
                    *count = count.saturating_add(row.loads).saturating_add(row.stores);
                }
            }
            let number = same.first().map_or(0, |row| row.page >> self.shift);
            usage.push(Page { number, first: 0 }, &counts)?;
        }
        Ok(usage)
    }

    fn warm(&mut self, slice: &Slice) {
        let column = self.heat.at(slice.number);
        for row in &slice.rows {
            let at = self.rows.partition_point(|first| *first <= row.page).saturating_sub(1);
            if let Some(cell) = column.get_mut(at) {
                *cell = cell.saturating_add(row.loads).saturating_add(row.stores);
            }
        }
    }

    /// The course, once all slices are added.
    ///
    /// # Errors
    /// As [`Follow::add`].
    pub fn finish(mut self, profile: &PageProfile) -> Result<Course, PagesError> {
        if let Some(last) = self.open.take() {
            self.close(&last)?;
        }
        Ok(self.course(profile))
    }

    fn course(self, profile: &PageProfile) -> Course {
        let ran = profile.end.as_ref().map(|end: &End| num::float(end.ran_ns) / 1e9);
        let seconds = ran.unwrap_or(num::float(self.behind) * self.slice_seconds);
        let length = |each: u64| num::float(each) * self.slice_seconds;
        let (point_seconds, column_seconds) = (length(self.points.each), length(self.heat.each));
        let mut all = Sums::default();
        self.points.items.iter().for_each(|sums| all.merge(sums));
        let point = |(at, sums): (usize, Sums)| Point {
            begin: num::float_len(at) * point_seconds,
            migrations: sums.migrations,
            exclusivity: sums.exclusivity(),
            accesses: sums.accesses,
        };
        let address = |page: u64| page.saturating_mul(profile.header.page_bytes);
        Course {
            slices: self.slices,
            slice_seconds: self.slice_seconds,
            point_seconds,
            points: self.points.items.into_iter().enumerate().map(point).collect(),
            heat: Heat { rows: self.rows.into_iter().map(address).collect(), columns: self.heat.items, column_seconds },
            migrations: self.migrations,
            restless_percent: metrics::percent(self.restless.into(), self.slices.into()),
            exclusivity: all.exclusivity(),
            seconds,
            dynamicity: self.dynamics.dynamicity(Seconds(seconds)),
        }
    }
}

/// The first page of each row of the heat map, from sorted pages.
fn rows(pages: &[u64]) -> Vec<u64> {
    let rows = pages.len().min(ROWS);
    (0..rows).map(|row| pages[row * pages.len() / rows]).collect()
}

/// Items by number. If there would be too many, several numbers share an item.
#[derive(Debug)]
pub(super) struct Groups<T> {
    each: u64,
    most: usize,
    blank: T,
    items: Vec<T>,
}

impl Sums {
    fn exclusivity(&self) -> Option<f64> {
        (self.accesses > 0).then(|| self.exclusive / float(self.accesses))
    }
}

/// Items that can be merged.
pub(super) trait Merge: Clone {
    /// Adds the following item to this one.
    fn merge(&mut self, next: &Self);
}

impl Merge for Sums {
    fn merge(&mut self, next: &Self) {
        self.migrations += next.migrations;
        self.accesses += next.accesses;
        self.exclusive += next.exclusive;
    }
}

impl Merge for Vec<u64> {
    fn merge(&mut self, next: &Self) {
        self.iter_mut().zip(next).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }
}

impl<T: Merge> Groups<T> {
    /// At most `most` items, each equal to `blank` at first.
    pub(super) const fn new(most: usize, blank: T) -> Self {
        Self { each: 1, most, blank, items: Vec::new() }
    }

    /// How many numbers share an item.
    pub(super) const fn each(&self) -> u64 {
        self.each
    }

    /// The items.
    pub(super) fn into_items(self) -> Vec<T> {
        self.items
    }

    /// The item of a number.
    pub(super) fn at(&mut self, number: u64) -> &mut T {
        while number / self.each >= self.most as u64 {
            self.halve();
        }
        let index = usize::try_from(number / self.each).unwrap_or(0);
        if index >= self.items.len() {
            self.items.resize(index + 1, self.blank.clone());
        }
        &mut self.items[index]
    }

    /// Merges neighbouring items in pairs.
    fn halve(&mut self) {
        self.each *= 2;
        let pairs = self.items.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|next| sum.merge(next));
            sum
        });
        self.items = pairs.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::profile;

    fn slice(number: u64, rows: &[(u64, u32, u64)]) -> Slice {
        let row =
            |(page, thread, loads): &(u64, u32, u64)| Row { page: *page, thread: *thread, loads: *loads, stores: 0 };
        Slice { number, first: Vec::new(), rows: rows.iter().map(row).collect() }
    }

    fn course(slices: &[Slice], page_bytes: Option<u64>) -> Course {
        let (profile, homes) = (profile(&[[1; 4]; 4], &[]), Homes::compact(4, 4).unwrap());
        let mut follow = Course::follow(&profile, &homes, page_bytes).unwrap();
        slices.iter().for_each(|slice| follow.add(slice.clone()).unwrap());
        follow.finish(&profile).unwrap()
    }

    #[test]
    fn pages_change_their_node_and_a_gap_is_a_point_without_accesses() {
        let course = course(&[slice(0, &[(0, 0, 9), (1, 1, 1)]), slice(2, &[(0, 1, 4), (0, 2, 4), (1, 1, 2)])], None);
        let brief: Vec<_> = course.points.iter().map(|at| (at.migrations, at.exclusivity, at.accesses)).collect();
        // In slice 2, six of ten accesses are from the best nodes: 4 of 8, and 2 of 2.
        assert_eq!(brief, [(0, Some(1.0), 10), (0, None, 0), (1, Some(0.6), 10)]);
        assert_eq!((course.slices, course.migrations, course.seconds), (2, 1, 0.03));
        assert_eq!((course.restless_percent, course.exclusivity), (Some(50.0), Some(0.8)));
        assert!((course.dynamicity.unwrap() - 1.0 / 0.03).abs() < 1e-9);
        assert_eq!(course.heat.rows, [0, 4096, 8192, 12288]);
        assert_eq!(course.heat.columns, [vec![9, 1, 0, 0], vec![0; 4], vec![8, 2, 0, 0]]);
    }

    #[test]
    fn a_slice_may_come_in_parts() {
        let parts = course(&[slice(3, &[(0, 0, 9)]), slice(3, &[(1, 1, 1)]), slice(4, &[(1, 2, 1)])], None);
        assert_eq!((parts.slices, parts.migrations, parts.points[3].accesses), (2, 1, 10));
    }

    #[test]
    fn large_pages_gather_their_small_ones() {
        let course = course(&[slice(0, &[(0, 0, 3), (1, 1, 2)]), slice(1, &[(0, 0, 1), (1, 1, 2)])], Some(8192));
        assert_eq!(course.migrations, 1, "3 of 5 accesses are node 0's, then 2 of 3 node 1's");
    }

    #[test]
    fn a_long_run_has_no_more_points_than_a_short_one_may() {
        let slices: Vec<Slice> = (0..5000).map(|number| slice(number, &[(0, u32::from(number % 2 == 0), 1)])).collect();
        let long = course(&slices, None);
        assert_eq!(long.points.len(), 625, "eight slices each");
        assert_eq!(long.points.iter().map(|at| at.migrations).sum::<u64>(), 4999);
        assert_eq!(long.heat.columns.len(), 157, "32 slices each");
        assert_eq!(long.heat.columns.iter().map(|column| column[0]).sum::<u64>(), 5000);
        assert!((long.point_seconds - 0.08).abs() < 1e-12);
        let far = course(&[slice(u64::MAX, &[(0, 0, 1)])], None);
        assert!(far.points.len() <= POINTS && far.heat.columns.len() <= COLUMNS);
    }
}
