//! Looks at one process from time to time: its pages by node and by kind of mapping, and the CPUs
//! on which its threads run. That needs no tracing, no counters, and for one's own processes no
//! privilege.

use crate::kernel::numa_maps::{self, Kind};
use crate::kernel::proc_fs::{ProcDir, Until};
use crate::kernel::stat::{self, Stat};
use isobar_model::{CpuId, NodeId, NodeMap, Pages, Pid};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::Path;

/// Why a process cannot be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSeen {
    /// It has ended, or never existed.
    #[error("there is no such process")]
    Gone,
    /// It belongs to another user, or protects itself.
    #[error("not permitted: run isobar as the user of the process, or as root")]
    Denied,
    /// The kernel does not say on which node pages are.
    #[error("this kernel has no /proc/PID/numa_maps (CONFIG_NUMA)")]
    Unsupported,
    /// Any other error of the kernel.
    #[error("cannot be read: {0}")]
    Other(Errno),
}

/// A thread at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedThread {
    /// The CPU that it ran on last.
    pub cpu: Option<CpuId>,
    /// CPU time in clock ticks since the previous look; at the first look, since the thread began.
    pub ticks: u64,
}

/// What one look saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchReading {
    /// Its name.
    pub name: String,
    /// Base pages by node, by kind of mapping.
    pub mappings: BTreeMap<Kind, NodeMap<Pages>>,
    /// Its threads by id.
    pub threads: BTreeMap<u32, WatchedThread>,
}

/// A process that is looked at from time to time.
pub struct Watched {
    pid: Pid,
    files: ProcDir,
    /// When it began: another process may get its pid.
    start: Option<u64>,
    /// Ticks of each thread, and when it began.
    before: BTreeMap<u32, (u64, u64)>,
}

impl Watched {
    /// A process of this machine.
    ///
    /// # Errors
    /// If `/proc` cannot be opened.
    pub fn new(pid: Pid) -> Result<Self, NotSeen> {
        let files = ProcDir::open(Path::new("/proc")).map_err(NotSeen::Other)?;
        Ok(Self { pid, files, start: None, before: BTreeMap::new() })
    }

    /// Looks at the process.
    ///
    /// # Errors
    /// If the process cannot be looked at, or has ended.
    pub fn look(&mut self) -> Result<WatchReading, NotSeen> {
        let pid = self.pid.0;
        let (seen, name) = self.stat(format_args!("{pid}/stat"))?;
        if seen.has_ended() || self.start.is_some_and(|start| start != seen.start) {
            return Err(NotSeen::Gone);
        }
        self.start = Some(seen.start);
        let mappings = self.mappings()?;
        Ok(WatchReading { name, mappings, threads: self.threads()? })
    }

    fn stat(&mut self, file: std::fmt::Arguments<'_>) -> Result<(Stat, String), NotSeen> {
        let text = self.files.read(file, Until::Short).map_err(why)?;
        let (seen, name) = stat::parse(text).ok_or(NotSeen::Other(Errno::INVAL))?;
        Ok((seen, String::from_utf8_lossy(name).into_owned()))
    }

    fn mappings(&mut self) -> Result<BTreeMap<Kind, NodeMap<Pages>>, NotSeen> {
        if !Path::new("/proc/self/numa_maps").exists() {
            return Err(NotSeen::Unsupported);
        }
        let text = self.files.read(format_args!("{}/numa_maps", self.pid.0), Until::End).map_err(why)?;
        Ok(by_kind(text, procfs::page_size() / 1024))
    }

    fn threads(&mut self) -> Result<BTreeMap<u32, WatchedThread>, NotSeen> {
        let (pid, mut ids) = (self.pid.0, Vec::new());
        self.files.numbers(format_args!("{pid}/task"), &mut ids).map_err(why)?;
        let mut threads = BTreeMap::new();
        let mut now = BTreeMap::new();
        for tid in ids {
            // It is ordinary that a thread has ended in the meantime.
            let Ok((seen, _)) = self.stat(format_args!("{pid}/task/{tid}/stat")) else { continue };
            let before = self.before.get(&tid).filter(|(_, start)| *start == seen.start).map_or(0, |(ticks, _)| *ticks);
            threads.insert(tid, WatchedThread { cpu: seen.cpu, ticks: seen.ticks.saturating_sub(before) });
            now.insert(tid, (seen.ticks, seen.start));
        }
        self.before = now;
        Ok(threads)
    }
}

fn why(errno: Errno) -> NotSeen {
    match errno {
        Errno::NOENT | Errno::SRCH => NotSeen::Gone,
        Errno::ACCESS | Errno::PERM => NotSeen::Denied,
        other => NotSeen::Other(other),
    }
}

/// Base pages by node of each kind. Lines that are not mappings are left out, because the file
/// changes while it is read.
fn by_kind(numa_maps: &[u8], base_kib: u64) -> BTreeMap<Kind, NodeMap<Pages>> {
    let mut kinds: BTreeMap<Kind, NodeMap<Pages>> = BTreeMap::new();
    for mapping in numa_maps::lines(numa_maps).flatten() {
        for (node, pages) in mapping.base_pages(base_kib) {
            let sum = kinds.entry(mapping.kind).or_default().entry(node);
            sum.0 = sum.0.saturating_add(pages.0);
        }
    }
    kinds
}

impl WatchReading {
    /// Pages by node over all mappings.
    #[must_use]
    pub fn pages(&self) -> NodeMap<Pages> {
        numa_maps::by_node(self.mappings.values().flat_map(NodeMap::iter).map(|(node, pages)| (node, *pages)))
    }

    /// The percentage of accesses that would be remote if each thread accessed every page equally
    /// often. Each thread is weighted by its CPU time, and `node_of` says on which node it ran.
    ///
    /// # Errors
    /// Why the percentage cannot be computed.
    pub fn expected_remote(&self, node_of: impl Fn(CpuId) -> Option<NodeId>) -> Result<f64, &'static str> {
        let pages = self.pages();
        let all: u64 = pages.values().fold(0, |sum, pages| sum.saturating_add(pages.0));
        if all == 0 {
            return Err("it has no pages in memory");
        }
        let (mut time, mut remote) = (0.0, 0.0);
        for thread in self.threads.values().filter(|thread| thread.ticks > 0) {
            let node = thread.cpu.and_then(&node_of).ok_or("the node of a thread's CPU is not known")?;
            let local = pages.get(node).map_or(0, |pages| pages.0);
            let ticks = isobar_model::num::float(thread.ticks);
            time += ticks;
            remote += ticks * isobar_model::num::float(all - local.min(all)) / isobar_model::num::float(all);
        }
        if time > 0.0 {
            Ok(remote / time * 100.0)
        } else {
            Err("none of its threads used a CPU since the last measurement")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(threads: &[(u32, u32, u64)]) -> WatchReading {
        let text = b"1000 default heap anon=3 N0=2 N1=1 kernelpagesize_kB=4\n2000 default stack N0=1\n\
                     3000 default file=/lib/x N0=4 N1=0\ngarbage\n4000 default huge N1=1 kernelpagesize_kB=2048\n";
        let thread =
            |(tid, cpu, ticks): &(u32, u32, u64)| (*tid, WatchedThread { cpu: Some(CpuId(*cpu)), ticks: *ticks });
        WatchReading { name: "a".into(), mappings: by_kind(text, 4), threads: threads.iter().map(thread).collect() }
    }

    fn node_of(cpu: CpuId) -> Option<NodeId> {
        (cpu.0 < 4).then_some(NodeId(cpu.0 / 2))
    }

    #[test]
    fn pages_are_counted_by_kind_and_node() {
        let look = look(&[]);
        let on = |kind: Kind, node: u32| look.mappings[&kind].get(NodeId(node)).map_or(0, |pages| pages.0);
        assert_eq!([on(Kind::Heap, 0), on(Kind::Heap, 1), on(Kind::Stack, 0), on(Kind::File, 0)], [2, 1, 1, 4]);
        assert_eq!((on(Kind::Anonymous, 1), look.pages().get(NodeId(1)).unwrap().0), (512, 513));
    }

    #[test]
    fn threads_are_weighed_by_their_time() {
        // Of 520 pages 7 are on node 0: for a thread there 513 of 520 are remote, for one on node 1
        // only 7.
        let (there, here) = (513.0 / 520.0 * 100.0, 7.0 / 520.0 * 100.0);
        let close =
            |look: &WatchReading, expected: f64| (look.expected_remote(node_of).unwrap() - expected).abs() < 1e-9;
        assert!(close(&look(&[(1, 0, 5)]), there) && close(&look(&[(1, 3, 5)]), here));
        assert!(close(&look(&[(1, 0, 1), (2, 2, 3), (3, 0, 0)]), (there + 3.0 * here) / 4.0));
        assert!(look(&[(1, 0, 0)]).expected_remote(node_of).unwrap_err().contains("none of its threads used a CPU"));
        assert!(look(&[(1, 9, 1)]).expected_remote(node_of).unwrap_err().contains("node of a thread's CPU"));
    }

    #[test]
    fn this_process_is_seen_until_it_ends() {
        let mut watched = Watched::new(Pid(std::process::id())).unwrap();
        match watched.look() {
            Ok(look) => {
                assert!(look.pages().values().map(|pages| pages.0).sum::<u64>() > 100);
                assert!(!look.threads.is_empty());
                watched.start = Some(1);
                assert_eq!(watched.look().unwrap_err(), NotSeen::Gone, "another process has its number");
            }
            Err(why) => assert_eq!(why, NotSeen::Unsupported),
        }
        assert_eq!(Watched::new(Pid(u32::MAX >> 1)).unwrap().look().unwrap_err(), NotSeen::Gone);
    }
}
