//! Transfers a placement of a traced run to another run of the same program. Addresses differ from
//! run to run, so each page is found again by what it belongs to:
//!
//! | page of | found by |
//! |---|---|
//! | the stack of a thread | number of the thread, distance from the stack's end |
//! | the heap | distance from its begin |
//! | a mapped file | path (else name) and place in the image; else offset in the file |
//! | static variables behind a file's mapping (`.bss`) | place in the file's image |
//! | an anonymous mapping | size and order of creation (see [`anonymous`]) |
//!
//! Named regions give the names that people use; the regions laid over them say where a page is. A
//! profile without any region (an import from another tool) is taken at its addresses. That is
//! correct only for static memory of a program that is always loaded at the same addresses.
//!
//! Properties: no live page is wanted on two nodes. Every wanted page lies in a mapping of the live
//! process. If a run is transferred to itself, every page that a region covers keeps its address.

mod address_space;
mod anonymous;

use crate::mapping::Placement;
use crate::profile::PageProfile;
use crate::trace::{Region, RegionKind};
use address_space::{AddressSpace, Piece};
use isobar_model::num;
use std::collections::BTreeMap;

/// A page of the live process and the node that it is wanted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its number: address divided by page size.
    pub page: u64,
    /// The node, numbered from 0 as in the mapping.
    pub node: u16,
    /// The structure that it belongs to, by its index in the profile.
    pub structure: u32,
}

/// The result of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Pages of the live process, ascending; none twice.
    pub wanted: Vec<Wanted>,
    /// Number of traced pages without a counterpart in the live process, by structure.
    pub lost: BTreeMap<u32, u64>,
}

/// Transfers a placement. `regions` are those of the trace, in its order. `live` are the mappings
/// of the live process; the creation order in its anonymous mappings is not read. Pages of the live
/// process have `page_bytes` bytes. Traced pages may be larger, but must not be smaller.
#[must_use]
pub fn transfer(
    profile: &PageProfile,
    regions: &[Region],
    placement: &Placement,
    live: &[Region],
    page_bytes: u64,
) -> Transfer {
    let traced_bytes = profile.usage.page_bytes();
    let each = (traced_bytes / page_bytes.max(1)).max(1);
    let found = Finder::new(regions, live, page_bytes);
    let mut wanted = BTreeMap::new();
    let mut lost = BTreeMap::new();
    let pages = profile.usage.pages().iter().zip(placement.nodes()).zip(&profile.structure_of);
    for ((page, &node), &structure) in pages {
        let start = page.number.saturating_mul(traced_bytes);
        let mut here = 0;
        for part in 0..each {
            if let Some(address) = found.find(start.saturating_add(part * page_bytes)) {
                here += 1;
                let page = address / page_bytes;
                wanted.entry(page).or_insert(Wanted { page, node, structure });
            }
        }
        if here == 0 {
            *lost.entry(structure).or_default() += 1;
        }
    }
    Transfer { wanted: wanted.into_values().collect(), lost }
}

/// Finds the addresses of one run in another.
#[derive(Debug)]
struct Finder<'a> {
    traced: AddressSpace<'a>,
    live: AddressSpace<'a>,
    live_heap: Option<u64>,
    traced_heap: u64,
    anonymous: BTreeMap<usize, u64>,
}

impl<'a> Finder<'a> {
    fn new(regions: &'a [Region], live: &'a [Region], page_bytes: u64) -> Self {
        let (traced, live) = (AddressSpace::new(regions, page_bytes), AddressSpace::new(live, page_bytes));
        let heap = |space: &AddressSpace<'_>| {
            let heaps = space.regions.iter().filter(|region| region.kind == RegionKind::Heap);
            heaps.map(|region| region.start).min()
        };
        let (traced_heap, live_heap) = (heap(&traced).unwrap_or(0), heap(&live));
        let mut finder = Self { traced, live, live_heap, traced_heap, anonymous: BTreeMap::new() };
        // A mapping may happen to follow a file's mapping in the traced run but not here.
        let here = |piece: &Piece| piece.image.and_then(|image| finder.in_image(image, piece.start)).is_some();
        let traced = finder.traced.anonymous(here);
        finder.anonymous = anonymous::places(&traced, &finder.live.anonymous(|piece| piece.image.is_some()));
        finder
    }

    /// The address in the live process; `None` if there is no counterpart.
    fn find(&self, address: u64) -> Option<u64> {
        if self.traced.regions.is_empty() {
            return self.live.at(address).map(|_| address);
        }
        let Some(piece) = self.traced.at(address) else {
            return self.in_image(self.traced.image_below(address)?, address);
        };
        let region = self.traced.regions.get(piece.region)?;
        if let Some(found) = piece.image.and_then(|image| self.in_image(image, address)) {
            return Some(found);
        }
        let found = match &region.kind {
            RegionKind::Stack(thread) => {
                let kind = RegionKind::Stack(*thread);
                let live = self.live.regions.iter().find(|live| live.kind == kind)?;
                let found = live.end.checked_sub(region.end.checked_sub(address)?)?;
                return (live.start <= found && found < live.end).then_some(found);
            }
            RegionKind::Heap => self.live_heap?.checked_add(address.checked_sub(self.traced_heap)?)?,
            RegionKind::File { .. } => return self.in_file(region, address),
            RegionKind::Anonymous { .. } | RegionKind::Named { .. } => {
                self.anonymous.get(&piece.region)?.checked_add(address.checked_sub(region.start)?)?
            }
        };
        let same = self.live.at(found).filter(|live| live.image.is_none());
        let kind = same.and_then(|live| self.live.regions.get(live.region)).map(|live| &live.kind);
        let fits = match region.kind {
            RegionKind::Heap => kind == Some(&RegionKind::Heap),
            _ => matches!(kind, Some(RegionKind::Anonymous { .. })),
        };
        fits.then_some(found)
    }

    /// Finds the address by its distance from the start of the file's image.
    fn in_image(&self, image: usize, address: u64) -> Option<u64> {
        let image = self.traced.images.get(image)?;
        let (at, live) = self.live.image(image.path)?;
        let found = live.start.checked_add(address.checked_sub(image.start)?)?;
        (self.live.at(found)?.image == Some(at)).then_some(found)
    }

    /// Finds the address by its offset in the file.
    fn in_file(&self, region: &Region, address: u64) -> Option<u64> {
        let RegionKind::File { path, offset } = &region.kind else { return None };
        let wanted = offset.checked_add(address.checked_sub(region.start)?)?;
        let (_, image) = self.live.image(path)?;
        self.live.regions.iter().find_map(|live| match &live.kind {
            RegionKind::File { path, offset } if path == image.path => {
                let found = live.start.checked_add(wanted.checked_sub(*offset)?)?;
                (found < live.end).then_some(found)
            }
            _ => None,
        })
    }
}

impl Transfer {
    /// Number of pages found, by structure.
    #[must_use]
    pub fn found(&self) -> BTreeMap<u32, u64> {
        let mut found = BTreeMap::new();
        self.wanted.iter().for_each(|wanted| *found.entry(wanted.structure).or_default() += 1);
        found
    }

    /// The name of a structure.
    #[must_use]
    pub fn name_of(profile: &PageProfile, structure: u32) -> &str {
        profile.structures.get(num::index(structure)).map_or("other", |structure| structure.name.as_str())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
