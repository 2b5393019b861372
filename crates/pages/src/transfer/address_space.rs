//! What lies at an address. Regions are laid over each other, later over earlier, with named
//! regions below all others. Also the images of files, which include the anonymous memory after
//! them.

use crate::trace::{Region, RegionKind};
use std::collections::BTreeMap;

/// A stretch of one region that no later region covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub start: u64,
    pub end: u64,
    /// The region, by its index.
    pub region: usize,
    /// The image that the piece belongs to, by its index.
    pub image: Option<usize>,
}

/// A file's mappings, and the anonymous memory that follows them (`.bss`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    pub path: &'a str,
    /// Its lowest address.
    pub start: u64,
}

/// The address space of a run.
#[derive(Debug)]
pub struct AddressSpace<'a> {
    pub regions: &'a [Region],
    pub images: Vec<Image<'a>>,
    pieces: Vec<Piece>,
}

impl<'a> AddressSpace<'a> {
    pub fn new(regions: &'a [Region], page_bytes: u64) -> Self {
        let mut pieces: Vec<Piece> = laid(regions, page_bytes).into_values().collect();
        let images = images(regions, &mut pieces);
        Self { regions, images, pieces }
    }

    /// What lies at an address.
    pub fn at(&self, address: u64) -> Option<&Piece> {
        let next = self.pieces.partition_point(|piece| piece.start <= address);
        self.pieces.get(next.checked_sub(1)?).filter(|piece| address < piece.end)
    }

    /// The image that ends below an address that no region covers.
    pub fn image_below(&self, address: u64) -> Option<usize> {
        let next = self.pieces.partition_point(|piece| piece.start <= address);
        self.pieces.get(next.checked_sub(1)?)?.image
    }

    /// The image of the file with this path, otherwise the only image of a file with the same name.
    pub fn image(&self, path: &str) -> Option<(usize, &Image<'a>)> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let all = || self.images.iter().enumerate();
        all().find(|(_, image)| image.path == path).or_else(|| {
            let mut alike = all().filter(|(_, image)| name(image.path) == name(path));
            alike.next().filter(|_| alike.next().is_none())
        })
    }

    /// Anonymous regions as (index, start, bytes), in the order of the regions, without those whose
    /// pieces are all `left_out`. A named region with nothing laid over it counts as anonymous.
    pub fn anonymous(&self, left_out: impl Fn(&Piece) -> bool) -> Vec<(usize, u64, u64)> {
        let mut places: Vec<usize> =
            self.pieces.iter().filter(|piece| !left_out(piece)).map(|piece| piece.region).collect();
        places.sort_unstable();
        places.dedup();
        let region = |place: usize| self.regions.get(place).map(|region| (place, region));
        let anonymous = |kind: &RegionKind| matches!(kind, RegionKind::Anonymous { .. } | RegionKind::Named { .. });
        let found = places.into_iter().filter_map(region).filter(|(_, region)| anonymous(&region.kind));
        found.map(|(place, region)| (place, region.start, region.end.saturating_sub(region.start))).collect()
    }
}

/// Lays named regions down first, because they only give names, then the others in their order.
fn laid(regions: &[Region], page_bytes: u64) -> BTreeMap<u64, Piece> {
    let mut pieces = BTreeMap::new();
    let named = |region: &Region| matches!(region.kind, RegionKind::Named { .. });
    for wanted in [true, false] {
        for (place, region) in regions.iter().enumerate().filter(|(_, region)| named(region) == wanted) {
            // A variable may begin and end within a page.
            let start = region.start / page_bytes * page_bytes;
            let end = region.end.div_ceil(page_bytes).saturating_mul(page_bytes);
            if start < end {
                cover(&mut pieces, Piece { start, end, region: place, image: None });
            }
        }
    }
    pieces
}

/// Lays a piece over what is there.
fn cover(pieces: &mut BTreeMap<u64, Piece>, new: Piece) {
    let below = pieces.range(..new.start).next_back().map(|(_, piece)| *piece).filter(|piece| piece.end > new.start);
    if let Some(below) = below {
        pieces.insert(below.start, Piece { end: new.start, ..below });
        if below.end > new.end {
            pieces.insert(new.end, Piece { start: new.end, ..below });
        }
    }
    let within: Vec<u64> = pieces.range(new.start..new.end).map(|(start, _)| *start).collect();
    for start in within {
        let old = pieces.remove(&start).filter(|old| old.end > new.end);
        if let Some(old) = old {
            pieces.insert(new.end, Piece { start: new.end, ..old });
        }
    }
    pieces.insert(new.start, new);
}

/// Finds the images, and marks the pieces that belong to one: the pieces of its file, anonymous
/// pieces directly after it, and variables anywhere after it.
fn images<'a>(regions: &'a [Region], pieces: &mut [Piece]) -> Vec<Image<'a>> {
    let mut images: Vec<Image<'a>> = Vec::new();
    let mut by_path: BTreeMap<&str, usize> = BTreeMap::new();
    let mut before: Option<(u64, usize)> = None;
    for piece in pieces {
        piece.image = match regions.get(piece.region).map(|region| &region.kind) {
            Some(RegionKind::File { path, .. }) => Some(*by_path.entry(path).or_insert_with(|| {
                images.push(Image { path, start: piece.start });
                images.len() - 1
            })),
            Some(RegionKind::Anonymous { .. }) => before.filter(|(end, _)| *end == piece.start).map(|(_, image)| image),
            // Between variables there may be others that have no name in the trace.
            Some(RegionKind::Named { .. }) => before.map(|(_, image)| image),
            _ => None,
        };
        before = piece.image.map(|image| (piece.end, image));
    }
    images
}
