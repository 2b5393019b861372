//! Shared parts of the tests: machines, programs, and CPUs that run programs one after another in
//! windows, as the emulator does.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use numasim_model::{Machine, NodeCounters, Spec};

/// Length of a window in picoseconds: 100 us of guest time.
pub const WINDOW: u64 = 100_000_000;
/// Bytes of a node of the machines here.
pub const NODE: u64 = 512 << 20;

/// The small machine with 16 CPUs a node and other capacities.
pub fn spec(mb_per_s: f64, link_mb_per_s: f64) -> Spec {
    let text = include_str!("../../../../machines/small-2x2.toml")
        .replace("\"0-1\"", "\"0-15\"")
        .replace("\"2-3\"", "\"16-31\"")
        .replace("1000.0", &format!("{mb_per_s:.1}"))
        .replace("500.0", &format!("{link_mb_per_s:.1}"));
    Spec::parse(&text, "wide").unwrap()
}

/// What a CPU does for ever.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    /// Nothing.
    Idle,
    /// Random lines on a node, one after another.
    Random(u64),
    /// Every line of a node, one after another; stores if `true`.
    Stream(u64, bool),
    /// Picoseconds of computing, then a random line on a node.
    Compute(u64, u64),
    /// Alternates between windows with random lines of a node and idle windows.
    Bursts(u64, u64, u64),
}

/// A CPU that runs a program.
#[derive(Clone, Debug)]
pub struct Runner {
    pub program: Program,
    pub done: u64,
    local: u64,
    seed: u64,
    line: u64,
}

/// A small random number generator, good enough and the same everywhere (Knuth's MMIX constants).
pub fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 24
}

impl Runner {
    pub fn new(program: Program, number: u64) -> Self {
        Self { program, done: 0, local: 0, seed: number * 7919 + 1, line: number * 100_003 }
    }

    /// One step: its address, whether it stores, and the picoseconds of computing before it.
    /// `None`: nothing to do in this window.
    fn next(&mut self, window: u64) -> Option<(u64, bool, u64)> {
        let lines = NODE / 64;
        let mut anywhere = |node: u64| node * NODE + random(&mut self.seed) % lines * 64;
        match self.program {
            Program::Idle => None,
            Program::Random(node) => Some((anywhere(node), false, 0)),
            Program::Compute(picos, node) => Some((anywhere(node), false, picos)),
            Program::Bursts(on, off, node) => (window % (on + off) < on).then(|| (anywhere(node), false, 0)),
            Program::Stream(node, store) => {
                self.line = (self.line + 1) % lines;
                Some((node * NODE + self.line * 64, store, 0))
            }
        }
    }

    /// Runs until the window's end; returns the time that it ran.
    fn run(&mut self, machine: &mut Machine, cpu: usize, window: u64) -> u64 {
        let (end, mut ran) = ((window + 1) * WINDOW, 0);
        while self.local < end {
            let Some((address, store, computing)) = self.next(window) else {
                self.local = end;
                break;
            };
            // A hit of the private cache is free here; a program that takes no time would never
            // end.
            let took = (computing + machine.access(cpu, address, store)).max(1);
            self.local += took;
            ran += took;
            self.done += 1;
        }
        ran
    }
}

/// What one window has carried, and the delays after it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Fraction of the controller's capacity, by node.
    pub used: [f64; 2],
    /// Fraction of the capacity of the link from node 1 to node 0.
    pub link: f64,
    /// Delays in picoseconds: controllers, and that link.
    pub delay: [f64; 3],
}

/// A machine whose CPUs run programs.
pub struct Guest {
    pub machine: Machine,
    pub runners: Vec<Runner>,
    window: u64,
}

impl Guest {
    pub fn new(spec: &Spec, programs: &[Program]) -> Self {
        let runners = (0..).zip(programs).map(|(number, program)| Runner::new(*program, number)).collect();
        Self { machine: Machine::new(spec).unwrap(), runners, window: 0 }
    }

    /// Runs this many windows.
    pub fn run(&mut self, windows: usize) -> Vec<Seen> {
        (0..windows).map(|_| self.step()).collect()
    }

    fn step(&mut self) -> Seen {
        let before = self.totals();
        let mut busy = vec![0; self.runners.len()];
        for (cpu, runner) in self.runners.iter_mut().enumerate() {
            busy[cpu] = runner.run(&mut self.machine, cpu, self.window);
        }
        self.window += 1;
        let after = self.totals();
        self.machine.window(WINDOW, &busy);
        let nodes: Vec<_> = self.machine.node_counters().collect();
        let link = self.machine.link_counters().nth(1).unwrap();
        let part = |position: usize| (after[position] - before[position]) as f64 / WINDOW as f64;
        let delay = [nodes[0].delay_ps, nodes[1].delay_ps, link.delay_ps].map(|ps| ps as f64);
        Seen { used: [part(0), part(1)], link: part(2), delay }
    }

    fn totals(&self) -> [u64; 3] {
        let nodes: Vec<NodeCounters> = self.machine.node_counters().collect();
        [nodes[0].busy_ps, nodes[1].busy_ps, self.machine.link_counters().nth(1).unwrap().busy_ps]
    }
}

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Standard deviation divided by the mean.
pub fn spread(values: &[f64]) -> f64 {
    let middle = mean(values.iter().copied());
    mean(values.iter().map(|value| (value - middle).powi(2))).sqrt() / middle
}
