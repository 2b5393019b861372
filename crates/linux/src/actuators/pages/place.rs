//! Puts pages on the nodes that a mapping of a whole process wants them on, each page on its own
//! node. (In contrast, `migrate` moves a number of pages from one node to another.)
//!
//! The rate is limited, and the work can be interrupted between batches. Results are where pages
//! are afterwards, not what the kernel returned.

use super::migration::PageOptions;
use super::tally::{ENDED, NO_MEMORY, REFUSED, reason};
use crate::kernel::identity;
use crate::kernel::move_pages as syscall;
use crate::kernel::node_memory::NodeMemory;
use isobar_model::flight::BATCH;
use isobar_model::{NodeId, Pid};
use std::collections::BTreeMap;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Number of pages in one stretch. Stretches are handled one after the other, and within a stretch
/// all pages for one node are moved together.
const STRETCH: usize = 1 << 14;

/// A page and the node that it is on or wanted on.
pub type PageOn = (u64, NodeId);

/// A process whose pages are placed. The start time shows whether the pid belongs to another
/// process by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its start time, in ticks since boot.
    pub start: u64,
}

/// What became of pages that were to be moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Number of pages that were to be moved and are now where they are wanted.
    pub moved: u64,
    /// Number of pages that are not, by reason.
    pub stayed: BTreeMap<&'static str, u64>,
    /// Number of pages not tried before the request to stop.
    pub left: u64,
}

impl Placed {
    fn stay(&mut self, why: &'static str, pages: usize) {
        if pages > 0 {
            *self.stayed.entry(why).or_default() += u64::try_from(pages).unwrap_or(u64::MAX);
        }
    }
}

impl Process {
    /// The process with this id, as it is now.
    ///
    /// # Errors
    /// In one line: there is no such process, or its pages must not be moved.
    pub fn find(pid: Pid) -> Result<Self, String> {
        let task = identity::process(pid).filter(|task| !task.has_ended());
        let task = task.ok_or_else(|| format!("there is no process {pid}: it has ended, or never existed"))?;
        if task.kernel || pid == identity::own_pid() {
            return Err(format!("process {pid}: isobar does not move pages of the kernel or its own"));
        }
        Ok(Self { pid, start: task.start })
    }

    /// The node of each page; `None` for a page that is not resident.
    ///
    /// # Errors
    /// The kernel's error; `ESRCH` if the process has ended.
    pub fn locate(&self, pages: &[u64]) -> io::Result<Vec<Option<NodeId>>> {
        let mut found = Vec::with_capacity(pages.len());
        for batch in pages.chunks(syscall::MOST_LOCATED) {
            self.still_there()?;
            let status = syscall::locate(self.pid, batch, procfs::page_size())?;
            found.extend(status.into_iter().map(syscall::node));
        }
        Ok(found)
    }

    /// Moves pages to the nodes that they are wanted on, at `pages_per_second` at most, until
    /// `stop` returns true. After each batch `progress` receives the number of pages handled so
    /// far.
    pub fn place(
        &self,
        wanted: &[PageOn],
        options: &PageOptions,
        pages_per_second: u64,
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(usize),
    ) -> Placed {
        let (mut placed, begin, mut gone) = (Placed::default(), Instant::now(), 0);
        for (node, pages) in wanted.chunks(STRETCH).flat_map(batches) {
            let batch = &pages;
            if stop() {
                placed.left = u64::try_from(wanted.len() - gone).unwrap_or(u64::MAX);
                break;
            }
            if let Err(error) = self.move_batch(batch, node, options, &mut placed) {
                let why = if error.raw_os_error() == Some(libc::ESRCH) { ENDED } else { refusal(&error) };
                let (all, rest) = (error.raw_os_error() == Some(libc::ESRCH), wanted.len() - gone);
                placed.stay(why, if all { rest } else { batch.len() });
                if all {
                    break;
                }
            }
            gone += batch.len();
            progress(gone);
            pace(begin, gone, pages_per_second, stop);
        }
        placed
    }

    /// Moves one batch to one node, as far as the node has memory. Pages are located again
    /// afterwards.
    fn move_batch(&self, pages: &[u64], to: NodeId, options: &PageOptions, placed: &mut Placed) -> io::Result<()> {
        let memory = NodeMemory::of(&options.nodes, to);
        let capacity = memory.map_or(u64::MAX, |memory| memory.pages_beyond(options.reserve));
        let (tried, full) = pages.split_at(pages.len().min(usize::try_from(capacity).unwrap_or(usize::MAX)));
        placed.stay(NO_MEMORY, full.len());
        let mut rest: BTreeMap<u64, i32> = tried.iter().map(|page| (*page, syscall::NOT_TRIED)).collect();
        // The kernel stops at the first page that fails, so this goes on as long as some pages
        // move.
        while !rest.is_empty() {
            self.still_there()?;
            let asked: Vec<u64> = rest.keys().copied().collect();
            let (there, elsewhere) = syscall::relocate(self.pid, &asked, procfs::page_size(), to)?;
            rest = elsewhere.into_iter().collect();
            placed.moved += u64::try_from(there.len()).unwrap_or(u64::MAX);
            if there.is_empty() {
                break;
            }
        }
        rest.values().for_each(|status| placed.stay(reason(*status), 1));
        Ok(())
    }

    fn still_there(&self) -> io::Result<()> {
        let same = identity::process(self.pid).is_some_and(|task| task.start == self.start && !task.has_ended());
        if same { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    }
}

/// Pages by node, in batches.
fn batches(wanted: &[PageOn]) -> Vec<(NodeId, Vec<u64>)> {
    let mut by_node: BTreeMap<NodeId, Vec<u64>> = BTreeMap::new();
    wanted.iter().for_each(|(page, node)| by_node.entry(*node).or_default().push(*page));
    let cut = |(node, pages): (NodeId, Vec<u64>)| {
        pages.chunks(syscall::length(BATCH.0)).map(|batch| (node, batch.to_vec())).collect::<Vec<_>>()
    };
    by_node.into_iter().flat_map(cut).collect()
}

/// What a refusal of a whole batch means.
fn refusal(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES) => "the node is outside the process's cpuset (cpuset.mems)",
        Some(libc::ENODEV) => "the node has no memory",
        Some(libc::EPERM) => "not permitted: CAP_SYS_PTRACE is missing",
        _ => REFUSED,
    }
}

/// Waits until this number of pages is due, in slices, so that a signal does not wait long.
fn pace(begin: Instant, pages: usize, per_second: u64, stop: &dyn Fn() -> bool) {
    let pages = u64::try_from(pages).unwrap_or(u64::MAX);
    let due = begin + Duration::from_micros(pages.saturating_mul(1_000_000) / per_second.max(1));
    while !stop() {
        let Some(rest) = due.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) else { return };
        sleep(rest.min(Duration::from_millis(50)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Process {
        let pid = identity::own_pid();
        Process { pid, start: identity::process(pid).unwrap().start }
    }

    #[test]
    fn ourselves_and_who_is_not_there_are_refused() {
        assert!(Process::find(identity::own_pid()).unwrap_err().contains("or its own"));
        assert!(Process::find(Pid(u32::MAX)).unwrap_err().contains("no process"));
    }

    #[test]
    fn a_process_that_another_one_has_replaced_keeps_all_its_pages() {
        let replaced = Process { start: own().start + 1, ..own() };
        let wanted = [(1, NodeId(0)), (2, NodeId(0)), (3, NodeId(1))];
        let placed = replaced.place(&wanted, &PageOptions::default(), 1_000_000, &|| false, &mut |_| {});
        assert_eq!((placed.moved, placed.stayed), (0, [(ENDED, 3)].into()));
        assert_eq!(replaced.locate(&[1]).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn what_is_there_stays_and_what_is_not_mapped_has_its_reason() {
        let memory = vec![7_u8; 64 << 10];
        let page = std::ptr::from_ref(&memory[8192]).addr() as u64 / procfs::page_size();
        let Ok(nodes) = own().locate(&[page, 3]) else {
            eprintln!("SKIPPED: no move_pages(2) here");
            return;
        };
        let Some(node) = nodes[0] else { panic!("{nodes:?}") };
        assert_eq!(nodes[1], None);
        let options = PageOptions { reserve: isobar_model::Bytes(0), ..PageOptions::default() };
        let mut gone = Vec::new();
        let placed =
            own().place(&[(page, node), (3, node)], &options, 1_000_000, &|| false, &mut |pages| gone.push(pages));
        assert_eq!((placed.moved, placed.left, gone), (1, 0, vec![2]));
        assert_eq!(placed.stayed.values().sum::<u64>(), 1, "{placed:?}");
        let stopped = own().place(&[(page, node)], &options, 1, &|| true, &mut |_| {});
        assert_eq!((stopped.moved, stopped.left), (0, 1));
    }

    #[test]
    fn pages_that_alternate_between_nodes_go_in_one_batch_a_node() {
        let wanted: Vec<PageOn> = (0..1100).map(|page| (page, NodeId(u32::from(page % 2 == 1)))).collect();
        let sizes: Vec<(u32, usize)> = batches(&wanted).iter().map(|(node, pages)| (node.0, pages.len())).collect();
        assert_eq!(sizes, [(0, 512), (0, 38), (1, 512), (1, 38)]);
    }

    #[test]
    fn the_rate_is_kept() {
        let begin = Instant::now();
        pace(begin, 100, 1000, &|| false);
        assert!(begin.elapsed() >= Duration::from_millis(100));
        pace(begin, 1 << 40, 1, &|| true);
    }
}
