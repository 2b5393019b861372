//! Encodes the placement of pages as columns, and decodes it. Page numbers ascend, so their
//! differences are small.
//!
//! ```text
//! slice, nodes of the machine, pages P, lengths of the two columns in bytes
//! P x page      difference to the one before; the first from 0
//! P x node
//! ```
//!
//! All are varints.

use super::columns::MOST_PAGE;
use super::contents::Placed;
use super::varint::{Cursor, put};

/// Maximum number of nodes of a machine; Linux has at most 1,024 (`MAX_NUMNODES`).
const MOST_NODES: u32 = u16::MAX as u32;
const COLUMNS: usize = 2;
const BROKEN: &str = "a placement of pages whose columns contradict each other";

/// Writes a placement as columns.
///
/// # Errors
/// Pages out of order, or an invalid page or node.
pub fn encode(placed: &Placed, into: &mut Vec<u8>) -> Result<(), &'static str> {
    check_nodes(placed.nodes)?;
    let mut columns: [Vec<u8>; COLUMNS] = Default::default();
    let [pages, nodes] = &mut columns;
    let mut last = None;
    for (page, node) in &placed.pages {
        let difference = page.checked_sub(last.unwrap_or_default()).filter(|more| last.is_none() || *more > 0);
        put(pages, difference.ok_or("placed pages that are not in the order of their numbers")?);
        put(nodes, u64::from(check(*page, u64::from(*node), placed.nodes)?));
        last = Some(*page);
    }
    for value in [placed.slice, u64::from(placed.nodes), placed.pages.len() as u64] {
        put(into, value);
    }
    columns.iter().for_each(|column| put(into, column.len() as u64));
    columns.iter().for_each(|column| into.extend_from_slice(column));
    Ok(())
}

/// Reads columns.
///
/// # Errors
/// Columns that contradict each other.
pub fn decode(bytes: &[u8]) -> Result<Placed, &'static str> {
    find(bytes).ok_or(BROKEN)
}

fn find(bytes: &[u8]) -> Option<Placed> {
    let mut cursor = Cursor(bytes);
    let (slice, nodes) = (cursor.next()?, u32::try_from(cursor.next()?).ok()?);
    check_nodes(nodes).ok()?;
    // Each page takes at least two bytes, so a count cannot reserve more than the block holds.
    let mut count = || usize::try_from(cursor.next()?).ok().filter(|count| *count <= bytes.len());
    let (pages, lengths) = (count()?, [count()?, count()?]);
    let (first, second) = cursor.0.split_at_checked(lengths[0])?;
    if second.len() != lengths[1] {
        return None;
    }
    let (mut numbers, mut on) = (Cursor(first), Cursor(second));
    let mut placed = Placed { slice, nodes, pages: Vec::with_capacity(pages) };
    let mut last = 0_u64;
    for at in 0..pages {
        let more = numbers.next().filter(|more| at == 0 || *more > 0)?;
        last = last.checked_add(more)?;
        placed.pages.push((last, check(last, on.next()?, nodes).ok()?));
    }
    (numbers.0.is_empty() && on.0.is_empty()).then_some(placed)
}

const fn check_nodes(nodes: u32) -> Result<(), &'static str> {
    if nodes == 0 || nodes > MOST_NODES { Err("a machine without nodes, or with more than 65,535") } else { Ok(()) }
}

fn check(page: u64, node: u64, nodes: u32) -> Result<u16, &'static str> {
    if page >= MOST_PAGE {
        return Err("a page beyond the address space");
    }
    let node = Some(node).filter(|node| *node < u64::from(nodes));
    node.and_then(|node| u16::try_from(node).ok()).ok_or("a page on a node that the machine does not have")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(nodes: u32, pages: &[(u64, u16)]) -> Placed {
        Placed { slice: 7, nodes, pages: pages.to_vec() }
    }

    #[test]
    fn pages_are_differences_and_nodes_as_they_are() {
        let found = placed(4, &[(5, 0), (6, 3), (300, 1)]);
        let mut bytes = Vec::new();
        encode(&found, &mut bytes).unwrap();
        assert_eq!(bytes, [&[7, 4, 3, 4, 3][..], &[5, 1, 0xa6, 2], &[0, 3, 1]].concat());
        assert_eq!(decode(&bytes), Ok(found));
        let (mut bytes, nothing) = (Vec::new(), placed(1, &[]));
        encode(&nothing, &mut bytes).unwrap();
        assert_eq!(decode(&bytes), Ok(nothing));
    }

    #[test]
    fn what_cannot_be_is_neither_written_nor_read() {
        let message = |nodes, pages: &[_]| encode(&placed(nodes, pages), &mut Vec::new()).unwrap_err();
        assert_eq!(message(2, &[(6, 0), (6, 0)]), "placed pages that are not in the order of their numbers");
        assert_eq!(message(2, &[(6, 2)]), "a page on a node that the machine does not have");
        assert_eq!(message(2, &[(1 << 52, 0)]), "a page beyond the address space");
        assert_eq!(message(0, &[]), "a machine without nodes, or with more than 65,535");
        // A node number that is too high, a page that appears twice, a byte too many, a count
        // without bytes, no nodes.
        for bytes in [
            &[0, 2, 1, 1, 1, 5, 2][..],
            &[0, 2, 2, 2, 2, 5, 0, 1, 1],
            &[0, 2, 1, 1, 2, 5, 1, 1],
            &[0, 2, 200, 1, 1, 1, 5, 1],
            &[0, 0, 0, 0, 0],
        ] {
            assert_eq!(decode(bytes), Err(BROKEN), "{bytes:?}");
        }
    }
}
