//! Parses the kernel's text formats with pure functions: text in, value or `None` out. No function
//! here fails in any other way, whatever the text. The property tests below and the fuzzers check
//! that.

use super::stat;
use isobar_model::cpuset::MAX_CPU;
use isobar_model::{Bytes, CpuId, CpuSet, NodeId};

/// A list of CPUs such as `0-3,8` (`Documentation/admin-guide/cputopology.rst`).
#[must_use]
pub fn cpu_list(text: &str) -> Option<CpuSet> {
    text.parse().ok()
}

/// A mask of CPUs: groups of 32 bits in hexadecimal with commas between them, the highest first
/// (`Documentation/admin-guide/cputopology.rst`). Bits above [`MAX_CPU`] are refused.
#[must_use]
pub fn cpu_mask(text: &str) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for (group, base) in text.trim().rsplit(',').zip((0u32..).step_by(32)) {
        let plain = (1..=8).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = plain.then(|| u32::from_str_radix(group, 16).ok()).flatten()?;
        for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
            let cpu = CpuId(base.checked_add(bit).filter(|cpu| *cpu <= MAX_CPU)?);
            set.insert(cpu);
        }
    }
    Some(set)
}

/// A list of nodes: the same format as a list of CPUs, but not a set of CPUs.
#[must_use]
pub fn node_list(text: &str) -> Option<Vec<NodeId>> {
    let list: CpuSet = text.parse().ok()?;
    Some(list.iter().map(|number| NodeId(number.0)).collect())
}

/// A cache size such as `8192K` (`Documentation/ABI/testing/sysfs-devices-system-cpu`); in bytes if
/// there is no letter.
#[must_use]
pub fn cache_size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    decimal(digits)?.checked_mul(1 << shift).map(Bytes)
}

/// A row of `/proc/meminfo` (`MemTotal:  16384 kB`) or of a node's `meminfo`
/// (`Node 0 MemTotal:  16384 kB`), by its name with the colon.
#[must_use]
pub fn meminfo(text: &str, row: &str) -> Option<Bytes> {
    kibibytes(text.lines().find_map(|line| line.split_once(row))?.1)
}

/// A size such as `16384 kB`, as the files on memory write it: their kB has 1024 bytes.
#[must_use]
pub fn kibibytes(size: &str) -> Option<Bytes> {
    let mut words = size.split_whitespace();
    let kib = decimal(words.next()?)?;
    let unit = words.next() == Some("kB") && words.next().is_none();
    unit.then(|| kib.checked_mul(1024)).flatten().map(Bytes)
}

/// A node's row of distances: one number for each online node, ascending by node
/// (`Documentation/ABI/stable/sysfs-devices-node`).
#[must_use]
pub fn distances(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace().map(|word| decimal(word).and_then(|number| u32::try_from(number).ok())).collect()
}

/// A number in decimal digits and nothing else, except for space around it.
#[must_use]
pub fn decimal(text: &str) -> Option<u64> {
    stat::number(text.trim().as_bytes())
}

/// A bit mask of at most 64 bits in hexadecimal, with or without `0x`, as resctrl writes it
/// (`Documentation/filesystems/resctrl.rst`).
#[must_use]
pub fn bit_mask(text: &str) -> Option<u64> {
    let text = text.trim();
    hex(text.strip_prefix("0x").unwrap_or(text))
}

/// A number in hexadecimal digits and nothing else.
#[must_use]
pub fn hex(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The number in a name such as `cpu12`, given `cpu`; `None` for `cpufreq`.
#[must_use]
pub fn numbered(name: &str, prefix: &str) -> Option<u32> {
    u32::try_from(stat::number(name.strip_prefix(prefix)?.as_bytes())?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(set: &CpuSet) -> Vec<u32> {
        set.iter().map(|cpu| cpu.0).collect()
    }

    #[test]
    fn masks_count_from_the_right() {
        // Second group from the right, bits 1 and 31: 32 + 1 and 32 + 31.
        assert_eq!(ids(&cpu_mask("0000,80000002,00000001\n").unwrap()), [0, 33, 63]);
        assert_eq!(ids(&cpu_mask("fffff").unwrap()), (0..20).collect::<Vec<_>>());
        assert_eq!(cpu_mask("00000000,00000000").unwrap(), CpuSet::new());
        for broken in ["", ",", "1,", "+1", "0x3", "123456789", "g"] {
            assert_eq!(cpu_mask(broken), None, "{broken}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(cache_size("8192K\n"), Some(Bytes(8 << 20)));
        assert_eq!(cache_size("32M"), Some(Bytes(32 << 20)));
        assert_eq!(cache_size("512"), Some(Bytes(512)));
        for broken in ["", "K", "-1K", "8192KB", "99999999999999999999G", "18446744073709551615G"] {
            assert_eq!(cache_size(broken), None, "{broken}");
        }
    }

    #[test]
    fn memory_is_in_kilobytes_of_1024() {
        let node = "Node 0 MemTotal:       16 kB\nNode 0 MemFree:         0 kB\n";
        assert_eq!((meminfo(node, "MemTotal:"), meminfo(node, "MemFree:")), (Some(Bytes(16_384)), Some(Bytes(0))));
        assert_eq!(meminfo("MemFree: 8 kB\nMemTotal: 4 kB\n", "MemTotal:"), Some(Bytes(4096)));
        for broken in ["MemFree: 8 kB\n", "MemTotal: 8 MB\n", "MemTotal: -3 kB\n", "MemTotal: 8\n"] {
            assert_eq!(meminfo(broken, "MemTotal:"), None, "{broken}");
        }
    }

    #[test]
    fn names_have_their_number_at_the_end() {
        assert_eq!(numbered("cpu12", "cpu"), Some(12));
        for other in ["cpufreq", "cpu", "cpu1x", "cpu+1", "node1", "cpu99999999999"] {
            assert_eq!(numbered(other, "cpu"), None, "{other}");
        }
        assert_eq!(bit_mask("7ff\n"), Some(0x7ff));
        assert_eq!(bit_mask("0x7ff"), Some(0x7ff));
        assert_eq!(bit_mask("0x"), None);
        assert_eq!(decimal(" 12\n"), Some(12));
        assert_eq!(decimal("+12"), None);
    }

    fn print_mask(cpus: &CpuSet) -> String {
        let groups = cpus.iter().last().map_or(1, |last| last.0 / 32 + 1);
        let group = |index: u32| {
            let bits = cpus.iter().filter(|cpu| cpu.0 / 32 == index).fold(0u32, |bits, cpu| bits | 1 << (cpu.0 % 32));
            format!("{bits:08x}")
        };
        (0..groups).rev().map(group).collect::<Vec<_>>().join(",")
    }

    proptest! {
        #[test]
        fn masks_and_lists_say_the_same(cpus in prop::collection::btree_set(0u32..400, 0..60)) {
            let set: CpuSet = cpus.into_iter().map(CpuId).collect();
            prop_assert_eq!(cpu_mask(&print_mask(&set)).unwrap(), set.clone());
            prop_assert_eq!(cpu_list(&set.to_string()).unwrap(), set);
        }

        #[test]
        fn sizes_memory_and_distances_round_trip(kib in 0u64..1 << 50, row in prop::collection::vec(0u32..300, 0..20)) {
            prop_assert_eq!(cache_size(&format!("{kib}K")), Some(Bytes(kib * 1024)));
            prop_assert_eq!(meminfo(&format!("Node 3 MemTotal: {kib:>12} kB\n"), "MemTotal:"), Some(Bytes(kib * 1024)));
            let text = row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(distances(&text), Some(row));
            prop_assert_eq!(bit_mask(&format!("{kib:x}")), Some(kib));
        }

    }
}
