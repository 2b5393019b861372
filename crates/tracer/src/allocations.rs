//! Which code made the large allocations of a program. While the program runs, an allocation is
//! named by the return address of its call. This module names it after the function that contains
//! the call, and the line.

use crate::lines;
use crate::symbols::{Parts, bias};
use isobar_pages::trace::{Region, RegionKind};
use isobar_tracer_plugin::orders::caller;
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// Allocations, as far as nothing newer covers them: start, end and caller.
#[derive(Debug, Default)]
pub struct Allocations {
    visible: Vec<(u64, u64, u64)>,
}

impl Allocations {
    /// A new region: it covers what was there, and may be an allocation.
    pub fn cover(&mut self, region: &Region) {
        let (start, end) = (region.start, region.end);
        if self.visible.iter().any(|(from, until, _)| *from < end && *until > start) {
            let rest = |(from, until, caller): (u64, u64, u64)| {
                [(from, until.min(start), caller), (from.max(end), until, caller)]
            };
            let before = std::mem::take(&mut self.visible);
            self.visible = before.into_iter().flat_map(rest).filter(|(from, until, _)| from < until).collect();
        }
        if let RegionKind::Named { name, .. } = &region.kind
            && let Some(caller) = caller(name)
        {
            self.visible.push((start, end, caller));
        }
    }

    /// The regions of the allocations that this file's code made, named after the file's functions.
    pub fn named_by(&self, file: &[u8], parts: &Parts) -> Vec<Region> {
        let Ok(program) = object::File::parse(file) else { return Vec::new() };
        let Some(bias) = bias(&program, parts) else { return Vec::new() };
        // The address after a call may belong to the next line or function.
        let call = |caller: u64| caller.wrapping_sub(1).wrapping_sub(bias);
        let functions = functions(&program);
        let calls: BTreeSet<u64> = self.visible.iter().map(|(_, _, caller)| call(*caller)).collect();
        let calls = calls.into_iter().filter(|call| function(&functions, *call).is_some()).collect();
        let lines = lines::of_code(&program, &calls);
        let region = |(start, end, caller): &(u64, u64, u64)| {
            let call = call(*caller);
            let (name, line) = (function(&functions, call)?, lines.get(&call));
            let kind = RegionKind::Named { name: full_name(name, line), line: line.cloned() };
            Some(Region { start: *start, end: *end, kind })
        };
        self.visible.iter().filter_map(region).collect()
    }
}

/// A function with a line number, because a function may allocate several structures, which are
/// told apart.
fn full_name(function: &str, line: Option<&String>) -> String {
    match line.and_then(|line| line.rsplit_once(':')) {
        Some((_, number)) => format!("{function}:{number}"),
        None => function.to_owned(),
    }
}

/// Start, end and name of functions.
fn functions<'a>(program: &'a object::File<'_>) -> BTreeMap<u64, (u64, &'a str)> {
    let mut found = BTreeMap::new();
    for symbol in program.symbols().chain(program.dynamic_symbols()) {
        let Ok(name) = symbol.name() else { continue };
        if symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0 {
            found.entry(symbol.address()).or_insert((symbol.address().saturating_add(symbol.size()), name));
        }
    }
    found
}

fn function<'a>(functions: &BTreeMap<u64, (u64, &'a str)>, address: u64) -> Option<&'a str> {
    let (_, (end, name)) = functions.range(..=address).next_back()?;
    (address < *end).then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_tracer_plugin::orders::allocation;

    fn region(start: u64, end: u64, name: &str) -> Region {
        Region { start, end, kind: RegionKind::Named { name: name.to_owned(), line: None } }
    }

    #[test]
    fn what_newer_regions_cover_has_no_name_any_more() {
        let mut allocations = Allocations::default();
        allocations.cover(&region(0x1000, 0x9000, &allocation(7)));
        allocations.cover(&Region { start: 0x3000, end: 0x4000, kind: RegionKind::Stack(2) });
        allocations.cover(&region(0x8000, 0xa000, &allocation(8)));
        allocations.cover(&region(0xf000, 0x1_0000, "A"));
        assert_eq!(allocations.visible, [(0x1000, 0x3000, 7), (0x4000, 0x8000, 7), (0x8000, 0xa000, 8)]);
        allocations.cover(&Region { start: 0, end: 0x1_0000, kind: RegionKind::Heap });
        assert_eq!(allocations.visible, []);
    }

    #[test]
    fn an_address_belongs_to_the_function_around_it() {
        let functions = BTreeMap::from([(0x10, (0x20, "a")), (0x30, (0x40, "b"))]);
        assert_eq!(
            [0xf, 0x10, 0x1f, 0x20, 0x3f, 0x40].map(|at| function(&functions, at)),
            [None, Some("a"), Some("a"), None, Some("b"), None]
        );
        assert_eq!(full_name("fill", Some(&"a.c:12".to_owned())), "fill:12");
        assert_eq!(full_name("fill", None), "fill");
    }
}
