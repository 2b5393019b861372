//! The plugin's side: what it writes, and what it takes from the guest. This file knows the layout
//! and the order of stores; it does not know the model.

use crate::error::{PageError, Refusal};
use crate::figures::{GuestSettings, Header, NodeFigures, Snapshot, Switches, ThreadFigures};
use crate::layout;
use crate::num::{index, word};
use crate::row::Row;
use crate::words::Words;

/// The plugin's side of the page.
#[derive(Debug)]
pub struct Host<W> {
    words: W,
    header: Header,
    sequence: u64,
    /// Threads as they are on the page, by place, and the sequence word of each place.
    threads: Vec<(ThreadFigures, u64)>,
    /// The last generation that was taken.
    taken: u64,
}

impl<W: Words> Host<W> {
    /// Initialises the page: everything zero, then the machine's figures, all CPUs in class 0 and
    /// all masks full. The magic comes last, so that no reader takes an incomplete page for a
    /// complete one.
    ///
    /// # Errors
    /// [`PageError::Damaged`] if the page is too small for the machine.
    pub fn initialise(words: W, header: Header) -> Result<Self, PageError> {
        header.check()?;
        (0..layout::WORDS).for_each(|at| words.store(at, 0));
        let host = Self { words, header, sequence: 0, threads: Vec::new(), taken: 0 };
        host.write_header();
        host.write_caches();
        host.write_places();
        host.put(layout::PAGE_VERSION, layout::VERSION);
        host.put(layout::MAGIC, layout::MAGIC_VALUE);
        Ok(host)
    }

    /// The machine as it was initialised.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Writes all counters, in such a way that a guest that reads meanwhile can detect it.
    pub fn publish(&mut self, snapshot: &Snapshot) {
        self.put(layout::SEQUENCE, self.sequence + 1);
        self.put(layout::TIME_NS, snapshot.time_ns);
        self.put(layout::MODELLING, u64::from(snapshot.modelling));
        let (cpus, nodes) = (self.header.cpus.len(), self.header.nodes.len());
        (0..cpus).zip(&snapshot.cpus).for_each(|(at, cpu)| cpu.write(&self.words, layout::cpu(at)));
        (0..nodes).zip(&snapshot.nodes).for_each(|(at, node)| self.write_node(at, node));
        let known = snapshot.links.iter().filter(|((from, to), _)| *from.max(to) < nodes);
        known.for_each(|((from, to), link)| link.write(&self.words, layout::link(*from, *to)));
        self.write_classes(snapshot);
        self.sequence += 2;
        self.put(layout::SEQUENCE, self.sequence);
    }

    /// Writes the counters of threads, each at its place; the default if a place is free. Rows that
    /// have not changed are not written.
    pub fn publish_threads(&mut self, threads: &[ThreadFigures]) {
        let threads = threads.get(..layout::MAX_THREADS).unwrap_or(threads);
        self.threads.resize(threads.len().max(self.threads.len()), (ThreadFigures::default(), 0));
        self.put(layout::THREADS, word(self.threads.len()));
        let now = threads.iter().copied().chain(std::iter::repeat(ThreadFigures::default()));
        for (at, ((written, sequence), now)) in self.threads.iter_mut().zip(now).enumerate() {
            if *written != now {
                let first = layout::thread(at);
                if written.tid != now.tid {
                    self.words.store(layout::class_of(at), 0);
                }
                self.words.store(first, *sequence + 1);
                now.write(&self.words, first + 1);
                *sequence += 2;
                self.words.store(first, *sequence);
                *written = now;
            }
        }
    }

    /// How the guest's kernel switches threads; `None`: the guest has not said so.
    #[must_use]
    pub fn switches(&self) -> Option<Switches> {
        let read = |at| self.words.load(at);
        let said =
            Switches { address: read(layout::SWITCH), id: read(layout::THREAD_ID), name: read(layout::THREAD_NAME) };
        (said.address != 0).then_some(said)
    }

    /// Whether the guest has a new request; a single load, made in every window.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.words.load(layout::WISHED) != self.taken
    }

    /// The guest's request, if it is new. The plugin carries it out and reports that with
    /// [`Self::applied`] or [`Self::refuse`]. An impossible request is refused here, and nothing is
    /// returned.
    pub fn take_wishes(&mut self) -> Option<GuestSettings> {
        if !self.is_asked() {
            return None;
        }
        let wishes = self.read_wishes();
        self.taken = wishes.generation;
        match self.header.check_wishes(&wishes) {
            Ok(()) => Some(wishes),
            Err(why) => {
                self.refuse(wishes.generation, why);
                None
            }
        }
    }

    /// Reports that the request of this generation is in force.
    pub fn applied(&self, generation: u64) {
        self.put(layout::APPLIED, generation);
    }

    /// Reports that the request of this generation is refused; the previous settings stay in force.
    pub fn refuse(&self, generation: u64, why: Refusal) {
        self.put(layout::REFUSAL, why.code());
        self.put(layout::REFUSED, generation);
    }

    fn put(&self, at: usize, value: u64) {
        self.words.store(at, value);
    }

    fn write_header(&self) {
        let header = &self.header;
        self.put(layout::CPUS, word(header.cpus.len()));
        self.put(layout::LLCS, word(header.llcs.len()));
        self.put(layout::NODES, word(header.nodes.len()));
        self.put(layout::CLASSES, word(header.classes));
        self.put(layout::CLOCK_KHZ, header.clock_khz);
        self.put(layout::WINDOW_NS, header.window_ns);
        self.put(layout::LINE_BYTES, header.line_bytes);
        self.put(layout::DELAYS, u64::from(header.delays));
        self.put(layout::WAYS_0, header.llcs.first().map_or(0, |llc| u64::from(llc.ways)));
    }

    fn write_caches(&self) {
        for (at, llc) in self.header.llcs.iter().enumerate() {
            self.put(layout::WAYS + at, u64::from(llc.ways));
            self.put(layout::SIZE + at, llc.bytes);
            (0..self.header.classes).for_each(|class| {
                self.put(layout::by_class(layout::MASK, at, class), llc.full_mask());
            });
        }
    }

    fn write_places(&self) {
        for (at, place) in self.header.cpus.iter().enumerate() {
            self.put(layout::place(at), word(place.node));
            self.put(layout::place(at) + 1, word(place.llc));
        }
        (0..self.header.nodes.len()).for_each(|at| self.write_node(at, &NodeFigures::default()));
    }

    /// The capacity of a controller comes from the header.
    fn write_node(&self, at: usize, node: &NodeFigures) {
        let bytes_per_second = self.header.nodes[at];
        NodeFigures { bytes_per_second, ..*node }.write(&self.words, layout::node(at));
    }

    fn write_classes(&self, snapshot: &Snapshot) {
        for (llc, classes) in snapshot.classes.iter().enumerate().take(self.header.llcs.len()) {
            for (class, figures) in classes.iter().enumerate().take(self.header.classes) {
                self.put(layout::by_class(layout::OCCUPANCY, llc, class), figures.occupancy);
                self.put(layout::by_class(layout::TOTAL, llc, class), figures.total_bytes);
                self.put(layout::by_class(layout::LOCAL, llc, class), figures.local_bytes);
            }
        }
    }

    /// The thread and the class that the guest wants for it, if it wants one.
    fn class_of(&self, at: usize, tid: u64) -> Option<(u64, usize)> {
        let said = self.words.load(layout::class_of(at));
        (tid != 0 && said & u64::from(u32::MAX) == tid).then(|| (tid, index(said >> 32)))
    }

    /// If the guest writes more while this reads, it increments the generation again, and its
    /// request is read again then.
    fn read_wishes(&self) -> GuestSettings {
        let read = |at: usize| self.words.load(at);
        let mask = |llc| move |class| (llc, class);
        GuestSettings {
            generation: read(layout::WISHED),
            classes: (0..self.header.cpus.len()).map(|cpu| index(read(layout::CLASS + cpu))).collect(),
            threads: self
                .threads
                .iter()
                .enumerate()
                .filter_map(|(at, (thread, _))| self.class_of(at, thread.tid))
                .collect(),
            masks: (0..self.header.llcs.len())
                .map(|llc| (0..self.header.classes).map(mask(llc)))
                .map(|places| places.map(|(llc, class)| read(layout::by_class(layout::MASK, llc, class))).collect())
                .collect(),
        }
    }
}
