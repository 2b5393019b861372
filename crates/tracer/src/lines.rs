//! Where the variables of a program are defined, and which lines its code came from, read from the
//! program's debug information (DWARF) if it has any.

use gimli::constants::{DW_AT_decl_file, DW_AT_decl_line, DW_AT_location, DW_AT_specification, DW_TAG_variable};
use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, Operation, RunTimeEndian, UnitRef};
use object::{Object, ObjectSection};
use std::collections::{BTreeMap, BTreeSet};

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;
type Entry<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// Larger debug information is not read, because reading it takes longer than a trace should.
const MOST_INFORMATION: usize = 256 << 20;

/// `file:line` of the variables at the `wanted` addresses of a program. The file is named without
/// its folders, so that traces of programs built in different places can be compared. If debug
/// information is missing, compressed or broken, fewer lines are found.
pub fn of_variables(program: &object::File<'_>, wanted: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    search(program, wanted, variables)
}

/// `file:line` of the code at the `wanted` addresses.
pub fn of_code(program: &object::File<'_>, wanted: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    search(program, wanted, code)
}

type Search = fn(UnitRef<'_, Bytes<'_>>, &BTreeSet<u64>, &mut BTreeMap<u64, String>) -> gimli::Result<()>;

fn search(program: &object::File<'_>, wanted: &BTreeSet<u64>, search: Search) -> BTreeMap<u64, String> {
    let endian = if program.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let bytes = |name| program.section_by_name(name).and_then(|section| section.data().ok()).unwrap_or_default();
    let mut found = BTreeMap::new();
    if wanted.is_empty() || bytes(".debug_info").len() > MOST_INFORMATION {
        return found;
    }
    let load = |id: gimli::SectionId| Ok::<_, gimli::Error>(EndianSlice::new(bytes(id.name()), endian));
    // Lines found before an error are kept.
    let _ = Dwarf::load(load).and_then(|dwarf| {
        let mut headers = dwarf.units();
        while found.len() < wanted.len()
            && let Some(header) = headers.next()?
        {
            let unit = dwarf.unit(header)?;
            search(unit.unit_ref(&dwarf), wanted, &mut found)?;
        }
        Ok(())
    });
    found
}

fn variables(
    unit: UnitRef<'_, Bytes<'_>>,
    wanted: &BTreeSet<u64>,
    found: &mut BTreeMap<u64, String>,
) -> gimli::Result<()> {
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        if entry.tag() != DW_TAG_variable {
            continue;
        }
        let Some(address) = address(unit, entry)?.filter(|address| wanted.contains(address)) else { continue };
        if let Some(line) = definition(unit, entry)? {
            found.entry(address).or_insert(line);
        }
    }
    Ok(())
}

/// Finds lines of code. Each row of the line table holds up to the next row.
fn code(unit: UnitRef<'_, Bytes<'_>>, wanted: &BTreeSet<u64>, found: &mut BTreeMap<u64, String>) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut rows = program.rows();
    let mut last: Option<(u64, u64, u64)> = None;
    while let Some((_, row)) = rows.next_row()? {
        if let Some((from, file, line)) = last.filter(|(from, ..)| *from < row.address()) {
            for address in wanted.range(from..row.address()) {
                if let Some(line) = named(unit, file, line)? {
                    found.entry(*address).or_insert(line);
                }
            }
        }
        let line = row.line().map(|line| (row.address(), row.file_index(), line.get()));
        last = line.filter(|_| !row.end_sequence());
    }
    Ok(())
}

/// The address of a variable; `None` if it is not fixed.
fn address(unit: UnitRef<'_, Bytes<'_>>, entry: &Entry<'_>) -> gimli::Result<Option<u64>> {
    let Some(AttributeValue::Exprloc(place)) = entry.attr_value(DW_AT_location) else { return Ok(None) };
    let mut operations = place.operations(unit.encoding());
    let first = operations.next()?;
    // Further operations compute another address, such as that of a thread's own copy.
    if operations.next()?.is_some() {
        return Ok(None);
    }
    match first {
        Some(Operation::Address { address }) => Ok(Some(address)),
        Some(Operation::AddressIndex { index }) => unit.address(index).map(Some),
        _ => Ok(None),
    }
}

/// Where a variable is defined, or else declared.
fn definition(unit: UnitRef<'_, Bytes<'_>>, entry: &Entry<'_>) -> gimli::Result<Option<String>> {
    let declaration = match entry.attr_value(DW_AT_specification) {
        Some(AttributeValue::UnitRef(offset)) => Some(unit.entry(offset)?),
        _ => None,
    };
    let value = |name| entry.attr_value(name).or_else(|| declaration.as_ref()?.attr_value(name));
    let line = value(DW_AT_decl_line).and_then(|line| line.udata_value());
    let (Some(AttributeValue::FileIndex(file)), Some(line)) = (value(DW_AT_decl_file), line) else { return Ok(None) };
    named(unit, file, line)
}

/// `file:line` for one of the unit's files.
fn named(unit: UnitRef<'_, Bytes<'_>>, file: u64, line: u64) -> gimli::Result<Option<String>> {
    let Some(file) = unit.line_program.as_ref().and_then(|program| program.header().file(file)) else {
        return Ok(None);
    };
    let path = unit.attr_string(file.path_name())?.to_string_lossy();
    let name = path.rsplit('/').next().unwrap_or_default();
    Ok(Some(format!("{name}:{line}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::ObjectSymbol;
    use std::process::Command;

    /// A program whose variables are on the lines that the tests name.
    const SOURCE: &str = "extern long seen_before[512];\n\
                          long alone[1024];\n\
                          long seen_before[512];\n\
                          int main(void) { static char within[4096]; return within[0] + (int)alone[0]; }\n";

    /// The address of a variable, by its name or by the part of the name before a dot.
    fn place(program: &object::File<'_>, name: &str) -> u64 {
        let named = |symbol: &object::Symbol<'_, '_>| symbol.name().is_ok_and(|it| it.split('.').next() == Some(name));
        program.symbols().find(named).expect(name).address()
    }

    /// Compiles [`SOURCE`]; `None`, after printing the reason, if no compiler is available.
    fn compiled(options: &[&str]) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("arrays.c"), folder.path().join("arrays"));
        std::fs::write(&source, SOURCE).unwrap();
        match Command::new("cc").args(options).arg("-o").arg(&program).arg(&source).status() {
            Ok(status) => assert!(status.success(), "cc {options:?}"),
            Err(error) => {
                eprintln!("SKIPPED: no C compiler (cc) here: {error}");
                return None;
            }
        }
        Some(std::fs::read(program).unwrap())
    }

    #[test]
    fn variables_are_defined_in_lines() {
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let Some(file) = compiled(&[version]) else { return };
            let program = object::File::parse(file.as_slice()).unwrap();
            let wanted = ["alone", "seen_before", "within"].map(|name| place(&program, name));
            let lines = of_variables(&program, &wanted.into());
            let lines: Vec<_> = wanted.iter().map(|at| lines.get(at).map(String::as_str)).collect();
            assert_eq!(lines, [Some("arrays.c:2"), Some("arrays.c:3"), Some("arrays.c:4")], "{version}");
        }
    }

    #[test]
    fn without_debug_information_there_are_no_lines() {
        let Some(mut file) = compiled(&["-g0"]) else { return };
        let program = object::File::parse(file.as_slice()).unwrap();
        let wanted = [place(&program, "alone")];
        assert!(of_variables(&program, &wanted.into()).is_empty());
        let Some(whole) = compiled(&["-gdwarf-5"]) else { return };
        file = whole;
        let program = object::File::parse(file.as_slice()).unwrap();
        let alone = place(&program, "alone");
        let main = place(&program, "main");
        assert_eq!(of_variables(&program, &[alone].into()).len(), 1);
        assert_eq!(of_code(&program, &[main].into()).get(&main).map(String::as_str), Some("arrays.c:4"));
        assert!(of_variables(&program, &[alone + 8].into()).is_empty(), "not where a variable begins");
        // Damaged in the middle: there must be no panic, whatever is found.
        let (at, length) = program.section_by_name(".debug_info").and_then(|section| section.file_range()).unwrap();
        let (at, length) = (usize::try_from(at).unwrap(), usize::try_from(length).unwrap());
        for from in 0..length {
            let mut broken = file.clone();
            broken[at + from] ^= 0xff;
            let broken = object::File::parse(broken.as_slice()).unwrap();
            let _ = of_variables(&broken, &[alone].into());
            let _ = of_code(&broken, &[main].into());
        }
    }
}
