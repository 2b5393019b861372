//! Variables of programs and libraries that fill at least one page, by address.

use crate::lines;
use isobar_pages::trace::{Region, RegionKind};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;

/// Where a file is mapped in the address space: the first byte of each part, and the part's offset
/// in the file.
pub type Parts = BTreeMap<u64, u64>;

/// The variables of a file that was mapped there. A file that is not a program has none.
pub fn variables(file: &[u8], parts: &Parts, page_bytes: u64) -> Vec<Region> {
    let Ok(program) = object::File::parse(file) else { return Vec::new() };
    let Some(bias) = bias(&program, parts) else { return Vec::new() };
    let mut found = BTreeMap::new();
    for symbol in program.symbols().chain(program.dynamic_symbols()) {
        let Ok(name) = symbol.name() else { continue };
        if symbol.kind() != SymbolKind::Data || symbol.is_undefined() || symbol.size() < page_bytes {
            continue;
        }
        let start = symbol.address().wrapping_add(bias);
        if let Some(end) = start.checked_add(symbol.size()) {
            found.entry(start).or_insert((end, name.to_owned()));
        }
    }
    let wanted = found.keys().map(|start| start.wrapping_sub(bias)).collect();
    let mut lines = lines::of_variables(&program, &wanted);
    let region = |(start, (end, name)): (u64, (u64, String))| {
        let line = lines.remove(&start.wrapping_sub(bias));
        Region { start, end, kind: RegionKind::Named { name, line } }
    };
    found.into_iter().map(region).collect()
}

/// The number to add to an address in the file to find it in memory, from where its first loaded
/// segment lies.
pub fn bias(program: &object::File<'_>, parts: &Parts) -> Option<u64> {
    let (start, offset) = parts.iter().next()?;
    let segment = program.segments().find(|segment| {
        let (from, length) = segment.file_range();
        // Mappings begin at page boundaries.
        *offset >= from & !0xfff && *offset < from + length
    })?;
    let (from, _) = segment.file_range();
    Some(start.wrapping_sub(segment.address().wrapping_sub(from).wrapping_add(*offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[used]
    static BIG: [u8; 3 * 4096] = [7; 3 * 4096];

    /// The test program is an ELF file with symbols. Here it is mapped as its segments say, at
    /// another address.
    #[test]
    fn variables_of_a_page_or_more_are_found_where_they_lie() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let own = std::fs::read_link("/proc/self/exe").unwrap();
        let own = maps.lines().filter(|line| line.ends_with(own.to_str().unwrap()));
        let parts: Parts = own
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let hex = |text| u64::from_str_radix(text, 16).unwrap();
                (hex(words[0].split('-').next().unwrap()), hex(words[2]))
            })
            .collect();
        let found = variables(&file, &parts, 4096);
        let address = std::ptr::from_ref(&BIG).addr() as u64;
        let big = found.iter().find(|region| region.start == address).expect("the variable of this test");
        assert_eq!(big.end - big.start, 3 * 4096);
        assert!(matches!(&big.kind, RegionKind::Named { name, .. } if name.contains("BIG")));
        assert_eq!(variables(b"no program", &parts, 4096), []);
    }
}
