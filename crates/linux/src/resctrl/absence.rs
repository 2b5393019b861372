//! Determines why there is no way allocation on this machine: a pure function of what the machine
//! says about itself, which is gathered here. Nothing is guessed.

use super::root::Root;
use crate::kernel::arch::Arch;
use crate::kernel::proc_fs::read_text;
use std::path::{Path, PathBuf};

/// What the machine reports about resctrl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// where it would be mounted
    pub root: PathBuf,
    /// whether it is mounted there
    pub mounted: bool,
    /// whether the kernel knows the file system (`/proc/filesystems`)
    pub known: bool,
    /// whether the CPU has cache allocation (`cat_l3` in `/proc/cpuinfo`); `None` if the flags are
    /// not those of x86
    pub cat: Option<bool>,
    /// whether a hypervisor is underneath
    pub hypervisor: bool,
    /// the architecture
    pub arch: Arch,
    /// whether firmware describes MPAM, Arm's cache allocation (the ACPI table of that name);
    /// `None` if there is no ACPI
    pub mpam: Option<bool>,
}

impl Evidence {
    /// The evidence of the running machine.
    #[must_use]
    pub fn live(root: &Path) -> Self {
        let cpuinfo = read_text("/proc/cpuinfo").unwrap_or_default();
        let flags =
            cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':')).map(|(_, flags)| flags);
        let has = |flag: &str| flags.map(|flags| flags.split_ascii_whitespace().any(|known| known == flag));
        let known = read_text("/proc/filesystems").unwrap_or_default();
        let tables = Path::new("/sys/firmware/acpi/tables");
        Self {
            root: root.to_owned(),
            mounted: Root::new(root).check().is_ok(),
            known: known.lines().any(|line| line.split_ascii_whitespace().last() == Some("resctrl")),
            cat: has("cat_l3"),
            hypervisor: has("hypervisor") == Some(true),
            arch: Arch::here(),
            mpam: tables.is_dir().then(|| tables.join("MPAM").exists()),
        }
    }

    /// Whether resctrl is mounted now.
    #[must_use]
    pub fn is_mounted(&self) -> bool {
        Root::new(&self.root).check().is_ok()
    }

    /// Why there is no way allocation, with the remedy. To be called only if there is none.
    #[must_use]
    pub fn reason(&self) -> String {
        let root = self.root.display();
        match self {
            Self { mounted: true, .. } => {
                format!(
                    "resctrl is mounted on {root} and offers no allocation of the last-level cache (no \
                         info/L3): it only monitors"
                )
            }
            Self { cat: Some(false), hypervisor: true, .. } => {
                "the hypervisor passes no cache allocation through (no `cat_l3` in /proc/cpuinfo): run \
                 isobar on the host"
                    .to_owned()
            }
            Self { cat: Some(false), .. } => {
                "this CPU has no cache allocation (no `cat_l3` in /proc/cpuinfo): nothing can be done about it"
                    .to_owned()
            }
            Self { known: false, arch, .. } => self.no_file_system(*arch),
            _ => format!(
                "resctrl is not mounted: `mount -t resctrl resctrl {root}`, with the mount options that other tools \
                 need"
            ),
        }
    }

    /// Why the kernel has no resctrl. On Arm, resctrl is the interface to MPAM
    /// (`Documentation/arch/arm64/mpam.rst`): the driver came with Linux 6.19, its resctrl after
    /// 7.0 (`ARCH_HAS_CPU_RESCTRL` of arm64, March 2026).
    fn no_file_system(&self, arch: Arch) -> String {
        let reason = match (arch, self.mpam) {
            (Arch::X86, _) => {
                "the kernel has no resctrl: build it with CONFIG_X86_CPU_RESCTRL, and leave out `rdt=!l3cat` at boot"
            }
            (Arch::Arm, Some(false)) => {
                "firmware describes no cache allocation (no ACPI table MPAM): newer firmware may describe it, if the \
                 hardware has it"
            }
            (Arch::Arm, _) => {
                "the kernel has no resctrl: on Arm it needs hardware with MPAM, firmware that describes it, and Linux \
                 7.1 or later with CONFIG_ARM64_MPAM_DRIVER, without `arm64.nompam` at boot"
            }
            (Arch::Other, _) => {
                "the kernel has no resctrl, which exists on x86 and Arm only: nothing can be done about it"
            }
        };
        reason.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_words_and_remedy() {
        let root = "/sys/fs/resctrl".into();
        let all = Evidence { root, known: true, cat: Some(true), arch: Arch::X86, ..Evidence::default() };
        let say = |change: fn(&mut Evidence)| {
            let mut evidence = all.clone();
            change(&mut evidence);
            evidence.reason()
        };
        assert!(say(|_| {}).contains("not mounted: `mount -t resctrl resctrl /sys/fs/resctrl`"));
        assert!(say(|evidence| evidence.known = false).contains("CONFIG_X86_CPU_RESCTRL"));
        assert!(say(|evidence| evidence.cat = Some(false)).contains("this CPU has no cache allocation"));
        assert!(
            say(|evidence| (evidence.cat, evidence.hypervisor) = (Some(false), true))
                .contains("run isobar on the host")
        );
        assert!(say(|evidence| evidence.mounted = true).contains("only monitors"));
    }

    #[test]
    fn no_architecture_is_given_the_advice_of_another() {
        let say = |arch, mpam| Evidence { arch, mpam, ..Evidence::default() }.reason();
        assert!(say(Arch::X86, None).contains("CONFIG_X86_CPU_RESCTRL") && say(Arch::X86, None).contains("rdt="));
        for (mpam, word) in [(Some(false), "ACPI table MPAM"), (Some(true), "ARM64_MPAM_DRIVER"), (None, "Linux 7.1")] {
            let said = say(Arch::Arm, mpam);
            assert!(said.contains(word) && !said.contains("rdt=") && !said.contains("X86"), "{said}");
            assert!(!said.contains("  ") && !said.contains('\n'), "{said}");
        }
        let other = say(Arch::Other, None);
        assert!(!other.contains("rdt=") && !other.contains("CONFIG"), "{other}");
    }
}
