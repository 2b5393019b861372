//! Tells the plugin how the kernel of this guest switches threads, so that it can count by thread:
//! the address of the function that switches, and where in the kernel's description of a thread its
//! number and name are. The kernel reports both itself, in `/proc/kallsyms` and in the BPF Type
//! Format of its own types (`/sys/kernel/btf/vmlinux`; Documentation/bpf/btf.rst). Only one type is
//! looked up, so the types are scanned in place: a library would first build all of them, on a CPU
//! of the guest.

use numasim_page::Switches;
use std::fs::File;
use std::io::{BufRead, BufReader};

const SYMBOLS: &str = "/proc/kallsyms";
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The function is called with the previous and the next thread (arch/x86/entry/entry_64.S).
const FUNCTION: &str = "__switch_to_asm";
/// The kernel's description of a thread, its number and its name (include/linux/sched.h).
const THREAD: &str = "task_struct";
const NUMBER: &str = "pid";
const NAME: &str = "comm";

/// What this kernel reports; `None` if it does not. Then nothing is counted by thread.
pub fn of_this_kernel() -> Option<Switches> {
    let address = function(BufReader::new(File::open(SYMBOLS).ok()?))?;
    let [id, name] = members(&std::fs::read(TYPES).ok()?)?;
    Some(Switches { address, id, name })
}

/// The address in a line such as `ffffffff81e02000 T __switch_to_asm`. Addresses are zero for
/// processes that may not see them. No more is read than is needed, because the kernel generates
/// the text, on a CPU of the guest.
fn function(symbols: impl BufRead) -> Option<u64> {
    let mut lines = symbols.lines().map_while(Result::ok);
    let line = lines.find(|line| line.ends_with(FUNCTION) && line.split_whitespace().nth(2) == Some(FUNCTION))?;
    let address = u64::from_str_radix(line.split_whitespace().next()?, 16).ok()?;
    (address != 0).then_some(address)
}

/// The offsets of the two members, in bytes.
fn members(types: &[u8]) -> Option<[u64; 2]> {
    let types = Types::of(types)?;
    let members = types.members(THREAD)?;
    let of = |name: &str| members.iter().find(|(member, _)| *member == name).map(|(_, at)| *at);
    Some([of(NUMBER)?, of(NAME)?])
}

/// The sections of BTF.
struct Types<'a> {
    types: &'a [u8],
    names: &'a [u8],
}

const MAGIC: u16 = 0xeb9f;
/// Bytes of a type without the data that follows it, and bytes of a member of a structure.
const TYPE: usize = 12;
const MEMBER: usize = 12;
const STRUCTURE: u32 = 4;

impl<'a> Types<'a> {
    /// Reads the header: magic, version and flags, its length, then offset and length of types and
    /// of names. Offsets count from the header's end.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let magic = bytes.first_chunk().map(|magic| u16::from_le_bytes(*magic));
        let section = |at| {
            let from = word(bytes, 4)?.checked_add(word(bytes, at)?)?;
            bytes.get(index(from)?..)?.get(..index(word(bytes, at + 4)?)?)
        };
        (magic == Some(MAGIC)).then_some(Self { types: section(8)?, names: section(16)? })
    }

    /// The members of a structure by name, with the byte at which each begins.
    fn members(&self, structure: &str) -> Option<Vec<(&'a str, u64)>> {
        let mut rest = self.types;
        loop {
            let (name, info) = (word(rest, 0)?, word(rest, 4)?);
            let (kind, count) = (info >> 24 & 0x1f, index(info & 0xffff)?);
            let size = TYPE + follows(kind, count)?;
            if kind == STRUCTURE && self.name(name) == Some(structure) {
                let all = rest.get(TYPE..size)?.chunks_exact(MEMBER);
                // With the kind's flag, the upper byte of an offset is the size of a bit field.
                let bits = if info >> 31 == 1 { 0x00ff_ffff } else { u32::MAX };
                return all
                    .map(|member| Some((self.name(word(member, 0)?)?, u64::from(word(member, 8)? & bits) / 8)))
                    .collect();
            }
            rest = rest.get(size..)?;
        }
    }

    fn name(&self, at: u32) -> Option<&'a str> {
        let rest = self.names.get(index(at)?..)?;
        str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
    }
}

/// Number of bytes that follow a type of this kind with this number of members, parameters or
/// values; `None` for an unknown kind, after which nothing can be found.
fn follows(kind: u32, count: usize) -> Option<usize> {
    match kind {
        // Pointer, forward, typedef, volatile, const, restrict, function, float, type tag.
        2 | 7..=12 | 16 | 18 => Some(0),
        // Integer, variable, declaration tag.
        1 | 14 | 17 => Some(4),
        // Array.
        3 => Some(12),
        // Enumeration, prototype of a function.
        6 | 13 => Some(8 * count),
        // Structure, union, section, enumeration of 64 bits.
        STRUCTURE | 5 | 15 | 19 => Some(MEMBER * count),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn index(word: u32) -> Option<usize> {
    usize::try_from(word).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[u8] = b"\0int\0task_struct\0comm\0pid\0flags\0";

    /// An integer; another structure, without members; then the structure, with a bit field of 3
    /// bits at bit 32, its name at byte 3008 and its number at byte 2464.
    fn types() -> Vec<u32> {
        let structure = |flag: u32, members: u32| flag << 31 | STRUCTURE << 24 | members;
        let mut words = vec![1, 1 << 24, 4, 0x0100_0020];
        words.extend([1, structure(0, 0), 0]);
        words.extend([5, structure(1, 3), 9000]);
        words.extend([26, 1, 3 << 24 | 32]);
        words.extend([17, 1, 3008 * 8]);
        words.extend([22, 1, 2464 * 8]);
        words
    }

    fn btf(types: &[u32]) -> Vec<u8> {
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (types_length, names_length) = (u32::try_from(types.len()).unwrap(), u32::try_from(NAMES.len()).unwrap());
        let header = [u32::from(MAGIC) | 1 << 16, 24, 0, types_length, types_length, names_length];
        header.iter().flat_map(|word| word.to_le_bytes()).chain(types).chain(NAMES.iter().copied()).collect()
    }

    #[test]
    fn the_kernels_types_say_where_number_and_name_are() {
        assert_eq!(members(&btf(&types())), Some([2464, 3008]));
    }

    #[test]
    fn what_is_no_such_description_is_none() {
        let whole = btf(&types());
        for length in 0..whole.len() {
            assert_eq!(members(&whole[..length]), None, "{length} bytes");
        }
        let mut other = whole.clone();
        other[0] = 0;
        assert_eq!(members(&other), None);
        let unknown: Vec<u32> = [1, 31 << 24, 0].into_iter().chain(types()).collect();
        assert_eq!(members(&btf(&unknown)), None, "behind an unknown kind");
        assert_eq!(members(&btf(&types()[..7])), None, "no such structure");
    }

    #[test]
    fn the_functions_address_is_found_unless_it_is_hidden() {
        let symbols = "ffffffff81e01000 T __switch_to\nffffffff81e02000 T __switch_to_asm\n";
        assert_eq!(function(symbols.as_bytes()), Some(0xffff_ffff_81e0_2000));
        assert_eq!(function("0000000000000000 T __switch_to_asm\n".as_bytes()), None);
        assert_eq!(function("ffffffff81e01000 T __switch_to\n".as_bytes()), None);
    }
}
