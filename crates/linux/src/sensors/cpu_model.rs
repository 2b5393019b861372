//! Which CPU this is, as far as the choice of events depends on it: vendor, family, model, and whether a hypervisor is
//! underneath. From the text of `/proc/cpuinfo` (`proc_cpuinfo(5)`).

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
    /// x86 family (extended family added in); 0 elsewhere.
    pub family: u32,
    /// x86 model; 0 elsewhere.
    pub model: u32,
    /// The CPUID bit by which a hypervisor makes itself known (x86 only).
    pub hypervisor: bool,
}

/// Reads the first CPU of `/proc/cpuinfo`; what is not there stays at its default.
#[must_use]
pub fn parse(cpuinfo: &str) -> CpuModel {
    let mut cpu = CpuModel::default();
    for line in cpuinfo.lines().take_while(|line| !line.trim().is_empty()) {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match key.trim() {
            "vendor_id" => cpu.vendor = vendor(value),
            "CPU implementer" => cpu.vendor = Vendor::Arm,
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

    #[test]
    fn x86_and_arm_are_told_apart() {
        let zen = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: EPYC\n\
                   flags\t\t: fpu hypervisor\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n";
        let expected = CpuModel { vendor: Vendor::Amd, family: 26, model: 2, hypervisor: true };
        assert_eq!(parse(zen), expected);
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(parse(arm).vendor, Vendor::Arm);
        assert_eq!(parse("processor : 0\ncpu : POWER9\n"), CpuModel::default());
        assert_eq!(parse(""), CpuModel::default());
    }
}
