//! Samples the data addresses of threads, for page migration (DINO, section 4.4): which pages does
//! a thread touch? Samplers are opened when first asked for, bounded in number, and closed when
//! they are no longer asked for.
//!
//! Sources, in this order: AMD instruction-based sampling (`ibs_op`), Intel load latency
//! (`cpu/mem-loads/`), and for the software stand-in page faults, which carry addresses on every
//! machine. Arm SPE writes to another kind of buffer and is not read.

use super::records::{SAMPLE_TYPE, parse};
use crate::perf::event::{Code, Modes, attributes, open};
use crate::perf::ring::Ring;
use crate::sensors::counters::pmu;
use crate::sensors::options::CounterSource;
use isobar_model::Tid;
use perf_event_open_sys::bindings;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::Path;

/// Load-latency sampling period: loads for one address. It is a prime, so that it does not coincide
/// with the period of loops; the paper samples below one in a hundred.
const HARDWARE_PERIOD: u64 = 10_007;
/// IBS sampling period, in op cycles. IBS counts in units of 16
/// (`Documentation/admin-guide/perf/amd-ibs`), so the low four bits must be zero.
const IBS_PERIOD: u64 = 0x1_0000;

/// Data pages of a sampler's ring buffer: 8 pages hold 2048 samples of 16 bytes.
const DATA_PAGES: usize = 8;

/// Maximum number of threads whose addresses are sampled.
const MOST: usize = 64;

/// A sampler that was not asked for in this number of samples is closed.
const KEPT: u64 = 30;

/// How addresses are sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name for people.
    pub name: &'static str,
    pub(super) code: Code,
    pub(super) period: u64,
    pub(super) precise: u64,
    /// Intel since Sapphire Rapids: an auxiliary event must lead the group (`mem-loads-aux`).
    pub(super) leader: Option<Code>,
}

/// What samplers have seen of some threads since they were last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// No sampler works here, or none may be opened for these threads.
    NoThread,
    /// Samplers were opened just now: ask again in the next epoch.
    NotYet,
    /// Addresses, most recent first by thread; none if the threads touched nothing that is sampled.
    Seen(Vec<u64>),
}

impl Sampled {
    /// The addresses around which pages may move; empty if any page may, because addresses are not
    /// sampled. `None`: no page is known to be accessed now. `all` says that the whole process has
    /// moved, so its pages may follow, sampled or not.
    #[must_use]
    pub fn worth_moving_around(self, all: bool) -> Option<Vec<u64>> {
        match self {
            Self::NoThread => Some(Vec::new()),
            Self::NotYet => None,
            Self::Seen(addresses) => (all || !addresses.is_empty()).then_some(addresses),
        }
    }
}

/// The source of this machine; `None` if addresses cannot be sampled.
#[must_use]
pub fn source(counters: CounterSource, devices: &Path) -> Option<Source> {
    match counters {
        CounterSource::Software => Some(page_faults()),
        CounterSource::Auto => ibs(devices).or_else(|| load_latency(devices)),
    }
}

fn page_faults() -> Source {
    let config = [u64::from(bindings::PERF_COUNT_SW_PAGE_FAULTS), 0, 0];
    let code = Code::new(bindings::PERF_TYPE_SOFTWARE, config);
    Source { name: "page faults (software stand-in)", code, period: 1, precise: 0, leader: None }
}

fn ibs(devices: &Path) -> Option<Source> {
    let pmu = pmu::read(devices, "ibs_op")?;
    let code = Code::new(pmu.kind, [0; 3]);
    Some(Source { name: "AMD IBS", code, period: IBS_PERIOD, precise: 0, leader: None })
}

fn load_latency(devices: &Path) -> Option<Source> {
    let events = |name: &&str| {
        let pmu = pmu::read(devices, name)?;
        Some((pmu.named("mem-loads")?, pmu.named("mem-loads-aux")))
    };
    let (code, leader) = ["cpu", "cpu_core"].iter().find_map(events)?;
    Some(Source { name: "Intel load latency", code, period: HARDWARE_PERIOD, precise: 2, leader })
}

/// One thread's sampler.
#[derive(Debug)]
struct Sampler {
    ring: Ring,
    _leader: Option<OwnedFd>,
    asked: u64,
}

/// The open samplers.
#[derive(Debug)]
pub struct Samplers {
    source: Option<Source>,
    open: BTreeMap<Tid, Sampler>,
}

impl Samplers {
    /// None is open yet.
    #[must_use]
    pub const fn new(source: Option<Source>) -> Self {
        Self { source, open: BTreeMap::new() }
    }

    /// Addresses that the threads touched since the last call, most recent first by thread. The
    /// first call opens the samplers and finds nothing yet.
    pub fn addresses(&mut self, tids: &[Tid], round: u64) -> Sampled {
        let Some(source) = self.source.clone() else { return Sampled::NoThread };
        let (mut bytes, mut watched, mut opened) = (Vec::new(), false, false);
        for &tid in tids {
            if let Some(sampler) = self.open.get_mut(&tid) {
                (sampler.asked, watched) = (round, true);
                sampler.ring.drain(&mut bytes);
            } else if self.open.len() < MOST {
                // Refused or ended: no addresses of this thread. Address sampling helps, but is
                // never required. The content of a new sampler is of this instant, and would be
                // evidence of nothing but the loop that the opening interrupted.
                let sampler = start(&source, tid, round).ok();
                opened |= sampler.is_some();
                self.open.extend(sampler.map(|sampler| (tid, sampler)));
            }
        }
        let mut addresses: Vec<_> = parse(&bytes).filter(|address| *address != 0).collect();
        addresses.reverse();
        match (watched, opened) {
            (true, _) => Sampled::Seen(addresses),
            (false, true) => Sampled::NotYet,
            (false, false) => Sampled::NoThread,
        }
    }

    /// Closes samplers that were not asked for recently, and those of threads that have ended.
    pub fn close_unused(&mut self, round: u64, alive: impl Fn(Tid) -> bool) {
        self.open.retain(|&tid, sampler| round.saturating_sub(sampler.asked) <= KEPT && alive(tid));
    }
}

fn start(source: &Source, tid: Tid, round: u64) -> Result<Sampler, Errno> {
    // Kernel mode adds the addresses of the kernel's own data, which cannot be moved. IBS on older
    // kernels cannot leave kernel mode out, so counting both is the second try.
    let user = start_in(source, tid, round, Modes::User);
    user.or_else(|_| start_in(source, tid, round, Modes::All))
}

fn start_in(source: &Source, tid: Tid, round: u64, modes: Modes) -> Result<Sampler, Errno> {
    let leader = source.leader.map(|code| open(&mut attributes(code, modes), tid, None)).transpose()?;
    let mut attr = attributes(source.code, modes);
    attr.__bindgen_anon_1.sample_period = source.period;
    attr.sample_type = u64::from(SAMPLE_TYPE);
    attr.set_precise_ip(source.precise);
    let event = open(&mut attr, tid, leader.as_ref())?;
    Ok(Sampler { ring: Ring::map(event, DATA_PAGES)?, _leader: leader, asked: round })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{folder, write};

    #[test]
    fn the_source_follows_what_sysfs_has() {
        assert_eq!(source(CounterSource::Auto, folder(&[]).path()), None);
        let (event, latency) = (("cpu/format/event", "config:0-7"), ("cpu/format/ldlat", "config1:0-15"));
        let root = folder(&[("cpu/type", "4"), event, latency, ("cpu/events/mem-loads", "event=0xcd,ldlat=3")]);
        let intel = source(CounterSource::Auto, root.path()).unwrap();
        assert_eq!((intel.name, intel.code), ("Intel load latency", Code::new(4, [0xcd, 3, 0])));
        write(root.path(), &[("ibs_op/type", "11\n")]);
        let amd = source(CounterSource::Auto, root.path()).unwrap();
        assert_eq!((amd.name, amd.code.kind, amd.period % 16), ("AMD IBS", 11, 0));
        assert_eq!(source(CounterSource::Software, root.path()).unwrap().period, 1);
    }

    #[test]
    fn pages_move_around_samples_or_anywhere_or_not_yet() {
        assert_eq!(Sampled::NoThread.worth_moving_around(false), Some(Vec::new()));
        assert_eq!(Sampled::NotYet.worth_moving_around(true), None);
        assert_eq!(Sampled::Seen(vec![4096]).worth_moving_around(false), Some(vec![4096]));
        // If a thread touched no page, no page of it is known to be accessed. All pages of a
        // process that has moved may follow.
        assert_eq!(Sampled::Seen(Vec::new()).worth_moving_around(false), None);
        assert_eq!(Sampled::Seen(Vec::new()).worth_moving_around(true), Some(Vec::new()));
    }
}
