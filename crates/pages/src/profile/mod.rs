//! The page usage of a whole run with what its pages are: what a report, a prediction and a placement
//! of pages start from. Read from a trace or imported from another tool.
//!
//! ```text
//! sum          the slices of a trace, summed by page and thread; index: pages by number
//! structures   what each page belongs to
//! ```

mod index;
mod structures;
pub(crate) mod sum;
#[cfg(test)]
mod tests;

use crate::dynamics::{Dynamics, Slice};
use crate::error::PagesError;
use crate::homes::Homes;
use crate::seen::Seen;
pub use structures::Structure;

use crate::trace::{End, Header, Packed, Reader, TraceError};
use crate::usage::Usage;
use isobar_model::{Seconds, num};
use std::collections::BTreeMap;
use std::io::Read;

/// The page usage of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct PageProfile {
    /// How it was made; an import says so in `engine`.
    pub header: Header,
    /// Accesses by page and thread, at the page size of the trace, in the order of first touch.
    pub usage: Usage,
    /// What there is, in the order of first touch.
    pub structures: Vec<Structure>,
    /// For each page of `usage` the structure it belongs to.
    pub structure_of: Vec<u32>,
    /// Names of the threads by number: `T0` where they have none.
    pub threads: Vec<String>,
    /// How it ended; `None` where the file was cut off, or the tool that wrote it does not say.
    pub end: Option<End>,
}

impl PageProfile {
    /// Sums a trace, slice by slice: it takes memory for pages times threads, however long it is. A
    /// file that was cut off counts up to there; `end` is `None` then.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read(from: impl Read) -> Result<Self, TraceError> {
        let mut reader = Reader::new(from)?;
        let header = reader.header().clone();
        let (mut sum, mut space, mut names, mut end) =
            (sum::Sum::new(), structures::Space::default(), BTreeMap::new(), None);
        loop {
            let offset = reader.offset();
            match reader.packed()? {
                None => break,
                Some(Packed::Slice(slice)) => {
                    sum.add(&slice).map_err(|what| TraceError::Damaged { offset, what })?;
                }
                Some(Packed::Region(region)) => space.cover(region),
                Some(Packed::Thread(thread)) => {
                    sum.thread(thread.number).map_err(|what| TraceError::Damaged { offset, what })?;
                    names.extend(thread.name.map(|name| (num::index(thread.number), name)));
                }
                Some(Packed::End(found)) => end = Some(found),
            }
        }
        let usage = sum.usage(header.page_bytes)?;
        let (structures, structure_of) = space.structures(usage.pages(), header.page_bytes);
        let name = |thread| names.get(&thread).cloned().unwrap_or_else(|| format!("T{thread}"));
        let threads = (0..usage.threads()).map(name).collect();
        Ok(Self { header, usage, structures, structure_of, threads, end })
    }

    /// The same at a larger page size. A large page belongs to the structure with the most accesses
    /// in it, the first of equals.
    ///
    /// # Errors
    /// [`PagesError::PageSize`].
    pub fn with_pages_of(&self, bytes: u64) -> Result<Self, PagesError> {
        let usage = self.usage.with_pages_of(bytes)?;
        let shift = bytes.trailing_zeros() - self.usage.page_bytes().trailing_zeros();
        let mut weights: BTreeMap<u64, BTreeMap<u32, u128>> = BTreeMap::new();
        for ((page, row), structure) in self.usage.rows().zip(&self.structure_of) {
            let accesses: u128 = row.iter().map(|count| u128::from(*count)).sum();
            *weights.entry(page.number >> shift).or_default().entry(*structure).or_default() += accesses;
        }
        let most = |number: u64| {
            let of_page = weights.get(&number)?.iter();
            of_page
                .max_by_key(|(structure, weight)| (**weight, std::cmp::Reverse(**structure)))
                .map(|(found, _)| *found)
        };
        let structure_of = usage.pages().iter().map(|page| most(page.number).unwrap_or_default()).collect();
        let header = Header { page_bytes: bytes, ..self.header.clone() };
        Ok(Self { header, usage, structure_of, ..self.clone() })
    }
}

/// How the pages of a trace change the node with the most accesses, slice by slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Slices in which anything was accessed: number, and what it shows.
    pub slices: Vec<(u64, Slice)>,
    /// Migrations a second (equation 7); `None` of a trace that was cut off.
    pub dynamicity: Option<f64>,
}

/// Follows a trace slice by slice, at its own page size.
///
/// # Errors
/// [`TraceError`]; homes of another number of threads.
pub fn course(from: impl Read, homes: &Homes) -> Result<Course, TraceError> {
    let mut reader = Reader::new(from)?;
    let page_bytes = reader.header().page_bytes;
    let (mut dynamics, mut course, mut now) = (Dynamics::default(), Course::default(), None);
    let mut sum = sum::Sum::new();
    let mut close = |sum: sum::Sum, number: Option<u64>, slices: &mut Vec<(u64, Slice)>| {
        let Some(number) = number else { return Ok(()) };
        let usage = sum.usage(page_bytes)?;
        slices.push((number, dynamics.add(&Seen::new(&usage, homes)?)));
        Ok::<_, TraceError>(())
    };
    let mut ran = None;
    loop {
        let offset = reader.offset();
        match reader.packed()? {
            None => break,
            Some(Packed::Slice(slice)) => {
                if now != Some(slice.number) {
                    close(std::mem::replace(&mut sum, of_threads(homes)?), now, &mut course.slices)?;
                    now = Some(slice.number);
                }
                sum.add(&slice).map_err(|what| TraceError::Damaged { offset, what })?;
            }
            Some(Packed::End(end)) => ran = Some(Seconds(num::float(end.ran_ns) / 1e9)),
            Some(Packed::Thread(_) | Packed::Region(_)) => {}
        }
    }
    close(sum, now, &mut course.slices)?;
    course.dynamicity = ran.and_then(|ran| dynamics.dynamicity(ran));
    Ok(course)
}

/// A sum of a slice, in which not every thread need occur.
fn of_threads(homes: &Homes) -> Result<sum::Sum, TraceError> {
    let mut sum = sum::Sum::new();
    if let Some(last) = homes.threads().checked_sub(1) {
        sum.thread(num::narrow(last)).map_err(|_| PagesError::Count("threads"))?;
    }
    Ok(sum)
}
