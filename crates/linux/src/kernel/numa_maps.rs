//! Parses `/proc/PID/numa_maps`, which says where the pages of each mapping lie. Pure.
//!
//! The counts are *mapped pages in the mapping's own page size*: hugetlb mappings count huge pages,
//! transparent huge pages count as the base pages they cover (`gather_stats()` in
//! `fs/proc/task_mmu.c`: the pmd walker passes `HPAGE_PMD_SIZE / PAGE_SIZE`, the hugetlb walker
//! passes 1). `kernelpagesize_kB` gives that size (`Documentation/filesystems/proc.rst`,
//! `numa_maps`).

use super::parse;
use super::stat::number;
use isobar_model::{CpuId, CpuSet, NodeId, NodeMap, Pages};
use std::fmt;

/// One mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// Mapped pages by node, in units of `page_kib`.
    pub pages: NodeMap<Pages>,
    /// The size of its pages in KiB; `None` on kernels before 4.0, which do not report it.
    pub page_kib: Option<u64>,
    /// What it is.
    pub kind: Kind,
}

/// What a mapping is, as far as the file says: the kernel marks only the first thread's stack, so
/// the stacks of other threads count as anonymous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The memory that `brk` gives.
    Heap,
    /// The stack of the first thread.
    Stack,
    /// Backed by a file, shared memory included.
    File,
    /// Anything else.
    #[default]
    Anonymous,
}

impl Kind {
    /// Its name for people and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::File => "file",
            Self::Anonymous => "anonymous",
        }
    }
}

impl Mapping {
    /// Pages by node in the base page size `base_kib` (4 on x86-64): a huge page counts as the base
    /// pages it covers.
    pub fn base_pages(&self, base_kib: u64) -> impl Iterator<Item = (NodeId, Pages)> + '_ {
        let factor = self.page_kib.map_or(1, |kib| (kib / base_kib.max(1)).max(1));
        self.pages.iter().map(move |(node, pages)| (node, Pages(pages.0.saturating_mul(factor))))
    }
}

impl fmt::Display for Mapping {
    /// Writes the line as the kernel does, without the fields that isobar does not read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x} default", self.start)?;
        match self.kind {
            Kind::Heap => f.write_str(" heap")?,
            Kind::Stack => f.write_str(" stack")?,
            Kind::File => f.write_str(" file=/f")?,
            Kind::Anonymous => {}
        }
        for (node, pages) in self.pages.iter() {
            write!(f, " N{node}={pages}")?;
        }
        self.page_kib.map_or(Ok(()), |kib| write!(f, " kernelpagesize_kB={kib}"))
    }
}

/// Reads a file mapping by mapping; `None` for a line that is not a mapping. The kernel escapes
/// file names (space, tab, newline and backslash as octal), so fields are words. Names may hold
/// bytes that are not UTF-8, so the input is bytes.
pub fn lines(text: &[u8]) -> impl Iterator<Item = Option<Mapping>> + '_ {
    text.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()).map(parse_line)
}

/// Reads the whole file; `None` if a line is not a mapping.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Vec<Mapping>> {
    lines(text).collect()
}

/// Resident pages by node over all mappings, in the base page size.
#[must_use]
pub fn total(mappings: &[Mapping], base_kib: u64) -> NodeMap<Pages> {
    by_node(mappings.iter().flat_map(|mapping| mapping.base_pages(base_kib)))
}

/// The sum of some numbers of pages, by node.
pub fn by_node(pages: impl Iterator<Item = (NodeId, Pages)>) -> NodeMap<Pages> {
    let mut sum = NodeMap::<Pages>::default();
    for (node, pages) in pages {
        let entry = sum.entry(node);
        entry.0 = entry.0.saturating_add(pages.0);
    }
    sum
}

/// The mappings that have a memory policy, by first address, with the policy in the kernel's words
/// (`bind:1`, `interleave:0-3`). The policy is the mapping's own or that of the process.
pub fn policies(text: &[u8]) -> impl Iterator<Item = (u64, String)> + '_ {
    text.split(|&b| b == b'\n').filter_map(|line| {
        let mut words = line.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let (start, policy) = (hex(words.next()?)?, words.next()?);
        (policy != b"default").then(|| (start, String::from_utf8_lossy(policy).into_owned()))
    })
}

/// Whether a memory policy, in the kernel's words, is the owner's and says that pages do not belong
/// on the node `to`: it binds them to other nodes, interleaves them, or prefers any node. `local`
/// does not count, nor do the policies of `isobar run`: those that it marks as its own (`=static`),
/// and weighted interleave, which it sets without a mark.
#[must_use]
pub fn forbids(policy: &str, to: NodeId) -> bool {
    let (mode, nodes) = policy.split_once(':').unwrap_or((policy, ""));
    if mode.contains("=static") {
        return false;
    }
    let allows = || nodes.parse().is_ok_and(|nodes: CpuSet| nodes.contains(CpuId(to.0)));
    (mode.starts_with("bind") && !allows()) || mode.starts_with("interleave") || mode.starts_with("prefer")
}

/// Reads a line: an address, a memory policy, fields.
fn parse_line(line: &[u8]) -> Option<Mapping> {
    let mut words = line.split(|&b| b == b' ').filter(|word| !word.is_empty());
    let start = hex(words.next()?)?;
    words.next()?;
    let mut mapping = Mapping { start, pages: NodeMap::default(), page_kib: None, kind: Kind::Anonymous };
    words.try_for_each(|word| read_field(&mut mapping, word))?;
    Some(mapping)
}

/// Reads `N<node>=<pages>`, `kernelpagesize_kB=<n>`, `heap`, `stack` and whether there is a
/// `file=`; other fields (`anon=`, `dirty=`, ...) are ignored. `None` if a number in one of these
/// fields does not parse.
fn read_field(mapping: &mut Mapping, word: &[u8]) -> Option<()> {
    if let Some(value) = word.strip_prefix(b"kernelpagesize_kB=") {
        mapping.page_kib = Some(number(value)?);
    } else if let Some((node, pages)) = node_field(word) {
        mapping.pages.insert(node, Pages(number(pages)?));
    } else if let Some(kind) = kind(word) {
        mapping.kind = kind;
    }
    Some(())
}

fn kind(word: &[u8]) -> Option<Kind> {
    match word {
        b"heap" => Some(Kind::Heap),
        b"stack" => Some(Kind::Stack),
        word if word.starts_with(b"file=") => Some(Kind::File),
        _ => None,
    }
}

fn node_field(word: &[u8]) -> Option<(NodeId, &[u8])> {
    let rest = word.strip_prefix(b"N")?;
    let equals = rest.iter().position(|&b| b == b'=')?;
    let node = u32::try_from(number(&rest[..equals])?).ok()?;
    Some((NodeId(node), &rest[equals + 1..]))
}

fn hex(word: &[u8]) -> Option<u64> {
    parse::hex(std::str::from_utf8(word).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages(pairs: &[(u32, u64)]) -> NodeMap<Pages> {
        pairs.iter().map(|&(node, pages)| (NodeId(node), Pages(pages))).collect()
    }

    #[test]
    fn base_huge_and_transparent_huge_pages_are_counted_in_base_pages() {
        // 388 base pages; 3 hugetlb pages of 2 MiB = 3 * 512; a THP mapping that the kernel already
        // counts in base pages.
        let text = b"55a37258d000 default file=/usr/bin/a\\040b mapped=388 N0=300 N8=88 kernelpagesize_kB=4\n\
                     7f0000000000 bind:1 file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N8=3 \
                     kernelpagesize_kB=2048\n\
                     7f1000000000 interleave:0-1 anon=1024 dirty=1024 N0=512 N8=512 kernelpagesize_kB=4\n\
                     7ffd58cfd000 default stack\n";
        let mappings = parse(text).unwrap();
        assert_eq!(mappings.len(), 4);
        assert_eq!(mappings[1].pages, pages(&[(8, 3)]));
        assert_eq!(mappings[1].start, 0x7f00_0000_0000);
        let kinds: Vec<Kind> = mappings.iter().map(|mapping| mapping.kind).collect();
        assert_eq!(kinds, [Kind::File, Kind::File, Kind::Anonymous, Kind::Stack]);
        assert_eq!(total(&mappings, 4), pages(&[(0, 300 + 512), (8, 88 + 3 * 512 + 512)]));
    }

    #[test]
    fn other_base_page_sizes_count_in_their_own_unit() {
        // 64 KiB base pages (arm64, ppc64): 2 MiB are 32 of them.
        let mappings = parse(b"0 default N0=2 kernelpagesize_kB=2048\n1000 default N0=5 kernelpagesize_kB=64").unwrap();
        assert_eq!(total(&mappings, 64), pages(&[(0, 2 * 32 + 5)]));
        assert_eq!(total(&parse(b"0 default N0=7").unwrap(), 4), pages(&[(0, 7)]));
    }

    #[test]
    fn file_names_that_look_like_fields_do_not_count() {
        let mappings = parse(b"400000 default file=/N0=9 mapped=1 Nx=3 N0=1 N= kernelpagesize_kB=4").unwrap();
        assert_eq!(mappings[0].pages, pages(&[(0, 1)]));
    }

    #[test]
    fn policies_are_those_that_somebody_set() {
        let text = b"1000 default N0=2\n2000 bind:1 N1=2\n3000 interleave:0-1\nzz bind:0\n";
        let found: Vec<_> = policies(text).collect();
        assert_eq!(found, [(0x2000, "bind:1".to_owned()), (0x3000, "interleave:0-1".to_owned())]);
    }

    #[test]
    fn a_policy_forbids_a_node_where_it_is_its_owners_and_names_others() {
        let forbid = |policy: &&str| forbids(policy, NodeId(1));
        let they = ["bind:0", "bind:0,2-3", "bind=relative:0", "interleave:0-1", "prefer:1", "prefer", "bind"];
        assert!(they.iter().all(forbid));
        let others =
            ["default", "local", "weighted", "prefer=static:0", "interleave=static:0-1", "bind=static|balancing:0"];
        assert!(!others.iter().any(forbid));
        assert!(!["bind:0-1", "bind:1", "bind=balancing:0-2"].iter().any(forbid));
    }

    #[test]
    fn broken_lines_are_refused() {
        for broken in ["zz default", "10", "10 default N0=x", "10 default kernelpagesize_kB=4k"] {
            assert_eq!(parse(format!("0 default\n{broken}\n").as_bytes()), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_reading_round_trips(start in any::<u64>(), kib in prop::option::of(1u64..1 << 30),
                                            counts in prop::collection::btree_map(0u32..1024, any::<u64>(), 0..6)) {
            let pages = counts.into_iter().map(|(node, count)| (NodeId(node), Pages(count))).collect();
            let kinds = [Kind::Heap, Kind::Stack, Kind::File, Kind::Anonymous];
            let kind = kinds[usize::try_from(start % 4).unwrap()];
            let mapping = Mapping { start, pages, page_kib: kib, kind };
            prop_assert_eq!(parse(mapping.to_string().as_bytes()).unwrap(), vec![mapping]);
        }

    }
}
