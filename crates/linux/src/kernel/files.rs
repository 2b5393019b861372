//! Reads a file of the tree into a value. A file that is missing or empty reads as `None`: captures
//! hold an empty file where the kernel refused. A file whose text does not match its format is an
//! error that names the file.

use super::parse;
use super::tree::{LinuxError, Tree, shown};
use isobar_model::{Bytes, CpuSet};

/// The value in a file.
pub(crate) fn value<T>(
    tree: &Tree,
    path: &str,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, LinuxError> {
    let Some(text) = tree.read(path)?.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let malformed = || LinuxError::Malformed { path: tree.place(path), text: shown(&text), expected };
    parse(&text).ok_or_else(malformed).map(Some)
}

/// CPUs from a list (`0-3,8`), or if that file is missing, from a mask (`0000010f`).
pub(crate) fn cpus(tree: &Tree, folder: &str, list: &str, mask: &str) -> Result<Option<CpuSet>, LinuxError> {
    match value(tree, &format!("{folder}/{list}"), "a list of CPUs such as `0-3,8`", parse::cpu_list)? {
        Some(cpus) => Ok(Some(cpus)),
        None => value(tree, &format!("{folder}/{mask}"), "a mask of CPUs such as `00000000,0000000f`", parse::cpu_mask),
    }
}

/// A decimal number.
pub(crate) fn number(tree: &Tree, path: &str) -> Result<Option<u64>, LinuxError> {
    value(tree, path, "a number", parse::decimal)
}

/// A decimal number that fits in 32 bits.
pub(crate) fn small_number(tree: &Tree, path: &str) -> Result<Option<u32>, LinuxError> {
    value(tree, path, "a number below 4294967296", |text| parse::decimal(text)?.try_into().ok())
}

/// A bit mask in hexadecimal.
pub(crate) fn bit_mask(tree: &Tree, path: &str) -> Result<Option<u64>, LinuxError> {
    value(tree, path, "a mask in hexadecimal such as `7ff`", parse::bit_mask)
}

/// The total of a `meminfo` file.
pub(crate) fn mem_total(tree: &Tree, path: &str) -> Result<Option<Bytes>, LinuxError> {
    let expected = "a memory table with a line such as `MemTotal: 16384 kB`";
    value(tree, path, expected, |text| parse::meminfo(text, "MemTotal:"))
}

/// The numbers of the entries in a folder whose names are `prefix` and a number, ascending.
pub(crate) fn numbered(tree: &Tree, folder: &str, prefix: &str) -> Result<Vec<u32>, LinuxError> {
    let names = tree.list(folder)?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| parse::numbered(name, prefix)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}
