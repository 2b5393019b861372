//! Finds the addresses of functions of the running kernel in `/proc/kallsyms`, which shows
//! addresses to root (`kernel.kptr_restrict`).

use super::pin_records::Places;
use std::fs;
use std::sync::OnceLock;

const SYMBOLS: &str = "/proc/kallsyms";

/// The functions behind `sched_setaffinity(2)`: the one that looks for the thread, and the one that
/// it calls once it has found that the caller may do this. `None` if they cannot be found. The
/// kernel generates some 10 MB of text for it, so it is read once.
#[must_use]
pub fn affinity() -> Option<Places> {
    static PLACES: OnceLock<Option<Places>> = OnceLock::new();
    *PLACES.get_or_init(|| places(&fs::read_to_string(SYMBOLS).ok()?))
}

fn places(symbols: &str) -> Option<Places> {
    Some(Places { asked: place(symbols, "sched_setaffinity")?, allowed: place(symbols, "__sched_setaffinity")? })
}

/// The address of a function of the kernel itself: `ffffffff813cc960 T NAME`. Hidden addresses are
/// zeros.
fn place(symbols: &str, name: &str) -> Option<u64> {
    let end = symbols.find(&format!(" {name}\n"))?;
    let line = symbols[..end].rsplit('\n').next()?;
    let address = u64::from_str_radix(line.split_whitespace().next()?, 16).ok()?;
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
        assert_eq!(places(text), Some(found));
        let hidden = text.replace("ffffffff813cc960", "0000000000000000");
        assert_eq!(places(&hidden), None);
        assert_eq!(places("ffffffff813ccac0 T sched_setaffinity\t[module]\nnonsense"), None);
        let others = "1 T __x64_sys_sched_setaffinity\n2 T sched_setaffinity\n3 t __sched_setaffinity\n";
        assert_eq!(places(others), Some(Places { asked: 2, allowed: 3 }));
    }
}
