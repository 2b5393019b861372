//! Reads the core PMUs as sysfs describes them
//! (`Documentation/ABI/testing/sysfs-bus-event_source-devices-*`): type number, the layout of
//! `config` words, named events. A hybrid or big.LITTLE machine has one PMU for each kind of core.
//! This file turns an [`Event`] into the numbers of `perf_event_open(2)`, and opens nothing.

use super::events::Event;
use crate::kernel::proc_fs::read_text;
use crate::perf::event::Code;
use isobar_model::{CpuId, CpuSet};
use perf_event_open_sys::bindings;
use std::collections::BTreeMap;
use std::path::Path;

/// The folder in which the kernel lists PMUs.
pub const DEVICES: &str = "/sys/bus/event_source/devices";

/// One PMU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pmu {
    /// The name of its folder.
    pub name: String,
    /// Its `type`.
    pub kind: u32,
    /// Whether the machine has other core PMUs, so that generic events must say which one they
    /// mean.
    pub one_of_several: bool,
    /// One of its CPUs; `None` if sysfs does not list its CPUs (a PMU of all CPUs on x86).
    pub cpu: Option<CpuId>,
    formats: BTreeMap<String, Format>,
    events: BTreeMap<String, String>,
}

/// Where the bits of a term go: a config word and bit ranges, low bits first (`config:0-7,32-35`).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Format {
    word: usize,
    ranges: Vec<(u32, u32)>,
}

/// The PMUs of the CPU cores, by name. It is ordinary that there are none (virtual machines).
#[must_use]
pub fn core_pmus(devices: &Path) -> Vec<Pmu> {
    let mut pmus: Vec<_> =
        names(devices).filter(|name| is_core(name)).filter_map(|name| read(devices, &name)).collect();
    pmus.sort_by(|a, b| a.name.cmp(&b.name));
    let several = pmus.len() > 1;
    pmus.iter_mut().for_each(|pmu| pmu.one_of_several = several);
    pmus
}

/// Whether a PMU is one of CPU cores: `cpu` on most architectures, `cpu_core` and `cpu_atom` on
/// hybrid x86, `armv8_pmuv3_0`, `armv8_cortex_a72`, ... on Arm.
fn is_core(name: &str) -> bool {
    matches!(name, "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower") || name.starts_with("armv") || name == "cpum_cf"
}

/// Reads one PMU; `None` if it does not exist.
#[must_use]
pub fn read(devices: &Path, name: &str) -> Option<Pmu> {
    let folder = devices.join(name);
    let kind = read_text(folder.join("type"))?.trim().parse().ok()?;
    let files = |sub: &str| {
        let sub = folder.join(sub);
        let entries: Vec<_> = names(&sub).collect();
        entries.into_iter().filter_map(move |name| Some((read_text(sub.join(&name))?.trim().to_owned(), name)))
    };
    let formats = files("format").filter_map(|(value, name)| Some((name, format(&value)?))).collect();
    let events = files("events").map(|(value, name)| (name, value)).collect();
    let cpus: Option<CpuSet> = read_text(folder.join("cpus")).and_then(|list| list.trim().parse().ok());
    let cpu = cpus.and_then(|cpus| cpus.iter().next());
    Some(Pmu { name: name.to_owned(), kind, one_of_several: false, cpu, formats, events })
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Reads a format such as `config:0-7,32-35` or `config1:5`.
fn format(text: &str) -> Option<Format> {
    let (word, ranges) = text.split_once(':')?;
    let range = |range: &str| {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high) = (low.parse().ok()?, high.parse().ok()?);
        (low <= high && high < 64).then_some((low, high))
    };
    Some(Format { word: config_word(word)?, ranges: ranges.split(',').map(range).collect::<Option<_>>()? })
}

fn config_word(name: &str) -> Option<usize> {
    ["config", "config1", "config2"].iter().position(|word| *word == name)
}

impl Pmu {
    /// A stand-in for the core's PMU if sysfs names none: generic and raw events may still open.
    #[must_use]
    pub fn nameless() -> Self {
        Self { kind: bindings::PERF_TYPE_RAW, ..Self::default() }
    }

    /// Whether sysfs shows a list of its events: there is none without a PMU, and a container may
    /// hide it.
    #[must_use]
    pub fn lists_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The code of a named event; `None` if the event does not exist or uses a term that the PMU
    /// does not describe.
    #[must_use]
    pub fn named(&self, event: &str) -> Option<Code> {
        self.encode(self.events.get(event)?)
    }

    /// The code of an event on this PMU.
    #[must_use]
    pub fn code(&self, event: Event) -> Option<Code> {
        match event {
            Event::Named(name) => self.named(name),
            // If the PMU lists events, the CPU has the listed events and no others.
            Event::Common(_, number) if self.events.is_empty() => Some(Code::new(self.kind, [u64::from(number), 0, 0])),
            Event::Common(name, _) => self.named(name),
            Event::Raw(config) => Some(Code::new(self.kind, [config, 0, 0])),
            // Bits 32 and up of a generic event identify the PMU (`PERF_PMU_TYPE_SHIFT`, Linux
            // 5.13).
            Event::Generic(id) if self.one_of_several => {
                let config = u64::from(self.kind) << 32 | u64::from(id);
                Some(Code::new(bindings::PERF_TYPE_HARDWARE, [config, 0, 0]))
            }
            Event::Generic(id) => Some(Code::new(bindings::PERF_TYPE_HARDWARE, [u64::from(id), 0, 0])),
            Event::Software(id) => Some(Code::new(bindings::PERF_TYPE_SOFTWARE, [u64::from(id), 0, 0])),
        }
    }

    /// Encodes terms such as `event=0xcd,umask=0x1,ldlat=3`; a term without a value is 1.
    fn encode(&self, terms: &str) -> Option<Code> {
        let mut config = [0; 3];
        for term in terms.split(',').map(str::trim).filter(|term| !term.is_empty()) {
            let (name, value) = term.split_once('=').unwrap_or((term, "1"));
            let value = value_of(value.trim())?;
            match (self.formats.get(name), config_word(name)) {
                (Some(format), _) => spread(format, value, &mut config[format.word]),
                (None, Some(word)) => config[word] |= value,
                (None, None) => return None,
            }
        }
        Some(Code::new(self.kind, config))
    }
}

fn value_of(text: &str) -> Option<u64> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
}

/// Puts the bits of `value`, low ones first, into the ranges of the format.
fn spread(format: &Format, mut value: u64, word: &mut u64) {
    for &(low, high) in &format.ranges {
        let width = high - low + 1;
        let mask = u64::MAX >> (64 - width);
        *word |= (value & mask) << low;
        value = value.checked_shr(width).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cpu_model::{CpuModel, Vendor};
    use crate::sensors::counters::events::row_for;
    use crate::test_kit::{folder, write};

    #[test]
    fn named_events_are_encoded_by_the_formats() {
        let root = folder(&[
            ("cpu/type", "4\n"),
            ("cpu/format/event", "config:0-7,32-35\n"),
            ("cpu/format/umask", "config:8-15\n"),
            ("cpu/format/ldlat", "config1:0-15\n"),
            ("cpu/format/edge", "config:18\n"),
            ("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"),
            ("cpu/events/wide", "event=0x1c3,edge\n"),
            ("cpu/events/odd", "event=1,colour=3\n"),
            ("software/type", "1\n"),
            ("uncore_imc_0/type", "14\n"),
        ]);
        let pmus = core_pmus(root.path());
        assert_eq!(pmus.len(), 1);
        let cpu = &pmus[0];
        assert_eq!(cpu.named("mem-loads"), Some(Code::new(4, [0x1cd, 3, 0])));
        assert_eq!(cpu.named("wide"), Some(Code::new(4, [0x1_0004_00c3, 0, 0])));
        assert_eq!((cpu.named("odd"), cpu.named("gone")), (None, None));
        assert_eq!(cpu.code(Event::Raw(0xdc44)), Some(Code::new(4, [0xdc44, 0, 0])));
        assert_eq!(cpu.code(Event::Generic(3)), Some(Code::new(0, [3, 0, 0])));
    }

    #[test]
    fn hybrid_generic_events_say_which_pmu() {
        let root = folder(&[("cpu_core/type", "4\n"), ("cpu_atom/type", "10\n")]);
        let pmus = core_pmus(root.path());
        let codes: Vec<_> = pmus.iter().map(|pmu| pmu.code(Event::Generic(3)).unwrap().config[0]).collect();
        assert_eq!(codes, [10 << 32 | 3, 4 << 32 | 3]);
    }

    /// QEMU's emulated Neoverse N1: the only cache events listed are those of the L1, and number
    /// 0x37 would open and read 0.
    #[test]
    fn an_event_that_the_pmu_does_not_list_has_no_code() {
        let n1 = row_for(&CpuModel { vendor: Vendor::Arm, family: 0x41, model: 0xd0c, hypervisor: false });
        let misses = |files: &[(&str, &str)]| {
            let root = folder(&[("armv8_pmuv3_0/type", "9\n")]);
            write(&root.path().join("armv8_pmuv3_0"), files);
            let pmu = core_pmus(root.path()).remove(0);
            n1.llc.iter().map(|pair| pmu.code(pair.misses).map(|code| (code.kind, code.config[0]))).collect::<Vec<_>>()
        };
        let format = ("format/event", "config:0-15");
        let unlisted = [format, ("events/cpu_cycles", "event=0x0011"), ("events/l1d_cache_refill", "event=0x0003")];
        assert_eq!(misses(&unlisted), [None, None, None]);
        let listed = [format, ("events/ll_cache_miss_rd", "event=0x0037"), ("events/l2d_cache_refill", "event=0x0017")];
        assert_eq!(misses(&listed), [Some((9, 0x37)), None, Some((9, 0x17))]);
        assert_eq!(misses(&[format]), [Some((9, 0x37)), None, None], "no list at all, and a part that has the event");
    }

    #[test]
    fn a_pmu_of_some_cpus_names_one_of_them() {
        let root = folder(&[
            ("armv8_cortex_a53/type", "8\n"),
            ("armv8_cortex_a53/cpus", "0-3\n"),
            ("armv8_cortex_a72/type", "9\n"),
            ("armv8_cortex_a72/cpus", "4-5\n"),
            ("cpu/type", "4\n"),
        ]);
        let cpus: Vec<_> = core_pmus(root.path()).iter().map(|pmu| pmu.cpu.map(|cpu| cpu.0)).collect();
        assert_eq!(cpus, [Some(0), Some(4), None]);
    }

    #[test]
    fn no_pmu_is_ordinary_and_broken_formats_are_left_out() {
        assert_eq!(core_pmus(Path::new("/nonexistent")), []);
        for broken in ["config", "config:8-3", "config:0-64", "config9:0", "config:x"] {
            assert_eq!(format(broken), None, "{broken}");
        }
        assert_eq!(format("config:0-63").unwrap().ranges, [(0, 63)]);
    }
}
