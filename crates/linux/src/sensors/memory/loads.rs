//! Counts the loads of a process that were answered by memory of the CPU's own node and by memory
//! of other nodes: by a pair of hardware counters for each of its threads, if the CPU has such
//! events. Which pages the loads were of is not known.
//!
//! | CPU | own node | other nodes | what counts |
//! |---|---|---|---|
//! | Intel Haswell-EP, Broadwell-EP | D3H/01H | D3H/04H | retired loads (`MEM_LOAD_UOPS_L3_MISS_RETIRED.*_DRAM`) |
//! | Intel Skylake-SP and later | D3H/01H | D3H/02H | retired loads (`MEM_LOAD_L3_MISS_RETIRED.*_DRAM`) |
//! | AMD Zen 1 and 2, Hygon | 043H/08H | 043H/40H | demand fills of the data cache |
//! | AMD Zen 3 and later | 044H/08H | 044H/40H | all fills of the data cache, prefetches included |
//!
//! Sources: Linux `tools/perf/pmu-events/arch/x86` (haswellx, broadwellx, skylakex, icelakex,
//! sapphirerapids: `cache.json`; amdzen1 to amdzen5); for AMD also those of `counters/events`.

use crate::kernel::cpu_model::{CpuModel, Vendor};
use crate::perf::event::{Code, Modes, attributes, open};
use isobar_model::{Count, Tid, num};
use perf_event_open_sys::bindings;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::BTreeMap;

const READ_FORMAT: u32 = bindings::PERF_FORMAT_TOTAL_TIME_ENABLED | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING;

/// Number of loads that memory answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NearAndFar {
    /// By memory of the CPU's own node.
    pub near: u64,
    /// By memory of other nodes.
    pub far: u64,
}

impl NearAndFar {
    /// The share of other nodes, in per cent.
    ///
    /// # Errors
    /// If memory answered no load.
    pub fn remote_percent(self) -> Result<f64, String> {
        let all = self.near.saturating_add(self.far);
        if all == 0 {
            return Err("none of its loads came from memory since the last measurement".to_owned());
        }
        Ok(num::float(self.far) / num::float(all) * 100.0)
    }
}

/// The counters of a process's threads.
#[derive(Debug)]
pub struct Loads {
    /// The events of the own node and of other nodes; or why there are none.
    events: Result<[Code; 2], String>,
    threads: BTreeMap<u32, Pair>,
}

/// The counters of a thread, and their values at the previous look.
#[derive(Debug)]
struct Pair {
    fds: [OwnedFd; 2],
    before: [Count; 2],
}

impl Loads {
    /// Creates the counters for this machine's CPU; opens nothing yet.
    #[must_use]
    pub fn here() -> Self {
        let raw = |config| Code::new(bindings::PERF_TYPE_RAW, [config, 0, 0]);
        let events = events(&CpuModel::live()).map(|events| events.map(raw));
        Self::of(events.ok_or_else(|| {
            "isobar knows no events of this CPU that count local and remote loads separately".to_owned()
        }))
    }

    fn of(events: Result<[Code; 2], String>) -> Self {
        Self { events, threads: BTreeMap::new() }
    }

    /// Loads since the previous look, of threads that existed then. It also begins to count the
    /// threads in `threads` that are new. A thread that has ended is counted to its end, and then
    /// forgotten.
    ///
    /// # Errors
    /// Why loads are not counted, or not yet. After an event could not be opened, none is tried
    /// again.
    pub fn look(&mut self, threads: impl IntoIterator<Item = u32>) -> Result<NearAndFar, String> {
        let events = self.events.clone()?;
        let (begun, counted) = (!self.threads.is_empty(), self.counted());
        let mut kept = std::mem::take(&mut self.threads);
        for tid in threads {
            let pair = match kept.remove(&tid) {
                Some(pair) => Some(pair),
                None => Pair::open(Tid(tid), &events).inspect_err(|why| self.events = Err(why.clone()))?,
            };
            self.threads.extend(pair.map(|pair| (tid, pair)));
        }
        if begun { counted } else { Err("counting begins with this measurement".to_owned()) }
    }

    fn counted(&mut self) -> Result<NearAndFar, String> {
        let mut sum = NearAndFar::default();
        let mut stood = false;
        for pair in self.threads.values_mut() {
            let Some(counted) = pair.since() else {
                stood = true;
                continue;
            };
            sum.near = sum.near.saturating_add(counted.near);
            sum.far = sum.far.saturating_add(counted.far);
        }
        if stood && sum == NearAndFar::default() {
            return Err("another program, such as a profiler, holds the CPU's counters".to_owned());
        }
        Ok(sum)
    }
}

impl Pair {
    /// Opens the counters of a thread; `None` if the thread has ended.
    fn open(thread: Tid, events: &[Code; 2]) -> Result<Option<Self>, String> {
        let opened = match Self::open_in(thread, events, Modes::All) {
            // A paranoid level of 2 allows user mode alone.
            Err(Errno::ACCESS | Errno::PERM) => Self::open_in(thread, events, Modes::User),
            other => other,
        };
        match opened {
            Ok(pair) => Ok(Some(pair)),
            Err(Errno::SRCH) => Ok(None),
            Err(why) => Err(refused(why)),
        }
    }

    fn open_in(thread: Tid, events: &[Code; 2], modes: Modes) -> Result<Self, Errno> {
        let one = |code: Code| {
            let mut attr = attributes(code, modes);
            attr.read_format = u64::from(READ_FORMAT);
            open(&mut attr, thread, None)
        };
        Ok(Self { fds: [one(events[0])?, one(events[1])?], before: [Count::default(); 2] })
    }

    /// The loads since the previous look; `None` if the events were never on a hardware counter.
    fn since(&mut self) -> Option<NearAndFar> {
        let now = [read(&self.fds[0])?, read(&self.fds[1])?];
        let before = std::mem::replace(&mut self.before, now);
        Some(NearAndFar { near: now[0].since(before[0])?, far: now[1].since(before[1])? })
    }
}

/// Reads value, time enabled, time running.
fn read(fd: &OwnedFd) -> Option<Count> {
    let mut bytes = [0; 24];
    let length = rustix::io::read(fd, &mut bytes).ok()?;
    let mut words = bytes[..length].chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
    Some(Count { value: words.next()?, enabled: words.next()?, running: words.next()? })
}

fn refused(errno: Errno) -> String {
    match errno {
        Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP | Errno::NXIO | Errno::INVAL => {
            "this machine has no such hardware counters (a virtual machine rarely has): run isobar on the host"
                .to_owned()
        }
        Errno::ACCESS | Errno::PERM => {
            "not permitted: run isobar as root, or with CAP_PERFMON, or lower kernel.perf_event_paranoid".to_owned()
        }
        Errno::NOSYS => "the kernel has no perf events, or a seccomp filter hides them".to_owned(),
        Errno::MFILE => "its threads need more descriptors than the limit allows: raise ulimit -n".to_owned(),
        other => format!("perf_event_open failed: {}", std::io::Error::from(other)),
    }
}

/// Raw events of loads from memory of the own node and of other nodes; see the head of the file.
fn events(cpu: &CpuModel) -> Option<[u64; 2]> {
    match (cpu.vendor, cpu.family, cpu.model) {
        (Vendor::Intel, 6, 63 | 79 | 86) => Some([0x1d3, 0x4d3]),
        (Vendor::Intel, 6, 85 | 106 | 108 | 143 | 173 | 174 | 207) => Some([0x1d3, 0x2d3]),
        (Vendor::Amd | Vendor::Hygon, 0x17..=0x18, _) => Some([0x843, 0x4043]),
        (Vendor::Amd, 0x19.., _) => Some([0x844, 0x4044]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::gettid;

    fn own() -> u32 {
        gettid().as_raw_nonzero().get().unsigned_abs()
    }

    /// Page faults of two kinds in place of loads: they need no hardware.
    fn faults() -> Result<[Code; 2], String> {
        let software = |id: u32| Code::new(bindings::PERF_TYPE_SOFTWARE, [u64::from(id), 0, 0]);
        Ok([software(bindings::PERF_COUNT_SW_PAGE_FAULTS_MIN), software(bindings::PERF_COUNT_SW_PAGE_FAULTS_MAJ)])
    }

    /// Touches new pages, so that there are faults.
    fn touch(pages: usize) {
        let memory = vec![1u8; pages * rustix::param::page_size()];
        std::hint::black_box(&memory);
    }

    #[test]
    fn threads_are_counted_from_look_to_look() {
        let mut loads = Loads::of(faults());
        match loads.look([own()]) {
            Err(why) if why.starts_with("counting begins") => {}
            other => return eprintln!("SKIPPED: no software events here: {other:?}"),
        }
        touch(4096);
        let first = loads.look([own()]).unwrap();
        // 16 MiB are mapped anew, by pages of 4 KiB or of 2 MiB.
        assert!(first.near >= 8 && first.near < 10_000, "{first:?}");
        let second = loads.look([own()]).unwrap();
        assert!(second.near < first.near, "{second:?} after {first:?}");
        // A thread that has ended is counted once more, and then another one begins.
        touch(4096);
        assert!(loads.look([]).unwrap().near >= 8);
        assert!(loads.look([own()]).unwrap_err().contains("begins"));
    }

    #[test]
    fn what_cannot_be_counted_has_one_reason_and_is_not_tried_again() {
        let unknown = Code::new(9_999, [0; 3]);
        let mut loads = Loads::of(Ok([unknown; 2]));
        let why = loads.look([own()]).unwrap_err();
        assert!(!why.contains('\n') && !why.starts_with("counting begins"), "{why}");
        assert_eq!(loads.look([own()]).unwrap_err(), why);
        assert_eq!(Loads::of(Err("none".to_owned())).look([own()]).unwrap_err(), "none");
    }

    #[test]
    fn a_thread_that_has_ended_is_ordinary() {
        let mut loads = Loads::of(faults());
        assert!(loads.look([u32::MAX >> 1]).unwrap_err().contains("begins"));
    }

    #[test]
    fn the_share_of_other_nodes_needs_loads() {
        assert_eq!(NearAndFar { near: 3, far: 1 }.remote_percent(), Ok(25.0));
        assert!(NearAndFar::default().remote_percent().unwrap_err().contains("none of its loads"));
    }

    #[test]
    fn events_go_by_family_and_model() {
        let of = |vendor, family, model| events(&CpuModel { vendor, family, model, hypervisor: false });
        assert_eq!(of(Vendor::Intel, 6, 79), Some([0x1d3, 0x4d3]));
        assert_eq!(of(Vendor::Intel, 6, 143), Some([0x1d3, 0x2d3]));
        assert_eq!(of(Vendor::Amd, 0x17, 0x31), Some([0x843, 0x4043]));
        assert_eq!(of(Vendor::Amd, 0x1a, 2), Some([0x844, 0x4044]));
        assert_eq!(
            (of(Vendor::Intel, 6, 158), of(Vendor::Arm, 0x41, 0xd0c), of(Vendor::Amd, 0x10, 2)),
            (None, None, None)
        );
    }
}
