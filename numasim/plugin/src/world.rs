//! The single state of the plugin: the machine, the time of its CPUs, and the counters. Only QEMU's
//! thread of CPUs accesses it, one callback after another. Data for other threads is in `clock.rs`,
//! as atomics.

mod accesses;
mod blocks;
pub mod clock;
mod meet;
mod overlap;
mod pace;
mod publish;
mod threads;
mod trace;

use crate::arguments::Arguments;
use crate::flush::Pages;
use crate::running::Running;
use crate::steady;
use crate::translations::Translations;
use crate::{leave, qemu, recent};
use clock::{ASKED, BASE};
use numasim_model::flow::Block;
use numasim_model::{Apart, Core, Machine, NextStep, Shared, Spaces, Spec, Threads, Windows};
use numasim_page::Switches;
use publish::Page;
use std::cell::{Cell, UnsafeCell};
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;
use trace::Trace;

/// See the head of the file. Times in picoseconds of guest time.
pub struct World {
    pub spec: Spec,
    pub machine: Machine,
    /// The outstanding accesses of each CPU.
    cores: Vec<Core>,
    /// The physical addresses of pages that each CPU has used.
    translations: Vec<Translations>,
    /// Translated blocks, each stored once.
    blocks: HashSet<&'static Block>,
    pub windows: Windows,
    pub running: Running,
    pub pages: Pages,
    /// Instructions that each CPU has executed.
    pub instructions: Vec<Cell<u64>>,
    /// Time that each CPU has run in windows that are closed.
    pub ran: Vec<u64>,
    /// Accesses that needed no lookup (recent.rs), counted separately.
    pub again: Vec<u64>,
    closed: u64,
    /// Picoseconds of a cycle.
    pub cycle: u64,
    page: Option<Page>,
    /// The page trace, if one may be requested.
    pub trace: Option<Trace>,
    /// Line, misses and waiting of the access that was looked up last, for the trace.
    cost: (u64, u64, u64),
    /// Whether memory is modelled. Until the guest requests it, only time is modelled.
    pub modelling: bool,
    /// Picoseconds of an instruction of the present code, and of a program's instruction.
    instruction: u64,
    programs: u64,
    /// Address spaces of daemons, their instructions, whether one runs now, how much faster it is,
    /// and the lines that it has flushed (pace.rs).
    spaces: Spaces,
    apart: Apart,
    /// Instructions of the kernel (blocks.rs).
    kernel: Apart,
    /// How the guest's kernel switches threads, if it has said so, and what threads did.
    switches: Option<Switches>,
    threads: Option<Threads>,
    swift: bool,
    scale: u64,
    flushed: HashSet<u64>,
    pause: u64,
    counter: u64,
    cpu: usize,
    /// Physical line of the last access that was looked up.
    line: u64,
    /// Lines on which CPUs meet, and whether each CPU waits there (meet.rs).
    shared: Shared,
    waiting: Vec<bool>,
    /// Whether each CPU was left within a repeated instruction.
    repeating: Vec<bool>,
    /// Time that the running CPU was charged beyond the instruction that reads a clock.
    ahead: u64,
    /// Instructions that were given back to a CPU when it was to be left.
    returned: u64,
    control: usize,
}

/// Cost of a PAUSE, in cycles: some 40 on Nehalem to Broadwell (Intel's optimization manual).
const PAUSE_CYCLES: f64 = 40.0;
/// Cost of RDTSC, in cycles: 24 to 28 on Nehalem to Skylake (the same manual).
const COUNTER_CYCLES: f64 = 25.0;
/// Cost of RDTSC until memory is modelled, in picoseconds.
const COUNTER_AT_BOOT: u64 = 2_000_000;

/// Length of a window, in picoseconds.
const WINDOW: u64 = 100_000_000;
/// Number of windows between two writings of the page: a millisecond of guest time.
const WINDOWS_A_WRITING: u64 = 10;
/// Factor on the length of windows until memory is modelled, when only timers matter.
const WINDOWS_AT_BOOT: u64 = 10;
/// Windows after which the delays of an idle machine are gone.
const WINDOWS_TO_CALM: u64 = 10;

impl World {
    /// A world that has not begun.
    ///
    /// # Errors
    /// What is wrong with the machine, as one line.
    pub fn new(spec: Spec, arguments: &Arguments, control: *const c_void) -> Result<Self, String> {
        let machine = Machine::new(&spec).map_err(|problem| problem.to_string())?;
        let cpus = spec.cpus();
        let instruction = spec.instruction_ps();
        let cycle = instruction / spec.cycles_per_instruction;
        let page = arguments.page.as_ref().map(|path| Page::open(path, &spec, WINDOW)).transpose()?;
        Ok(Self {
            machine,
            cores: (0..cpus).map(Core::new).collect(),
            translations: vec![Translations::NONE; cpus],
            blocks: HashSet::new(),
            windows: Windows::new(cpus, WINDOW * WINDOWS_AT_BOOT, clock::BEGINNING),
            running: Running::default(),
            pages: Pages::new(cpus),
            instructions: vec![Cell::new(0); cpus],
            ran: vec![0; cpus],
            again: vec![0; cpus],
            closed: 0,
            cycle: whole(cycle).max(1),
            page,
            trace: arguments.trace.as_ref().map(|path| trace::create(path, cpus)).transpose()?,
            cost: (u64::MAX, 0, 0),
            modelling: false,
            instruction: whole(instruction),
            programs: whole(instruction),
            spaces: Spaces::new(cpus),
            apart: Apart::new(cpus),
            kernel: Apart::new(cpus),
            switches: None,
            threads: None,
            swift: false,
            scale: whole(spec.time_scale).max(1),
            flushed: HashSet::new(),
            pause: whole(PAUSE_CYCLES * cycle),
            counter: whole(COUNTER_CYCLES * cycle),
            cpu: 0,
            line: u64::MAX,
            shared: Shared::default(),
            waiting: vec![false; cpus],
            repeating: vec![false; cpus],
            ahead: 0,
            returned: 0,
            control: control.expose_provenance(),
            spec,
        })
    }

    /// Begins modelling memory.
    pub fn begin(&mut self) {
        self.modelling = true;
        // A hit with a cost must be looked up, because the cost is charged there.
        recent::sets(if self.spec.private.hit_ns > 0.0 { 1 } else { self.private_sets() });
        self.windows.set_length(WINDOW);
        steady::stop();
        self.counts_threads();
        self.zero();
    }

    fn private_sets(&self) -> u64 {
        u64::from(self.spec.private.size_kib * 16 / self.spec.private.ways)
    }

    /// Another CPU runs, or the same one after a halt. True: it must not run yet.
    #[cold]
    fn switch(&mut self, cpu: usize) -> bool {
        self.count_found();
        recent::forget_all();
        steady::stop();
        self.cpu = cpu;
        self.set_pace();
        if self.windows.is_halted(cpu) {
            self.catch_up(BASE.load(Relaxed));
            self.windows.wake(cpu);
        }
        !ASKED.load(Relaxed) && (self.windows.waits(cpu) || self.still_waits(cpu))
    }

    #[inline]
    fn charge(&mut self, picos: u64) {
        if self.windows.charge(self.cpu, picos) && !ASKED.load(Relaxed) {
            self.at_end();
        }
    }

    /// The CPU is at the window's end. Only the last CPU to reach it lets timers run.
    #[cold]
    fn at_end(&mut self) {
        match self.windows.turn(self.cpu) {
            NextStep::Yield => leave::soon(self.running.handle()),
            turn => self.take(turn),
        }
    }

    fn take(&mut self, turn: NextStep) {
        steady::stop();
        if turn == NextStep::Close {
            self.close();
            self.windows.close();
            BASE.store(self.windows.base(), Relaxed);
        }
        if turn != NextStep::On {
            self.let_go();
        }
    }

    /// Time has jumped to `now` while all CPUs were halted.
    fn catch_up(&mut self, now: u64) {
        if now <= self.windows.base() {
            return;
        }
        let windows = (now - self.windows.base()) / WINDOW;
        self.close();
        self.windows.jump(now);
        // Queues are empty after some windows without load.
        let idle = vec![0; self.ran.len()];
        (0..windows.min(WINDOWS_TO_CALM)).for_each(|_| self.machine.window(WINDOW, &idle));
    }

    fn close(&mut self) {
        if !self.modelling {
            return;
        }
        self.closed += 1;
        let ran = self.windows.ran();
        self.machine.window(WINDOW, &ran);
        self.ran.iter_mut().zip(ran).for_each(|(sum, ran)| *sum += ran);
        self.with_page(|page, world| {
            if let Some(wishes) = page.wishes() {
                page.apply(world, &wishes);
            }
        });
        self.trace_window();
        if self.closed.is_multiple_of(WINDOWS_A_WRITING) {
            self.publish();
        }
    }

    /// Writes the page.
    pub fn publish(&mut self) {
        self.count_found();
        self.adds_up();
        self.with_page(|page, world| page.write(world));
    }

    fn with_page(&mut self, act: impl FnOnce(&mut Page, &mut Self)) {
        if let Some(mut page) = self.page.take() {
            act(&mut page, self);
            self.page = Some(page);
        }
    }

    /// Makes QEMU leave this CPU, run the timers that are due, and continue with the next CPU.
    fn let_go(&mut self) {
        ASKED.store(true, Relaxed);
        // SAFETY: the handle is QEMU's own. With a time of 1 ns, which is past, it runs timers and
        // moves no clock.
        unsafe { qemu::qemu_plugin_update_ns(std::ptr::with_exposed_provenance(self.control), 1) };
    }

    /// HLT: the CPU waits for an interrupt.
    pub fn halt(&mut self) {
        steady::stop();
        let turn = self.windows.halt(self.cpu);
        if self.windows.is_quiet() {
            self.catch_up(self.windows.quiet());
            BASE.store(self.windows.base(), Relaxed);
        }
        self.take(turn);
    }

    /// PAUSE: QEMU runs the next CPU by itself. The line that the loop watches is one on which CPUs
    /// meet.
    pub fn pause(&mut self) {
        if self.modelling && self.line != u64::MAX {
            self.shared.watched(self.line, self.cpu, self.windows.local(self.cpu));
            recent::forget_all();
        }
        self.charge(self.takes(self.pause));
    }

    /// Counts the accesses found without a lookup for the CPU that ran.
    fn count_found(&mut self) {
        self.again[self.cpu] += recent::take_found();
    }

    /// Forgets translations, because addresses have other meanings from here on.
    pub fn retranslates(&mut self) {
        self.machine.forget_translations(self.cpu);
        self.translations[self.cpu] = Translations::NONE;
    }

    /// Sets all counters to zero.
    pub fn zero(&mut self) {
        self.calm();
        self.machine.reset_counters();
        self.instructions.fill(Cell::new(0));
        self.apart.zero();
        self.kernel.zero();
        self.zero_threads();
        self.ran.fill(0);
        self.count_found();
        self.again.fill(0);
        if let Some(page) = &mut self.page {
            page.zero();
        }
        self.publish();
    }

    /// Empties all caches and queues. Data that caches would have written back is forgotten.
    /// Classes, masks and counters are not affected.
    pub fn empty(&mut self) {
        self.calm();
        self.machine.empty();
        recent::forget_all();
    }

    /// Flushes a line from all caches, if the CPU has used its page.
    pub fn flush(&mut self, address: u64) {
        recent::forget_all();
        if let Some(physical) = self.pages.physical(self.cpu, address) {
            self.machine.flush(physical);
            self.times(physical);
        }
    }
}

/// A value of a machine file, or a value derived from one, rounded.
pub fn whole(figure: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and far below 2^63")]
    {
        figure.round() as u64
    }
}

/// The time of the CPU that runs now.
pub fn local() -> u64 {
    with(|world| world.windows.local(world.cpu).saturating_sub(world.ahead)).unwrap_or(0)
}

struct Only(UnsafeCell<Option<World>>);

// SAFETY: only QEMU's thread of CPUs reaches inside, after loading (see the head of the file).
unsafe impl Sync for Only {}

static WORLD: Only = Only(UnsafeCell::new(None));

/// Installs the world, while QEMU loads the plugin.
pub fn put(world: World) {
    // SAFETY: no CPU exists yet.
    unsafe { *WORLD.0.get() = Some(world) };
    clock::RUNNING.store(true, Relaxed);
}

/// Calls a function with the world, if there is one. Must not be called from within such a
/// function.
#[inline]
pub fn with<T>(act: impl FnOnce(&mut World) -> T) -> Option<T> {
    // SAFETY: one thread, and no caller is called by another (see the head of the file).
    unsafe { (*WORLD.0.get()).as_mut() }.map(act)
}
