//! Makes QEMU's command line for a machine. It knows the machine file, paths and QEMU's options,
//! and starts nothing.

use crate::error::LabError;
use numasim_model::num;
use numasim_model::{Link, Llc, Spec};
use std::path::{Path, PathBuf};

/// What a boot needs besides the machine.
#[derive(Clone, Debug)]
pub struct Files {
    /// Folders with QEMU's firmware.
    pub firmware: Vec<PathBuf>,
    /// The kernel.
    pub kernel: PathBuf,
    /// The image, which the kernel unpacks.
    pub initramfs: PathBuf,
    /// The plugin; `None` stands for plain emulation.
    pub plugin: Option<PathBuf>,
    /// Seed of the random numbers that the guest's kernel gets: the same seed gives the same
    /// numbers.
    pub seed: u64,
    /// Whether the plugin has to leave a page trace.
    pub page_trace: bool,
    /// Whether the guest has resctrl; its caches are then shown as programs for resctrl expect
    /// them.
    pub resctrl: bool,
    /// The boot's own folder, for what the boot leaves.
    pub out: PathBuf,
}

/// Names of the files that a boot leaves in [`Files::out`].
pub mod left {
    /// The machine, for the plugin.
    pub const MACHINE: &str = "machine.toml";
    /// The command line, for a shell.
    pub const COMMAND: &str = "command";
    /// The guest's image and order, if they are kept.
    pub const INITRAMFS: &str = "initramfs";
    /// The page that plugin and guest share.
    pub const PAGE: &str = "page";
    /// The page trace of the plugin.
    pub const TRACE: &str = "trace";
    /// The guest's console.
    pub const CONSOLE: &str = "console.log";
    /// The lines of the director.
    pub const RESULTS: &str = "results.jsonl";
    /// The folder of files that daemons wrote in the guest.
    pub const FILES: &str = "files";
    /// What a command printed.
    pub const OUTPUT: &str = "output";
    /// What QEMU and the plugin wrote to standard error.
    pub const ERRORS: &str = "qemu.log";
}

/// Least memory of a guest, for the kernel and its image.
const LEAST_MIB: u32 = 256;
/// Least clock rate: a slower guest does not finish booting within any time limit.
const LEAST_MHZ: f64 = 1.0;
const LEAST_MB_PER_S: f64 = 1.0;

/// Bytes of the shared page.
pub const PAGE_BYTES: u64 = 524_288;

/// The CPU model. Under QEMU's emulation, Linux learns which CPUs share a cache only from an Intel
/// processor (CPUID leaf 4; on AMD, leaf 0x8000001d, which TCG does not have). The model is
/// Nehalem's. `level=13` makes leaf 13 the last. With several LLCs per socket QEMU would make it
/// 31, and QEMU 10.0 then aborts in `encode_topo_cpuid1f` if a guest asks for a leaf beyond the
/// last, which the firmware does.
const CPU: &str = "max,vendor=GenuineIntel,family=6,model=26,stepping=5,level=13";
/// The kernel's parameters. The kernel neither clears every page that it hands out nor works around
/// faults of processors, as on the systems that papers measure; both cost a scaled machine far more
/// than hardware. Its self-tests of ciphers are off, because they would keep a CPU busy for
/// seconds. CPUs wait by HLT, which the plugin recognises.
const KERNEL: &str = "console=ttyS0 panic=-1 quiet tsc=reliable clocksource=tsc nokaslr cryptomgr.notests \
    init_on_alloc=0 mitigations=off intel_idle.max_cstate=0";

/// All arguments of a boot, in order.
///
/// # Errors
/// A machine whose CPUs QEMU cannot lay out.
pub fn arguments(spec: &Spec, files: &Files) -> Result<Vec<String>, LabError> {
    let mut words = Words::default();
    files.firmware.iter().for_each(|folder| words.pair("-L", folder.display()));
    words.pair("-accel", "tcg,thread=single");
    words.pair("-machine", "q35,hmat=on");
    words.pair("-cpu", CPU);
    nodes(spec, &mut words)?;
    words.0.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(str::to_owned));
    words.pair("-display", "none");
    words.pair("-seed", files.seed);
    words.pair("-rtc", "base=2026-01-01,clock=vm");
    devices(files, &mut words);
    words.pair("-kernel", files.kernel.display());
    words.pair("-initrd", files.initramfs.display());
    // With the plugin, the time-stamp counter runs at the machine's clock; QEMU's own runs at 1
    // GHz.
    let clock = files.plugin.as_ref().map(|_| format!(" tsc_early_khz={}", spec.clock_khz()));
    words.pair("-append", format!("{KERNEL}{}", clock.unwrap_or_default()));
    if let Some(plugin) = &files.plugin {
        let at = |name| option(&files.out.join(name));
        let trace = if files.page_trace { format!(",trace={}", at(left::TRACE)) } else { String::new() };
        let l1 = if files.resctrl { ",l1=on" } else { "" };
        words.pair(
            "-plugin",
            format!("{},machine={},page={}{trace}{l1}", option(plugin), at(left::MACHINE), at(left::PAGE)),
        );
    }
    Ok(words.0)
}

/// A path as part of an option, where commas are doubled (docs/system/invocation).
fn option(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn pair(&mut self, option: &str, value: impl std::fmt::Display) {
        self.0.extend([option.to_owned(), value.to_string()]);
    }
}

/// The console, the device that takes the verdict, the two ports, and the counter page.
fn devices(files: &Files, words: &mut Words) {
    let at = |name| option(&files.out.join(name));
    words.pair("-serial", format!("file:{}", at(left::CONSOLE)));
    words.pair("-device", "isa-debug-exit,iobase=0xf4,iosize=1");
    // The CPUs' thread handles this device itself. Through the main loop, the time of an interrupt
    // would depend on the host.
    words.pair("-device", "virtio-serial-pci,ioeventfd=off");
    for (name, file) in [("results", left::RESULTS), ("output", left::OUTPUT)] {
        words.pair("-chardev", format!("file,id={name},path={}", at(file)));
        words.pair("-device", format!("virtserialport,chardev={name},name={name}"));
    }
    if files.plugin.is_some() {
        let path = at(left::PAGE);
        words.pair("-object", format!("memory-backend-file,id=page,share=on,mem-path={path},size={PAGE_BYTES}"));
        words.pair("-device", "ivshmem-plain,memdev=page");
    }
}

/// The total memory in MiB, if Linux boots on such a machine.
fn bootable(spec: &Spec) -> Result<u32, LabError> {
    let total: u32 = spec.node.iter().map(|node| node.memory_mib).sum();
    let too_little = |key: &str, what: String, least: String| {
        let problem = format!("`{key}`: {what}: Linux does not boot with less than {least}");
        Err(LabError::input(&spec.name, problem))
    };
    if total < LEAST_MIB {
        return too_little("node.memory_mib", format!("{total} MiB in all"), format!("{LEAST_MIB} MiB"));
    }
    if spec.clock_mhz < LEAST_MHZ {
        return too_little("clock_mhz", spec.clock_mhz.to_string(), format!("{LEAST_MHZ} MHz"));
    }
    match spec.node.iter().find(|node| node.mb_per_s < LEAST_MB_PER_S) {
        Some(node) => too_little("node.mb_per_s", node.mb_per_s.to_string(), format!("{LEAST_MB_PER_S} MB/s")),
        None => Ok(total),
    }
}

/// Options for memory, CPUs and what the firmware's tables say of them.
fn nodes(spec: &Spec, words: &mut Words) -> Result<(), LabError> {
    let shape = Shape::of(spec)?;
    let total = bootable(spec)?;
    words.pair("-m", format!("{total}M"));
    let Shape { sockets, dies, cores } = shape;
    let die = if dies > 1 { format!("dies={dies},") } else { String::new() };
    words.pair("-smp", format!("{},sockets={sockets},{die}cores={cores},threads=1", spec.cpus()));
    for node in &spec.node {
        words.pair("-object", format!("memory-backend-ram,id=m{0},size={1}M", node.id, node.memory_mib));
        let initiator = initiator(spec, num::index(node.id));
        words.pair("-numa", format!("node,nodeid={0},memdev=m{0},initiator={initiator}", node.id));
    }
    for node in &spec.node {
        for cpu in node.cpus.as_slice() {
            let (core, llc) = (cpu % cores, cpu / cores);
            let die = if dies > 1 { format!("die-id={},", llc % dies) } else { String::new() };
            let place = format!("socket-id={},{die}core-id={core},thread-id=0", llc / dies);
            words.pair("-numa", format!("cpu,node-id={},{place}", node.id));
        }
    }
    for (from, row) in spec.latency.ns.iter().enumerate() {
        row.iter().enumerate().for_each(|(to, _)| pair(spec, from, to, words));
    }
    Ok(())
}

/// Distance and HMAT of a pair of nodes.
fn pair(spec: &Spec, from: usize, to: usize, words: &mut Words) {
    words.pair("-numa", format!("dist,src={from},dst={to},val={}", distance(spec, from, to)));
    if spec.node[from].cpus.as_slice().is_empty() {
        return;
    }
    let of = format!("hmat-lb,initiator={from},target={to},hierarchy=memory");
    let (ns, mb) = (num::round(spec.latency.ns[from][to]), num::round(bandwidth(spec, from, to)).max(1));
    words.pair("-numa", format!("{of},data-type=access-latency,latency={ns}"));
    words.pair("-numa", format!("{of},data-type=access-bandwidth,bandwidth={mb}M"));
}

/// The distance of two nodes as firmware reports it (ACPI, SLIT), which is 10 times the ratio of
/// latencies: 10 on the diagonal, above it elsewhere, at most 254. The distance is the mean of both
/// directions, because Linux expects symmetric distances. The row of a node without CPUs does not
/// count, unless neither node has CPUs.
fn distance(spec: &Spec, from: usize, to: usize) -> u64 {
    if from == to {
        return 10;
    }
    let counts = |node: usize| !spec.node[node].cpus.as_slice().is_empty();
    let neither = !counts(from) && !counts(to);
    let seen = [(from, to), (to, from)].into_iter().filter(|(node, _)| neither || counts(*node));
    let ratios: Vec<f64> = seen.map(|(a, b)| spec.latency.ns[a][b] / spec.latency.ns[a][a]).collect();
    let all: f64 = ratios.iter().sum();
    num::round(10.0 * all / num::float(u64::try_from(ratios.len()).unwrap_or(1))).clamp(11, 254)
}

/// MB/s that a node's CPUs can get from another node's memory: the smallest bandwidth of the
/// memory's controller and of the links on the way.
fn bandwidth(spec: &Spec, from: usize, to: usize) -> f64 {
    // A spec that was checked has a path between any two nodes.
    let way = spec.path(to, from).unwrap_or_default();
    let joins = |(a, b): (u32, u32), link: &Link| [(link.a, link.b), (link.b, link.a)].contains(&(a, b));
    let of = |hop| spec.link.iter().find(|link| joins(hop, link)).map(|link| link.mb_per_s_each_way);
    way.into_iter().filter_map(of).fold(spec.node[to].mb_per_s, f64::min)
}

/// The node whose CPUs are nearest to a node's memory; ties go to the lower number.
fn initiator(spec: &Spec, node: usize) -> usize {
    let with_cpus = (0..spec.node.len()).filter(|from| !spec.node[*from].cpus.as_slice().is_empty());
    with_cpus.min_by(|a, b| spec.latency.ns[*a][node].total_cmp(&spec.latency.ns[*b][node])).unwrap_or(0)
}

/// The topology that the guest sees: sockets, dies per socket, cores per die. A die has an LLC (by
/// CPUID leaf 4). A socket is a node if all nodes have the same number of LLCs, and else an LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    sockets: usize,
    dies: usize,
    cores: usize,
}

impl Shape {
    fn of(spec: &Spec) -> Result<Self, LabError> {
        let cores = spec.llc.first().map_or(1, |llc| llc.cpus.as_slice().len());
        let right = |(at, llc): (usize, &Llc)| llc.cpus.as_slice().iter().copied().eq(at * cores..(at + 1) * cores);
        if !spec.llc.iter().enumerate().all(right) {
            let problem = format!(
                "`llc.cpus`: QEMU numbers CPUs one LLC after another, equally many each: LLC 0 has {cores}, \
                 so LLC 1 must have {cores}-{}",
                2 * cores - 1
            );
            return Err(LabError::input(&spec.name, problem));
        }
        let counts: Vec<usize> = spec.node.iter().map(|node| node.cpus.as_slice().len()).filter(|n| *n > 0).collect();
        if counts.iter().any(|count| count % cores != 0) {
            return Err(LabError::input(&spec.name, "`node.cpus`: a node must have all CPUs of an LLC, or none"));
        }
        let dies = counts.first().map_or(1, |count| count / cores);
        let alike = counts.iter().all(|count| count / cores == dies);
        let dies = if alike { dies } else { 1 };
        Ok(Self { sockets: spec.llc.len() / dies, dies, cores })
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
