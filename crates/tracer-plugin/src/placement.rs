//! Where the kernel has placed the program's pages. The kernel is asked with `move_pages(2)`, which
//! moves nothing if no nodes are given. The pages are those of this process, at the program's
//! addresses plus a base.

use isobar_pages::trace::Placed;
use std::io;
use std::sync::OnceLock;

/// Bits of an address within a page.
pub const PAGE_BITS: u32 = 12;
/// What is added to an address of the program to find it in this process.
pub(crate) static BASE: OnceLock<u64> = OnceLock::new();
/// Number of pages per call.
const BATCH: usize = 4096;
/// The nodes that are online, as `0-3,8`.
const ONLINE: &str = "/sys/devices/system/node/online";

/// The base; 0 until the program is loaded.
pub(crate) fn base() -> u64 {
    BASE.get().copied().unwrap_or_default()
}

/// Number of nodes of this machine: one more than the highest number; 1 on a kernel without nodes.
pub fn nodes() -> u32 {
    let text = std::fs::read_to_string(ONLINE).unwrap_or_default();
    highest(&text).map_or(1, |node| node + 1)
}

fn highest(text: &str) -> Option<u32> {
    text.trim().rsplit([',', '-']).next()?.parse().ok()
}

/// Where these pages are now. Page numbers must ascend; pages without memory are left out.
///
/// # Errors
/// The kernel's refusal: in a container, no process may be allowed to ask.
pub fn of(pages: &[u64], base: u64, slice: u64, nodes: u32) -> io::Result<Placed> {
    let mut placed = Placed { slice, nodes, pages: Vec::with_capacity(pages.len()) };
    for batch in pages.chunks(BATCH) {
        let known = batch.iter().zip(ask(batch, base)?);
        let node = |status: i32| u16::try_from(status).ok().filter(|node| u32::from(*node) < nodes);
        placed.pages.extend(known.filter_map(|(page, status)| Some((*page, node(status)?))));
    }
    Ok(placed)
}

/// The node of each page, or a negative error number.
fn ask(pages: &[u64], base: u64) -> io::Result<Vec<i32>> {
    let addresses: Vec<u64> = pages.iter().map(|page| (page << PAGE_BITS).wrapping_add(base)).collect();
    let mut status = vec![-libc::ENOENT; pages.len()];
    // SAFETY: the kernel reads as many addresses as pages, no nodes, and writes as many statuses;
    // both vectors live past the call and have that length. It follows no address for us.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            pages.len(),
            addresses.as_ptr(),
            std::ptr::null::<libc::c_int>(),
            status.as_mut_ptr(),
            0,
        )
    };
    if result >= 0 { Ok(status) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_number_of_a_node_is_the_last() {
        assert_eq!(
            [highest("0\n"), highest("0-3\n"), highest("0,8\n"), highest("0-1,4-7"), highest("")],
            [Some(0), Some(3), Some(8), Some(7), None]
        );
    }

    /// A page of this process that was written to is on a node; a page that is not mapped is on
    /// none.
    #[test]
    fn a_page_with_memory_is_on_a_node_of_this_machine() {
        let written = vec![1_u8; 1 << 16];
        let page = (written.as_ptr().addr() as u64 >> 12) + 1;
        match of(&[1, page], 0, 3, nodes()) {
            Ok(found) => {
                let [(number, node)] = found.pages.as_slice() else { panic!("{found:?}") };
                assert!(*number == page && u32::from(*node) < found.nodes, "{found:?}");
            }
            Err(why) => eprintln!("SKIPPED: move_pages: {why}"),
        }
    }
}
