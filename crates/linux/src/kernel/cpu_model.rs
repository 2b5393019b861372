//! Identifies the CPU as far as the choice of events depends on it: vendor, family, model, and
//! whether a hypervisor is underneath. It reads the text of `/proc/cpuinfo` (`proc_cpuinfo(5)`). On
//! Arm, where a machine may have several kinds of cores, it also reads the identification register
//! of a CPU of the kind in question.

use super::proc_fs::read_text;
use isobar_model::{CpuId, CpuSet};
use std::path::Path;

/// The folder in which the kernel lists CPUs.
pub const CPUS: &str = "/sys/devices/system/cpu";

/// The CPUs that are online, which the kernel shows in one small file.
#[must_use]
pub fn online_cpus() -> Option<CpuSet> {
    read_text(format!("{CPUS}/online"))?.parse().ok()
}

/// The CPUs that can ever be online. This does not change until the next boot.
#[must_use]
pub fn possible_cpus() -> Option<CpuSet> {
    read_text(format!("{CPUS}/possible"))?.parse().ok()
}

/// Who made the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vendor {
    /// `GenuineIntel`
    Intel,
    /// `AuthenticAMD`
    Amd,
    /// `HygonGenuine`: Zen 1 under another name
    Hygon,
    /// any implementer of the Arm architecture
    Arm,
    /// anything else; never refused
    #[default]
    Other,
}

/// The CPU, from the first entry of `/proc/cpuinfo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuModel {
    /// Its maker.
    pub vendor: Vendor,
    /// x86 family (extended family added in); on Arm the implementer (0x41 is Arm Limited); 0
    /// elsewhere.
    pub family: u32,
    /// x86 model; on Arm the part number of that implementer; 0 elsewhere.
    pub model: u32,
    /// The CPUID bit by which a hypervisor shows its presence (x86 only).
    pub hypervisor: bool,
}

impl CpuModel {
    /// The CPU of the running machine.
    #[must_use]
    pub fn live() -> Self {
        parse(&read_text("/proc/cpuinfo").unwrap_or_default())
    }

    /// The same CPU with the fields of its `MIDR_EL1`: implementer in bits 24 to 31, part number in
    /// bits 4 to 15 (Arm Architecture Reference Manual).
    #[must_use]
    pub fn with_midr(self, midr: u64) -> Self {
        let bits = |low: u32, mask: u64| u32::try_from(midr >> low & mask).unwrap_or(0);
        Self { vendor: Vendor::Arm, family: bits(24, 0xff), model: bits(4, 0xfff), ..self }
    }

    /// The kind of one CPU of this machine, if that CPU has an identification register under `cpus`
    /// ([`CPUS`]); otherwise `self`.
    #[must_use]
    pub fn of(self, cpu: Option<CpuId>, cpus: &Path) -> Self {
        cpu.and_then(|cpu| midr(cpus, cpu)).map_or(self, |midr| self.with_midr(midr))
    }
}

/// The identification register of a CPU (`Documentation/ABI/testing/sysfs-devices-system-cpu`);
/// `None` if the CPU is not Arm.
fn midr(cpus: &Path, cpu: CpuId) -> Option<u64> {
    let text = read_text(cpus.join(format!("cpu{cpu}/regs/identification/midr_el1")))?;
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// Reads the first CPU of `/proc/cpuinfo`; fields that are missing stay at their defaults.
#[must_use]
pub fn parse(cpuinfo: &str) -> CpuModel {
    let mut cpu = CpuModel::default();
    let hex = |value: &str| value.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(0);
    for line in cpuinfo.lines().take_while(|line| !line.trim().is_empty()) {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match key.trim() {
            "vendor_id" => cpu.vendor = vendor(value),
            "CPU implementer" => (cpu.vendor, cpu.family) = (Vendor::Arm, hex(value)),
            "CPU part" => cpu.model = hex(value),
            "cpu family" => cpu.family = value.parse().unwrap_or(0),
            "model" => cpu.model = value.parse().unwrap_or(0),
            "flags" => cpu.hypervisor = value.split(' ').any(|flag| flag == "hypervisor"),
            _ => {}
        }
    }
    cpu
}

fn vendor(text: &str) -> Vendor {
    match text {
        "GenuineIntel" => Vendor::Intel,
        "AuthenticAMD" => Vendor::Amd,
        "HygonGenuine" => Vendor::Hygon,
        _ => Vendor::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;

    const NEOVERSE_N1: CpuModel = CpuModel { vendor: Vendor::Arm, family: 0x41, model: 0xd0c, hypervisor: false };

    #[test]
    fn x86_and_arm_are_told_apart() {
        let zen = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: EPYC\n\
                   flags\t\t: fpu hypervisor\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n";
        let expected = CpuModel { vendor: Vendor::Amd, family: 26, model: 2, hypervisor: true };
        assert_eq!(parse(zen), expected);
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\n\
                   CPU part\t: 0xd0c\nCPU revision\t: 1\n";
        assert_eq!(parse(arm), NEOVERSE_N1);
        assert_eq!(parse("CPU implementer : 41\n").vendor, Vendor::Arm, "an implementer in another form");
        assert_eq!(parse("processor : 0\ncpu : POWER9\n"), CpuModel::default());
        assert_eq!(parse(""), CpuModel::default());
    }

    #[test]
    fn each_kind_of_core_says_what_it_is() {
        // Cortex-A53 r0p4 and Cortex-A72 r0p2 of one big.LITTLE machine; the third is broken.
        let cpus = folder(&[
            ("cpu0/regs/identification/midr_el1", "0x00000000410fd034\n"),
            ("cpu4/regs/identification/midr_el1", "0x00000000410fd082\n"),
            ("cpu5/regs/identification/midr_el1", "many\n"),
        ]);
        let first = CpuModel { model: 0xd03, ..NEOVERSE_N1 };
        let of = |cpu: Option<u32>| first.of(cpu.map(CpuId), cpus.path()).model;
        assert_eq!((of(Some(0)), of(Some(4))), (0xd03, 0xd08));
        assert_eq!((of(Some(5)), of(Some(9)), of(None)), (0xd03, 0xd03, 0xd03), "the first CPU speaks for the others");
        assert_eq!(CpuModel::default().with_midr(0x413f_d0c1), NEOVERSE_N1);
    }
}
