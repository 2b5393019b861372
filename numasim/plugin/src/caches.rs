//! The cache sizes that the guest reads (CPUID leaf 4). QEMU 10.0 has options for which CPUs share
//! a cache, but none for its size: CPUs without a model of their own show one table of sizes, in
//! QEMU's memory. Before any CPU exists, this file overwrites that table with the two levels of the
//! machine file: the private cache as L2, the last-level cache as L3. On request the private cache
//! is also shown as L1, because some programs that read leaf 4 themselves need an L1 (libpqos). The
//! table's own L3 entry is left alone, because leaf 0x80000006 also encodes it, in units of 512
//! KiB.

use crate::error::note;
use numasim_model::Spec;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// QEMU's `CPUCacheInfo` (target/i386/cpu.h), up to the first field that no cache here changes; all
/// fields are little-endian, with the compiler's padding.
#[derive(Clone, Copy)]
struct Entry {
    /// 0 data, 1 instructions, 2 both; anything else ends the list in leaf 4.
    kind: u32,
    level: u32,
    line: u16,
    ways: u8,
    partitions: u8,
    sets: u32,
    /// Lines per tag, and flags: needs no initialisation, is not affected by WBINVD, is inclusive.
    flags: [u8; 4],
    complex: u32,
    /// Which CPUs share it, as numbered by `CpuTopologyLevel` (qapi/machine-common.json).
    shared_by: u32,
}

const CORE: u32 = 1;
const DIE: u32 = 4;
const BYTES: usize = 32;

/// The caches that leaf 4 shows first, second and third (`legacy_l1d_cache`, `legacy_l1i_cache` and
/// `legacy_l2_cache` in target/i386/cpu.c).
const FIRST: Entry = entry(0, 1, 8, 64, [0, 1, 1, 0]);
const SECOND: Entry = entry(1, 1, 8, 64, [0, 1, 1, 0]);
const THIRD: Entry = entry(2, 2, 16, 4096, [0, 1, 1, 0]);

const fn entry(kind: u32, level: u32, ways: u8, sets: u32, flags: [u8; 4]) -> Entry {
    Entry { kind, level, line: 64, ways, partitions: 1, sets, flags, complex: 0, shared_by: CORE }
}

impl Entry {
    fn bytes(self) -> [u8; BYTES] {
        let size = u32::from(self.line) * u32::from(self.ways) * u32::from(self.partitions) * self.sets;
        let mut all = [0; BYTES];
        all[0..4].copy_from_slice(&self.kind.to_le_bytes());
        all[4..8].copy_from_slice(&self.level.to_le_bytes());
        all[8..12].copy_from_slice(&size.to_le_bytes());
        all[12..14].copy_from_slice(&self.line.to_le_bytes());
        all[14..16].copy_from_slice(&[self.ways, self.partitions]);
        all[16..20].copy_from_slice(&self.sets.to_le_bytes());
        all[20..24].copy_from_slice(&self.flags);
        all[24..28].copy_from_slice(&self.complex.to_le_bytes());
        all[28..32].copy_from_slice(&self.shared_by.to_le_bytes());
        all
    }

    /// A cache of the machine. QEMU requires fewer ways than sets, so a cache with few sets is
    /// shown with fewer ways and the same number of lines.
    fn cache(self, level: u32, size_kib: u32, ways: u32, shared_by: u32) -> Self {
        let (mut ways, mut sets) = (ways, size_kib * 16 / ways);
        while ways >= sets && ways.is_multiple_of(2) {
            (ways, sets) = (ways / 2, sets * 2);
        }
        Self { kind: 2, level, ways: u8::try_from(ways).unwrap_or(1), sets, shared_by, ..self }
    }
}

/// Shows the guest the caches of the machine, with an L1 if `l1`; prints a note if this QEMU's
/// table is not as expected.
pub fn show(spec: &Spec, l1: bool) {
    let Some(llc) = spec.llc.first() else { return };
    let private = |level| FIRST.cache(level, spec.private.size_kib, spec.private.ways, CORE);
    let last = SECOND.cache(3, llc.size_kib, llc.ways, DIE);
    let changes = if l1 {
        [(FIRST, Entry { kind: 0, ..private(1) }), (SECOND, private(2)), (THIRD, last)]
    } else {
        [(FIRST, private(2)), (SECOND, last), (THIRD, Entry { kind: 3, ..THIRD })]
    };
    let possible = changes.iter().all(|(_, to)| to.kind == 3 || u32::from(to.ways) < to.sets);
    match possible.then(|| replace(&changes)) {
        Some(Ok(true)) => {}
        _ => note("the guest sees QEMU's cache sizes, not the machine's: this QEMU's table of them is not as expected"),
    }
}

/// Replaces the entries; returns whether all were found. If one was not, nothing is written.
fn replace(changes: &[(Entry, Entry)]) -> io::Result<bool> {
    let memory = File::options().read(true).write(true).open("/proc/self/mem")?;
    let mut places = Vec::new();
    for range in own()? {
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
        memory.read_exact_at(&mut bytes, range.start)?;
        for (from, to) in changes {
            let wanted = from.bytes();
            let found = bytes.chunks_exact(4).enumerate().filter(|(at, _)| bytes[4 * at..].starts_with(&wanted));
            places.extend(found.map(|(at, _)| (wanted, range.start + 4 * at as u64, to.bytes())));
        }
    }
    if !changes.iter().all(|(from, _)| places.iter().any(|(wanted, ..)| *wanted == from.bytes())) {
        return Ok(false);
    }
    places.iter().try_for_each(|(_, at, bytes)| memory.write_all_at(bytes, *at))?;
    Ok(true)
}

/// Address ranges of the data of QEMU's own program (proc_pid_maps(5)), without code.
fn own() -> io::Result<Vec<Range<u64>>> {
    let program = std::fs::read_link("/proc/self/exe")?.display().to_string();
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let data = maps.lines().filter(|line| line.ends_with(&program) && !line.contains("r-x"));
    Ok(data.filter_map(range).collect())
}

fn range(line: &str) -> Option<Range<u64>> {
    let (first, rest) = line.split_once('-')?;
    let end = rest.split(' ').next()?;
    Some(u64::from_str_radix(first, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}
