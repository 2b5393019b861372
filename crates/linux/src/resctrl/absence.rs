//! Why there is no way allocation on this machine, found out and not guessed: a pure function of what the machine says about itself, which
//! is gathered here.

use super::root::Root;
use crate::sensors::proc_fs::read_text;
use std::path::{Path, PathBuf};

/// What the machine says of resctrl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// where it would be mounted
    pub root: PathBuf,
    /// whether it is mounted there
    pub mounted: bool,
    /// whether the kernel knows the file system (`/proc/filesystems`)
    pub known: bool,
    /// whether the CPU has cache allocation (`cat_l3` in `/proc/cpuinfo`); `None` where flags are not those of x86
    pub cat: Option<bool>,
    /// whether a hypervisor is underneath
    pub hypervisor: bool,
}

impl Evidence {
    /// That of the running machine.
    #[must_use]
    pub fn live(root: &Path) -> Self {
        let cpuinfo = read_text("/proc/cpuinfo").unwrap_or_default();
        let flags =
            cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':')).map(|(_, flags)| flags);
        let has = |flag: &str| flags.map(|flags| flags.split_ascii_whitespace().any(|known| known == flag));
        let known = read_text("/proc/filesystems").unwrap_or_default();
        Self {
            root: root.to_owned(),
            mounted: Root::new(root).check().is_ok(),
            known: known.lines().any(|line| line.split_ascii_whitespace().last() == Some("resctrl")),
            cat: has("cat_l3"),
            hypervisor: has("hypervisor") == Some(true),
        }
    }

    /// Why there is no way allocation, with the remedy; asked only where there is none.
    #[must_use]
    pub fn reason(&self) -> String {
        let root = self.root.display();
        match self {
            Self { mounted: true, .. } => {
                format!("resctrl is mounted on {root} and offers no allocation of the last-level cache (no info/L3): it only monitors")
            }
            Self { cat: Some(false), hypervisor: true, .. } => {
                "the hypervisor passes no cache allocation through (no `cat_l3` in /proc/cpuinfo): run isobar on the host".to_owned()
            }
            Self { cat: Some(false), .. } => {
                "this CPU has no cache allocation (no `cat_l3` in /proc/cpuinfo): nothing can be done about it".to_owned()
            }
            Self { known: false, .. } => {
                "the kernel has no resctrl: build it with CONFIG_X86_CPU_RESCTRL, and leave out `rdt=!l3cat` at boot".to_owned()
            }
            _ => format!("resctrl is not mounted: `mount -t resctrl resctrl {root}`, with the options that other tools want"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_words_and_remedy() {
        let all = Evidence {
            root: "/sys/fs/resctrl".into(),
            mounted: false,
            known: true,
            cat: Some(true),
            hypervisor: false,
        };
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
        let arm = say(|evidence| (evidence.cat, evidence.known) = (None, false));
        assert!(arm.contains("the kernel has no resctrl"));
    }
}
