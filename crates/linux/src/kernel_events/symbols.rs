//! Finds the addresses of functions of the running kernel in `/proc/kallsyms`, which shows
//! addresses to root (`kernel.kptr_restrict`).

use super::pin_records::Places;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::OnceLock;

const SYMBOLS: &str = "/proc/kallsyms";

/// The functions behind `sched_setaffinity(2)`: the one that looks for the thread, and the one that
/// it calls once it has found that the caller may do this. `None` if they cannot be found. Read
/// once, and only as far as the last of them, because the kernel generates some 10 MB of text.
#[must_use]
pub fn affinity() -> Option<Places> {
    static PLACES: OnceLock<Option<Places>> = OnceLock::new();
    *PLACES.get_or_init(|| places(BufReader::new(File::open(SYMBOLS).ok()?)))
}

fn places(symbols: impl BufRead) -> Option<Places> {
    let (mut asked, mut allowed) = (None, None);
    for line in symbols.lines() {
        let line = line.ok()?;
        asked = asked.or_else(|| place(&line, "sched_setaffinity"));
        allowed = allowed.or_else(|| place(&line, "__sched_setaffinity"));
        if let (Some(asked), Some(allowed)) = (asked, allowed) {
            return Some(Places { asked, allowed });
        }
    }
    None
}

/// The address in a line if it is of this function of the kernel itself: `ffffffff813cc960 T NAME`.
/// Hidden addresses are zeros.
fn place(line: &str, name: &str) -> Option<u64> {
    let (address, _) = line.strip_suffix(name)?.strip_suffix(' ')?.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    Some(address).filter(|address| *address != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_by_name_and_hidden_ones_are_none() {
        let text =
            "ffffffff81000000 T _text\nffffffff813cc960 T __sched_setaffinity\nffffffff813ccac0 T sched_setaffinity\n";
        let found = Places { asked: 0xffff_ffff_813c_cac0, allowed: 0xffff_ffff_813c_c960 };
        assert_eq!(places(text.as_bytes()), Some(found));
        let hidden = text.replace("ffffffff813cc960", "0000000000000000");
        assert_eq!(places(hidden.as_bytes()), None);
        assert_eq!(places("ffffffff813ccac0 T sched_setaffinity\t[module]\nnonsense".as_bytes()), None);
        let others = "1 T __x64_sys_sched_setaffinity\n2 T sched_setaffinity\n3 t __sched_setaffinity\n";
        assert_eq!(places(others.as_bytes()), Some(Places { asked: 2, allowed: 3 }));
    }
}
