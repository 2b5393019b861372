//! The page usage of a whole run, together with what each page belongs to. Reports, predictions and
//! placements of pages start from it. It is read from a trace or imported from another tool.
//!
//! ```text
//! sum          the slices of a trace, summed by page and thread; index: pages by number
//! structures   what each page belongs to
//! linux        where the kernel had the pages
//! ```

mod index;
mod linux;
mod structures;
pub(crate) mod sum;
#[cfg(test)]
mod tests;

pub use linux::KernelPlacement;
pub use structures::Structure;

use crate::error::PagesError;
use crate::trace::{End, Header, Packed, Reader, TraceError};
use crate::usage::Usage;
use isobar_model::num;
use std::collections::BTreeMap;
use std::io::Read;

/// The page usage of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct PageProfile {
    /// How the profile was made; for an import, `engine` says so.
    pub header: Header,
    /// Accesses by page and thread, at the page size of the trace, in the order of first touch.
    pub usage: Usage,
    /// The structures, in the order of first touch.
    pub structures: Vec<Structure>,
    /// For each page of `usage`, the structure that it belongs to.
    pub structure_of: Vec<u32>,
    /// Names of the threads by number: `T0` and so on for threads without a name.
    pub threads: Vec<String>,
    /// Where the kernel had placed the pages in the traced run; `None` if the file does not say.
    pub linux: Option<KernelPlacement>,
    /// How the run ended; `None` if the file was cut off, or if the tool that wrote the file does
    /// not say.
    pub end: Option<End>,
}

impl PageProfile {
    /// Sums a trace, slice by slice. The memory needed is pages times threads, however long the
    /// trace is. A file that was cut off counts up to the cut; `end` is `None` then.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read(from: impl Read) -> Result<Self, TraceError> {
        Self::read_at_most(from, sum::MOST_COUNTS)
    }

    /// The same, with a limit on counts (pages times threads). [`PageProfile::read`] allows 2^31.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read_at_most(from: impl Read, counts: usize) -> Result<Self, TraceError> {
        let mut reader = Reader::new(from)?;
        let header = reader.header().clone();
        let (mut sum, mut space, mut names, mut end) =
            (sum::Sum::of_most(counts), structures::Space::default(), BTreeMap::new(), None);
        let mut linux = linux::Last::default();
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
                Some(Packed::Placed(placed)) => linux.add(placed),
                Some(Packed::End(found)) => end = Some(found),
            }
        }
        let usage = sum.usage(header.page_bytes)?;
        let (structures, structure_of) = space.structures(usage.pages(), header.page_bytes);
        let name = |thread| names.get(&thread).cloned().unwrap_or_else(|| format!("T{thread}"));
        let threads = (0..usage.threads()).map(name).collect();
        let linux = linux.of(usage.pages());
        Ok(Self { header, usage, structures, structure_of, threads, linux, end })
    }

    /// What the trace lacks, one sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let Some(end) = &self.end else {
            let cut = "the trace has no end: the program still runs, or was cut off. Everything up to the last \
                       whole slice counts.";
            return vec![cut.to_owned()];
        };
        let signal = end.status.is_none().then(|| "a signal ended the program.".to_owned());
        signal.into_iter().chain(end.missing.iter().map(|missing| format!("not in the trace: {missing}"))).collect()
    }

    /// The same profile at a larger page size. A large page belongs to the structure with the most
    /// accesses in it, or the first of several equal ones. The nodes on which the kernel had placed
    /// the small pages are dropped, because they do not say where a large page would be.
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
        Ok(Self { header, usage, structure_of, linux: None, ..self.clone() })
    }
}
