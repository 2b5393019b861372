//! The layout of the page: word offsets of version 4. A word is 64 bits, little-endian. The words
//! of a CPU, a thread, a controller and a link are the fields of figures.rs, in their order.
//!
//! The page is 512 KiB, the size of ivshmem's BAR 2, a power of two ("Device Specification for
//! Inter-VM shared memory device", `docs/specs/ivshmem-spec.rst` of QEMU). A change of meaning
//! requires a new [`VERSION`].

/// The value of word [`MAGIC`]: the text `NUMASIM` and a zero byte.
pub const MAGIC_VALUE: u64 = u64::from_le_bytes(*b"NUMASIM\0");
/// The version of this layout.
pub const VERSION: u64 = 4;
/// Bytes of the page.
pub const PAGE_BYTES: usize = 524_288;
/// Words of the page.
pub const WORDS: usize = PAGE_BYTES / 8;
/// Words in use; the rest are zero.
pub const END: usize = THREAD + THREAD_WORDS * MAX_THREADS;

/// The most CPUs that the page can hold.
pub const MAX_CPUS: usize = 256;
/// The most last-level caches that the page can hold.
pub const MAX_LLCS: usize = 16;
/// The most memory nodes that the page can hold.
pub const MAX_NODES: usize = 16;
/// The most classes of service of a last-level cache.
pub const MAX_CLASSES: usize = 16;
/// The most threads that the page can hold.
pub const MAX_THREADS: usize = 2048;
/// The number of nodes for which misses are counted by node.
pub const MISS_NODES: usize = 8;

/// [`MAGIC_VALUE`], written last.
pub const MAGIC: usize = 0;
/// The version that the plugin writes.
pub const PAGE_VERSION: usize = 1;
/// Number of CPUs of the guest.
pub const CPUS: usize = 2;
/// Number of last-level caches.
pub const LLCS: usize = 3;
/// Number of memory nodes.
pub const NODES: usize = 4;
/// Number of classes of service (CLOS) of each last-level cache.
pub const CLASSES: usize = 5;
/// A seqlock: odd while the plugin writes, and 2 more after each publication.
pub const SEQUENCE: usize = 6;
/// Guest time of the last publication, in nanoseconds.
pub const TIME_NS: usize = 7;
/// 1 once modelling has started, otherwise 0.
pub const MODELLING: usize = 8;
/// The clock of a guest CPU, in kHz.
pub const CLOCK_KHZ: usize = 9;
/// Length of a window of guest time, in nanoseconds.
pub const WINDOW_NS: usize = 10;
/// Ways of LLC 0, also in [`WAYS`].
pub const WAYS_0: usize = 11;
/// Bytes of a cache line.
pub const LINE_BYTES: usize = 12;
/// 1 if CPUs are charged for waiting, 0 if waiting is only counted.
pub const DELAYS: usize = 13;
/// Why the generation in [`REFUSED`] was refused: a number of [`crate::Refusal`].
pub const REFUSAL: usize = 15;
/// Incremented by the guest after it wrote classes or masks.
pub const WISHED: usize = 16;
/// The generation that the plugin applied last.
pub const APPLIED: usize = 17;
/// The generation that the plugin refused last; 0 if it refused none.
pub const REFUSED: usize = 18;
/// Address at which the guest's kernel switches from one thread to the next; the guest writes it
/// before modelling starts. 0: it is not known, and nothing is counted by thread.
pub const SWITCH: usize = 19;
/// Offset of a thread's number in the kernel's description of the thread, in bytes; the guest
/// writes it.
pub const THREAD_ID: usize = 20;
/// Offset of the thread's name there; the guest writes it.
pub const THREAD_NAME: usize = 21;
/// Number of places of threads that are or were in use; 0: nothing is counted by thread.
pub const THREADS: usize = 22;
/// Ways of each last-level cache.
pub const WAYS: usize = 32;
/// Bytes of each last-level cache.
pub const SIZE: usize = 48;
/// Class of service of each CPU; the guest writes it.
pub const CLASS: usize = 64;
/// Way masks by LLC and class; the guest writes them.
pub const MASK: usize = 320;
/// Bytes held in a last-level cache, by LLC and class.
pub const OCCUPANCY: usize = 576;
/// Bytes fetched from memory, by LLC and class.
pub const TOTAL: usize = 832;
/// Bytes fetched from the memory of the LLC's own node, by LLC and class.
pub const LOCAL: usize = 1088;
/// Counters of memory controllers, [`NODE_WORDS`] each.
pub const NODE: usize = 1344;
/// Words of a memory controller: those of `NodeFigures`.
pub const NODE_WORDS: usize = 8;
/// Counters of directed links, [`LINK_WORDS`] each, by node from and node to.
pub const LINK: usize = 1536;
/// Words of a link: those of `LinkFigures`.
pub const LINK_WORDS: usize = 4;
/// Counters of CPUs, [`CPU_WORDS`] each.
pub const CPU: usize = 2560;
/// Words of a CPU: those of `CpuFigures` and of `Place`.
pub const CPU_WORDS: usize = 22;
/// Counters of threads, [`THREAD_WORDS`] each.
pub const THREAD: usize = CPU + CPU_WORDS * MAX_CPUS;
/// Words of a thread: a sequence word, which is odd while the plugin writes the others, and 2 more
/// afterwards; the words of `ThreadFigures`, with thread 0 if the place is free; and [`class_of`].
/// A thread keeps its place, so a reader only needs each row to be consistent: reading all rows
/// takes the guest longer than the interval between two publications.
pub const THREAD_WORDS: usize = 13;

/// The first word of a memory controller.
#[must_use]
pub const fn node(node: usize) -> usize {
    NODE + NODE_WORDS * node
}

/// The first word of a link.
#[must_use]
pub const fn link(from: usize, to: usize) -> usize {
    LINK + LINK_WORDS * (MAX_NODES * from + to)
}

/// The first word of a CPU.
#[must_use]
pub const fn cpu(cpu: usize) -> usize {
    CPU + CPU_WORDS * cpu
}

/// The first word of a thread.
#[must_use]
pub const fn thread(at: usize) -> usize {
    THREAD + THREAD_WORDS * at
}

/// The word of a thread that the guest writes. The lower half is the thread's number, so that a
/// thread that later has the place does not get the class; the upper half is the class of service.
/// 0: the thread has no class of its own.
#[must_use]
pub const fn class_of(at: usize) -> usize {
    thread(at) + THREAD_WORDS - 1
}

/// The first of the two words that give the place of a CPU.
#[must_use]
pub const fn place(at: usize) -> usize {
    cpu(at) + CPU_WORDS - 2
}

/// A word of the tables by LLC and class: [`MASK`], [`OCCUPANCY`], [`TOTAL`], [`LOCAL`].
#[must_use]
pub const fn by_class(table: usize, llc: usize, class: usize) -> usize {
    table + MAX_CLASSES * llc + class
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Every word that an accessor can return, with the name of the accessor.
    fn all_words() -> Vec<(String, usize)> {
        let single = [
            (MAGIC, "magic"),
            (PAGE_VERSION, "version"),
            (CPUS, "cpus"),
            (LLCS, "llcs"),
            (NODES, "nodes"),
            (CLASSES, "classes"),
            (SEQUENCE, "sequence"),
            (TIME_NS, "time"),
            (MODELLING, "modelling"),
            (CLOCK_KHZ, "clock"),
            (WINDOW_NS, "window"),
            (WAYS_0, "ways 0"),
            (LINE_BYTES, "line"),
            (DELAYS, "delays"),
            (REFUSAL, "refusal"),
            (WISHED, "wished"),
            (APPLIED, "applied"),
            (REFUSED, "refused"),
            (SWITCH, "switch"),
            (THREAD_ID, "thread id"),
            (THREAD_NAME, "thread name"),
            (THREADS, "threads"),
        ];
        let mut words: Vec<(String, usize)> = single.iter().map(|(word, name)| ((*name).to_owned(), *word)).collect();
        let mut table = |name: &str, first: usize, count: usize| {
            words.extend((0..count).map(|index| (format!("{name} {index}"), first + index)));
        };
        table("ways", WAYS, MAX_LLCS);
        table("size", SIZE, MAX_LLCS);
        table("class", CLASS, MAX_CPUS);
        for (name, first) in [("mask", MASK), ("occupancy", OCCUPANCY), ("total", TOTAL), ("local", LOCAL)] {
            (0..MAX_LLCS).for_each(|llc| table(&format!("{name} {llc}"), by_class(first, llc, 0), MAX_CLASSES));
        }
        (0..MAX_NODES).for_each(|at| table(&format!("node {at}"), node(at), NODE_WORDS));
        for (from, to) in (0..MAX_NODES).flat_map(|from| (0..MAX_NODES).map(move |to| (from, to))) {
            table(&format!("link {from} {to}"), link(from, to), LINK_WORDS);
        }
        (0..MAX_CPUS).for_each(|at| table(&format!("cpu {at}"), cpu(at), CPU_WORDS));
        (0..MAX_THREADS).for_each(|at| table(&format!("thread {at}"), thread(at), THREAD_WORDS));
        words
    }

    #[test]
    fn no_word_has_two_meanings_and_all_fit() {
        let mut seen = BTreeMap::new();
        for (name, word) in all_words() {
            assert!(word < END, "{name} = {word}");
            assert_eq!(seen.insert(word, name.clone()), None, "{name} = word {word}");
        }
        assert_eq!(END, 34_816);
        const { assert!(END <= WORDS) };
    }
}
