//! The guest's side: what it reads and what it requests. This file knows the layout and how often
//! to try; it does not know what counters are used for.

use crate::error::{PageError, Refusal};
use crate::figures::{
    ClassFigures, CpuFigures, Header, LinkFigures, LlcFigures, NodeFigures, Place, Snapshot, Switches, ThreadFigures,
};
use crate::layout;
use crate::limits::count;
use crate::num::{index, word};
use crate::row::Row;
use crate::words::Words;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// How often a reading is repeated if the plugin has written meanwhile. A publication is some
/// thousand stores, at most once per window.
const TRIES: u32 = 3000;

/// This many tries are made without a pause. Later tries pause, in case the plugin lost its CPU
/// while it wrote: a second in total.
const TRIES_AT_ONCE: u32 = 1000;

/// Pause between two later tries.
const TRY_AGAIN: Duration = Duration::from_micros(500);

/// Pause between two looks at what the plugin has applied.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// The result of a request for classes of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRequest {
    /// whether anything differs from what was last requested
    pub changed: bool,
    /// threads that the page does not have
    pub missing: usize,
}

/// The guest's side of the page.
#[derive(Debug)]
pub struct Guest<W> {
    words: W,
    header: Header,
}

impl<W: Words> Guest<W> {
    /// Reads the machine's figures.
    ///
    /// # Errors
    /// [`PageError`] if it is not a numasim page, has another version, or is damaged.
    pub fn open(words: W) -> Result<Self, PageError> {
        let header = read_header(&words)?;
        Ok(Self { words, header })
    }

    /// The machine.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The machine, provided that the plugin is modelling.
    ///
    /// # Errors
    /// As [`Self::open`] if the page has changed since, and [`PageError::NotModelling`].
    pub fn check(&self) -> Result<Header, PageError> {
        let header = read_header(&self.words)?;
        if self.words.load(layout::MODELLING) == 0 { Err(PageError::NotModelling) } else { Ok(header) }
    }

    /// The plugin's progress: a number that changes with every publication.
    pub fn sequence(&self) -> u64 {
        self.words.load(layout::SEQUENCE)
    }

    /// Guest time of the last publication, in nanoseconds.
    pub fn time_ns(&self) -> u64 {
        self.words.load(layout::TIME_NS)
    }

    /// All counters of one publication, except those of threads.
    ///
    /// # Errors
    /// [`PageError::Torn`] if no reading was consistent.
    pub fn snapshot(&self) -> Result<Snapshot, PageError> {
        self.consistently(layout::SEQUENCE, || Snapshot {
            time_ns: self.words.load(layout::TIME_NS),
            modelling: self.words.load(layout::MODELLING) != 0,
            cpus: (0..self.header.cpus.len()).map(|cpu| CpuFigures::read(&self.words, layout::cpu(cpu))).collect(),
            nodes: (0..self.header.nodes.len())
                .map(|node| NodeFigures::read(&self.words, layout::node(node)))
                .collect(),
            links: self
                .links()
                .map(|ends| (ends, LinkFigures::read(&self.words, layout::link(ends.0, ends.1))))
                .collect(),
            classes: (0..self.header.llcs.len()).map(|llc| self.read_classes(llc)).collect(),
        })
    }

    /// Whether the plugin counts threads.
    pub fn counts_threads(&self) -> bool {
        self.words.load(layout::THREADS) != 0
    }

    /// The counters of threads that have run recently, ascending by thread number. Each thread's
    /// counters are of one publication, which may differ between threads. Empty if the plugin does
    /// not know how the guest's kernel switches threads.
    ///
    /// # Errors
    /// [`PageError::Torn`] if a thread could not be read consistently.
    pub fn threads(&self) -> Result<Vec<ThreadFigures>, PageError> {
        let thread = |first| self.consistently(first, || ThreadFigures::read(&self.words, first + 1));
        let all = (0..self.places()).map(|at| thread(layout::thread(at))).collect::<Result<Vec<_>, _>>()?;
        let mut threads: Vec<ThreadFigures> = all.into_iter().filter(|thread| thread.tid != 0).collect();
        threads.sort_by_key(|thread| thread.tid);
        Ok(threads)
    }

    /// Number of places of threads; a number above the possible maximum is reduced to it.
    fn places(&self) -> usize {
        index(self.words.load(layout::THREADS)).min(layout::MAX_THREADS)
    }

    /// Tells the plugin how the kernel of this guest switches threads, so that it counts by thread.
    /// The plugin reads this when modelling starts, and not again.
    pub fn set_switches(&self, switches: &Switches) {
        self.words.store(layout::THREAD_ID, switches.id);
        self.words.store(layout::THREAD_NAME, switches.name);
        self.words.store(layout::SWITCH, switches.address);
    }

    /// The class of a CPU, as last requested.
    pub fn class(&self, cpu: usize) -> usize {
        index(self.words.load(layout::CLASS + cpu))
    }

    /// The ways of a class of an LLC, as last requested.
    pub fn mask(&self, llc: usize, class: usize) -> u64 {
        self.words.load(layout::by_class(layout::MASK, llc, class))
    }

    /// Requests a class of service for a CPU; in force after [`Self::commit`].
    ///
    /// # Errors
    /// [`PageError::Wish`] if there is no such CPU or class; nothing is requested then.
    pub fn set_class(&self, cpu: usize, class: usize) -> Result<(), PageError> {
        self.header.check_class(cpu, class)?;
        self.words.store(layout::CLASS + cpu, word(class));
        Ok(())
    }

    /// Requests a class of service of their own for these threads and no others; in force after
    /// [`Self::commit`]. Threads that the page does not have, such as those that have not run yet,
    /// are left out: request them again.
    ///
    /// # Errors
    /// [`PageError::Wish`] if there is no such class, or [`PageError::NoThreads`]; nothing is
    /// requested then.
    pub fn set_thread_classes(&self, classes: &BTreeMap<u64, usize>) -> Result<ClassRequest, PageError> {
        classes.values().try_for_each(|class| self.header.check_thread_class(*class))?;
        if !self.counts_threads() && !classes.is_empty() {
            return Err(PageError::NoThreads);
        }
        let (mut changed, mut found) = (false, 0);
        for at in 0..self.places() {
            let tid = self.words.load(layout::thread(at) + 1);
            let class = classes.get(&tid).filter(|_| tid != 0);
            found += usize::from(class.is_some());
            let wanted = class.map_or(0, |class| word(*class) << 32 | tid);
            if self.words.load(layout::class_of(at)) != wanted {
                self.words.store(layout::class_of(at), wanted);
                changed = true;
            }
        }
        Ok(ClassRequest { changed, missing: classes.len().saturating_sub(found) })
    }

    /// Requests the ways of a class of an LLC; in force after [`Self::commit`].
    ///
    /// # Errors
    /// [`PageError::Wish`] if the LLC has no such class or ways; nothing is requested then.
    pub fn set_mask(&self, llc: usize, class: usize, mask: u64) -> Result<(), PageError> {
        self.header.check_mask(llc, class, mask)?;
        self.words.store(layout::by_class(layout::MASK, llc, class), mask);
        Ok(())
    }

    /// Requests what a machine begins with: all CPUs in class 0, no thread with a class of its own,
    /// all ways for all classes; in force after [`Self::commit`].
    ///
    /// # Errors
    /// None that the page's own numbers can cause.
    pub fn reset(&self) -> Result<(), PageError> {
        let header = self.header();
        (0..header.cpus.len()).try_for_each(|cpu| self.set_class(cpu, 0))?;
        self.set_thread_classes(&BTreeMap::new())?;
        let of_llc = |(llc, figures): (usize, &LlcFigures)| {
            (0..header.classes).try_for_each(|class| self.set_mask(llc, class, figures.full_mask()))
        };
        header.llcs.iter().enumerate().try_for_each(of_llc)
    }

    /// Tells the plugin that classes or masks were requested, and returns the number of this
    /// request. Only one program at a time may send requests.
    pub fn commit(&self) -> u64 {
        let generation = self.words.load(layout::WISHED).wrapping_add(1);
        self.words.store(layout::WISHED, generation);
        generation
    }

    /// Waits until a request is in force.
    ///
    /// # Errors
    /// [`PageError::Refused`], and [`PageError::Unanswered`] after `patience`.
    pub fn wait(&self, generation: u64, patience: Duration) -> Result<(), PageError> {
        let since = Instant::now();
        loop {
            let applied = self.words.load(layout::APPLIED);
            if applied == generation {
                return Ok(());
            }
            if self.words.load(layout::REFUSED) == generation {
                return Err(PageError::Refused {
                    generation,
                    why: Refusal::from_code(self.words.load(layout::REFUSAL)),
                });
            }
            let waited = since.elapsed();
            if waited >= patience {
                return Err(PageError::Unanswered { generation, applied, waited_ms: waited.as_millis() });
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Reads until the plugin has not written meanwhile to the words that a sequence guards. Loads
    /// acquire and stores release, so a reader that sees a word of an unfinished writing also sees
    /// its odd sequence.
    fn consistently<T>(&self, sequence: usize, read: impl Fn() -> T) -> Result<T, PageError> {
        for number in 0..TRIES {
            let before = self.words.load(sequence);
            if before.is_multiple_of(2) {
                let value = read();
                if self.words.load(sequence) == before {
                    return Ok(value);
                }
            }
            if number < TRIES_AT_ONCE { thread::yield_now() } else { thread::sleep(TRY_AGAIN) }
        }
        Err(PageError::Torn { tries: TRIES, sequence: self.words.load(sequence) })
    }

    fn read_classes(&self, llc: usize) -> Vec<ClassFigures> {
        let of = |class| {
            let read = |table| self.words.load(layout::by_class(table, llc, class));
            ClassFigures {
                occupancy: read(layout::OCCUPANCY),
                total_bytes: read(layout::TOTAL),
                local_bytes: read(layout::LOCAL),
            }
        };
        (0..self.header.classes).map(of).collect()
    }

    /// All ordered pairs of nodes.
    fn links(&self) -> impl Iterator<Item = (usize, usize)> + use<W> {
        let nodes = self.header.nodes.len();
        (0..nodes).flat_map(move |from| (0..nodes).filter(move |to| *to != from).map(move |to| (from, to)))
    }
}

fn read_header(words: &impl Words) -> Result<Header, PageError> {
    let found = words.load(layout::MAGIC);
    if found != layout::MAGIC_VALUE {
        return Err(PageError::NoMagic { found });
    }
    let found = words.load(layout::PAGE_VERSION);
    if found != layout::VERSION {
        return Err(PageError::Version { found });
    }
    let cpus = count("CPUs", words.load(layout::CPUS), layout::MAX_CPUS)?;
    let llcs = count("last-level caches", words.load(layout::LLCS), layout::MAX_LLCS)?;
    let nodes = count("nodes", words.load(layout::NODES), layout::MAX_NODES)?;
    let header = Header {
        classes: count("classes of service", words.load(layout::CLASSES), layout::MAX_CLASSES)?,
        clock_khz: words.load(layout::CLOCK_KHZ),
        window_ns: words.load(layout::WINDOW_NS),
        line_bytes: words.load(layout::LINE_BYTES),
        delays: words.load(layout::DELAYS) != 0,
        llcs: (0..llcs).map(|llc| read_llc(words, llc)).collect(),
        nodes: (0..nodes).map(|node| NodeFigures::read(words, layout::node(node)).bytes_per_second).collect(),
        cpus: (0..cpus).map(|cpu| read_place(words, cpu)).collect(),
    };
    header.check().map(|()| header)
}

fn read_llc(words: &impl Words, llc: usize) -> LlcFigures {
    let ways = u32::try_from(words.load(layout::WAYS + llc)).unwrap_or(u32::MAX);
    LlcFigures { ways, bytes: words.load(layout::SIZE + llc) }
}

fn read_place(words: &impl Words, cpu: usize) -> Place {
    let read = |word| index(words.load(layout::place(cpu) + word));
    Place { node: read(0), llc: read(1) }
}
