//! Holds everything that depends on the architecture that isobar was built for: the advice that
//! fits it, and the numbers that the kernel gives its registers. All other files ask here, so that
//! no other file tests for an architecture.

/// An architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arch {
    /// x86, of any maker
    X86,
    /// 64-bit Arm
    Arm,
    /// any other; never refused
    #[default]
    Other,
}

impl Arch {
    /// The architecture that isobar was built for.
    #[must_use]
    pub const fn here() -> Self {
        if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
            Self::X86
        } else if cfg!(target_arch = "aarch64") {
            Self::Arm
        } else {
            Self::Other
        }
    }

    /// How a virtual machine gets a PMU, worded to follow a colon. QEMU's emulated Arm CPUs have a
    /// PMU by default (property `pmu`); its emulated x86 CPUs have none.
    #[must_use]
    pub const fn guest_pmu(self) -> &'static str {
        match self {
            Self::X86 => "enable a virtual PMU on the host, with KVM `-cpu host,pmu=on`",
            Self::Arm => {
                "enable a virtual PMU on the host, with KVM `-cpu host,pmu=on`, or with QEMU's emulation `-cpu \
                 max,pmu=on`"
            }
            Self::Other => "enable a virtual PMU on the host",
        }
    }

    /// How a virtual machine gets a PMU that counts instructions, if its PMU counts cycles only.
    /// QEMU's emulation of Arm offers INST_RETIRED only if `-icount` has a fixed shift:
    /// `shift=auto` does not work (`instructions_supported` in QEMU's `target/arm/cpregs-pmu.c`).
    #[must_use]
    pub const fn guest_instructions(self) -> &'static str {
        match self {
            Self::Arm => "with KVM use `-cpu host,pmu=on`; with QEMU's emulation use a fixed `-icount shift=0`",
            Self::X86 | Self::Other => self.guest_pmu(),
        }
    }
}

/// The registers that a sample of a call holds, as bits (`arch/*/include/uapi/asm/perf_regs.h`):
/// the register of the first argument, and the instruction pointer, whose bit must be the higher
/// one. These are X0 and PC on Arm, otherwise DI and IP of x86.
pub const CALL_REGISTERS: u64 = match Arch::here() {
    Arch::Arm => 1 << 0 | 1 << 32,
    Arch::X86 | Arch::Other => 1 << 5 | 1 << 8,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_on_guests_fits_the_architecture() {
        assert!(Arch::Arm.guest_instructions().contains("-icount"));
        assert!(!Arch::X86.guest_instructions().contains("-icount"));
        assert!(!Arch::Other.guest_pmu().contains("-cpu"));
    }
}
