//! Samples the accesses of a program that is about to be started: of all its threads, from exec on.
//!
//! Events for each CPU are opened on the calling thread, switched off, and inherited by whatever
//! that thread starts; exec switches them on there. In addition to the samples of the hardware,
//! page faults show which thread touched a page first, and the kernel records threads and mappings.
//! `records` parses the records, `why` says what is missing if nothing can be sampled.

pub mod records;
mod why;

use super::samplers::{Source, source};
use crate::kernel::cpu_model::online_cpus;
use crate::perf::event::{Code, Modes, attributes, open_here_and_in_children};
use crate::perf::ring::Ring;
use crate::sensors::counters::pmu;
use crate::sensors::options::CounterSource;
use isobar_model::CpuId;
use perf_event_open_sys::bindings;
use records::{Record, SAMPLE_TYPE, parse};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::path::Path;

pub use why::Missing;

/// Data pages of a buffer: three buffers of this size, with their header pages, are within what
/// every user may lock for each CPU (`kernel.perf_event_mlock_kb`, 516).
const DATA_PAGES: usize = 32;

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferContent {
    /// Page faults, threads and mappings.
    Faults,
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// Loads and stores, which the samples distinguish.
    Both,
}

/// Accesses of a program, sampled.
#[derive(Debug)]
pub struct Sampling {
    name: String,
    period: u64,
    buffers: Vec<(BufferContent, Ring)>,
    _leaders: Vec<OwnedFd>,
    bytes: Vec<u8>,
}

/// An event that is opened on every CPU.
struct Wanted {
    of: BufferContent,
    code: Code,
    period: u64,
    precise: u64,
    leader: Option<Code>,
}

impl Sampling {
    /// Opens the events for the next program that the calling thread starts. With the software
    /// stand-in, page faults are the accesses.
    ///
    /// # Errors
    /// What is missing, in one line with the remedy.
    pub fn of_next_program(counters: CounterSource, devices: &Path) -> Result<Self, Missing> {
        let found = source(counters, devices).ok_or_else(|| why::no_source(devices))?;
        let wanted = wanted(&found, counters, devices);
        let cpus = online_cpus().ok_or(Missing::refused(Errno::NODEV))?;
        let name = if wanted.len() > 2 { format!("{} and stores", found.name) } else { found.name.to_owned() };
        let (period, bytes) = (found.period, Vec::new());
        let mut sampling = Self { name, period, buffers: Vec::new(), _leaders: Vec::new(), bytes };
        for cpu in cpus.iter() {
            wanted.iter().try_for_each(|wanted| sampling.add(wanted, cpu)).map_err(Missing::refused)?;
        }
        Ok(sampling)
    }

    /// The name of the source of samples, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// About one access in this many is sampled.
    #[must_use]
    pub const fn period(&self) -> u64 {
        self.period
    }

    /// Hands over what the kernel has written since the last call, buffer by buffer; within a
    /// buffer in the order of time.
    pub fn drain(&mut self, mut each: impl FnMut(BufferContent, Record)) {
        for (of, ring) in &self.buffers {
            self.bytes.clear();
            ring.drain(&mut self.bytes);
            parse(&self.bytes).for_each(|record| each(*of, record));
        }
    }

    fn add(&mut self, wanted: &Wanted, cpu: CpuId) -> Result<(), Errno> {
        // A page that the kernel touches first on behalf of a program counts as the program's first
        // touch. If the kernel may not be watched, only the program is.
        let modes =
            if wanted.of == BufferContent::Faults { [Modes::All, Modes::User] } else { [Modes::User, Modes::All] };
        let (event, leader) = start(wanted, modes[0], cpu).or_else(|_| start(wanted, modes[1], cpu))?;
        self._leaders.extend(leader);
        self.buffers.push((wanted.of, Ring::map(event, DATA_PAGES)?));
        Ok(())
    }
}

/// The events of a source, and page faults.
fn wanted(found: &Source, counters: CounterSource, devices: &Path) -> Vec<Wanted> {
    let faults = Code::new(bindings::PERF_TYPE_SOFTWARE, [bindings::PERF_COUNT_SW_PAGE_FAULTS.into(), 0, 0]);
    let mut wanted = vec![Wanted { of: BufferContent::Faults, code: faults, period: 1, precise: 0, leader: None }];
    let stores = ["cpu", "cpu_core"].iter().find_map(|name| pmu::read(devices, name)?.named("mem-stores"));
    // A source that samples loads alone has a separate event for stores.
    let stores = stores.filter(|_| counters == CounterSource::Auto && found.precise > 0);
    let Source { code, period, precise, leader, .. } = *found;
    let of = if found.precise > 0 { BufferContent::Loads } else { BufferContent::Both };
    wanted.push(Wanted { of, code, period, precise, leader });
    wanted.extend(stores.map(|code| Wanted { of: BufferContent::Stores, code, period, precise, leader: None }));
    wanted
}

fn start(wanted: &Wanted, modes: Modes, cpu: CpuId) -> Result<(OwnedFd, Option<OwnedFd>), Errno> {
    let inherited = |code: Code| {
        let mut attr = attributes(code, modes);
        attr.set_disabled(1);
        attr.set_inherit(1);
        attr.set_enable_on_exec(1);
        attr
    };
    let leader = wanted.leader.map(|code| open_here_and_in_children(&mut inherited(code), cpu, None)).transpose()?;
    let mut attr = inherited(wanted.code);
    if leader.is_some() {
        // It is switched on and off with its leader.
        attr.set_disabled(0);
        attr.set_enable_on_exec(0);
    }
    attr.__bindgen_anon_1.sample_period = wanted.period;
    attr.sample_type = SAMPLE_TYPE.into();
    attr.set_sample_id_all(1);
    attr.set_precise_ip(wanted.precise);
    if wanted.of == BufferContent::Faults {
        attr.set_task(1);
        attr.set_comm(1);
        attr.set_comm_exec(1);
        attr.set_mmap(1);
        attr.set_mmap_data(1);
        attr.set_mmap2(1);
    }
    Ok((open_here_and_in_children(&mut attr, cpu, leader.as_ref())?, leader))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;

    #[test]
    fn loads_and_stores_are_sampled_apart_where_the_cpu_has_them_apart() {
        let of = |root: &Path| {
            let found = source(CounterSource::Auto, root).unwrap();
            wanted(&found, CounterSource::Auto, root).iter().map(|wanted| wanted.of).collect::<Vec<_>>()
        };
        let (event, latency) = (("cpu/format/event", "config:0-7"), ("cpu/format/ldlat", "config1:0-15"));
        let intel = [("cpu/type", "4"), event, latency, ("cpu/events/mem-loads", "event=0xcd,ldlat=3")];
        assert_eq!(of(folder(&intel).path()), [BufferContent::Faults, BufferContent::Loads]);
        let stores = [&intel[..], &[("cpu/events/mem-stores", "event=0xcd")]].concat();
        assert_eq!(of(folder(&stores).path()), [BufferContent::Faults, BufferContent::Loads, BufferContent::Stores]);
        assert_eq!(of(folder(&[("ibs_op/type", "11")]).path()), [BufferContent::Faults, BufferContent::Both]);
    }

    #[test]
    fn without_a_source_the_reason_and_the_remedy_are_one_line() {
        let message = |files: &[(&str, &str)]| {
            let missing = Sampling::of_next_program(CounterSource::Auto, folder(files).path()).unwrap_err();
            assert!(!missing.why.contains('\n') && !missing.remedy.contains('\n'));
            (missing.why, missing.remedy)
        };
        let (why, remedy) = message(&[("cpu/type", "4")]);
        assert!(why.contains("mem-loads") && why.contains("ibs_op") && remedy.contains("--engine"), "{why}: {remedy}");
        let (why, remedy) = message(&[("arm_spe_0/type", "9")]);
        assert!(why.contains("Arm SPE") && remedy.contains("perf script"), "{why}: {remedy}");
    }
}
