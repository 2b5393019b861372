//! Finds the anonymous mappings of one run in another run, by size and order. Linux places the
//! mappings of a process from the top of the address space down, and shows neighbouring mappings
//! with equal rights as one. So the mappings of the live process are taken from the highest to the
//! lowest. Each is filled with a row of traced mappings that are consecutive in the order of
//! creation, the first one highest, and that together have its size: exactly, or if no row has that
//! size, up to a sixteenth less. The remaining space is left at the upper end, because the mappings
//! whose size differs from run to run are buffers of the loader, which are created first (the
//! buffer for thread-local storage is larger on a CPU with larger registers).

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of traced mappings that one live mapping can hold.
const LONGEST_ROW: usize = 64;

/// How much smaller a row may be than the mapping that it fills: the mapping's size divided by this
/// number.
const SPARE: u64 = 16;

/// A mapping as (index of the region, start, bytes).
type Sized = (usize, u64, u64);

/// Where each traced mapping begins in the live process, by its index. Mappings that are not found
/// are absent.
pub fn places(traced: &[Sized], live: &[Sized]) -> BTreeMap<usize, u64> {
    let mut rest: Vec<Sized> = traced.to_vec();
    let mut free: Vec<Sized> = live.to_vec();
    free.sort_unstable_by_key(|(_, start, _)| Reverse(*start));
    let mut places = BTreeMap::new();
    for spare in [None, Some(SPARE)] {
        free = fill(free, spare, &mut rest, &mut places);
        // A mapping shows as several if the process changed the rights or advice of a part of it.
        free = fill(joined(free), spare, &mut rest, &mut places);
    }
    places
}

/// Fills mappings from the highest down, and returns those that stay empty.
fn fill(
    mut free: Vec<Sized>,
    spare: Option<u64>,
    rest: &mut Vec<Sized>,
    places: &mut BTreeMap<usize, u64>,
) -> Vec<Sized> {
    free.retain(|&(_, start, bytes)| {
        let missing = spare.map_or(0, |part| bytes / part);
        let Some((first, count)) = row(rest, bytes - missing, bytes) else { return true };
        let mut top = start + rest[first..first + count].iter().map(|(_, _, bytes)| bytes).sum::<u64>();
        for (place, _, bytes) in rest.drain(first..first + count) {
            top -= bytes;
            places.insert(place, top);
        }
        false
    });
    free
}

/// Merges neighbouring mappings, which come from the highest down.
fn joined(free: Vec<Sized>) -> Vec<Sized> {
    let mut joined: Vec<Sized> = Vec::new();
    for (at, start, bytes) in free {
        match joined.last_mut().filter(|above| above.1 == start + bytes) {
            Some(above) => (above.1, above.2) = (start, above.2 + bytes),
            None => joined.push((at, start, bytes)),
        }
    }
    joined
}

/// The first row whose bytes are within bounds, with single mappings tried before longer rows:
/// where it begins, and its number of mappings.
fn row(rest: &[Sized], least: u64, most: u64) -> Option<(usize, usize)> {
    let fits = |sum: u64| least <= sum && sum <= most;
    let single = rest.iter().position(|(_, _, bytes)| fits(*bytes)).map(|first| (first, 1));
    single.or_else(|| {
        (0..rest.len()).find_map(|first| {
            let sums = rest[first..].iter().take(LONGEST_ROW).scan(0_u64, |sum, (_, _, bytes)| {
                *sum = sum.saturating_add(*bytes);
                (*sum <= most).then_some(*sum)
            });
            sums.enumerate().find(|(_, sum)| fits(*sum)).map(|(last, _)| (first, last + 1))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    fn pages(mappings: &[(u64, u64)]) -> Vec<Sized> {
        mappings.iter().enumerate().map(|(place, (start, pages))| (place, start * PAGE, pages * PAGE)).collect()
    }

    fn found(traced: &[(u64, u64)], live: &[(u64, u64)]) -> Vec<Option<u64>> {
        let places = places(&pages(traced), &pages(live));
        (0..traced.len()).map(|place| places.get(&place).map(|start| start / PAGE)).collect()
    }

    #[test]
    fn equal_sizes_go_from_the_top_down() {
        assert_eq!(
            found(&[(10, 4), (20, 4), (30, 7)], &[(100, 4), (200, 7), (300, 4)]),
            [Some(300), Some(100), Some(200)]
        );
    }

    #[test]
    fn neighbours_that_linux_shows_as_one_are_told_apart_by_their_sizes() {
        // 4 + 7 + 2 = 13 pages: the first mapping lies highest.
        assert_eq!(found(&[(10, 4), (20, 7), (40, 2)], &[(100, 13)]), [Some(109), Some(102), Some(100)]);
    }

    #[test]
    fn a_mapping_whose_parts_have_other_rights_is_found_whole() {
        // 12 pages, of which pages 3 to 8 were given other rights. The mapping at 200 is another
        // one.
        assert_eq!(found(&[(10, 7), (20, 12)], &[(100, 3), (103, 6), (109, 3), (200, 7)]), [Some(200), Some(100)]);
    }

    #[test]
    fn a_little_more_is_borne_and_what_fits_nowhere_is_not_found() {
        // A row of 32 pages in a mapping of 33: one page to spare, and 33 / 16 = 2 would be
        // allowed.
        assert_eq!(found(&[(10, 32), (50, 500)], &[(100, 33)]), [Some(100), None]);
        // The loader's buffer has 3 pages here and had 2 in the traced run. The other mappings are
        // found where they are.
        assert_eq!(found(&[(10, 2), (20, 514), (30, 514)], &[(100, 1031)]), [Some(1128), Some(614), Some(100)]);
        assert_eq!(found(&[(10, 32)], &[(100, 40)]), [None]);
        assert_eq!(found(&[], &[(100, 40)]), []);
    }
}
