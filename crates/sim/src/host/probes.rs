//! The latency probe (CAMM, section IV): one CPU of every node times loads from every node.
//!
//! A probe of 160 loads takes some 50 us and an epoch takes seconds, so a probe sees one state: the
//! state of the last step before it, which was solved when that step began. It shows the latency of
//! one additional load at the contention model's fixed point, with the error of a sample. Changes
//! by actions show after the next step. Errors come from a separate random stream, so that probing
//! changes nothing else.
//!
//! **What it costs** is charged if a policy requests latencies: the thread that runs on the probing
//! CPU waits for every load and for two switches. The traffic of the probes (10 kB per pair and
//! epoch, a millionth of what a controller carries) is left out.

use super::SimMachine;
use isobar_contention::Machine;
use isobar_model::{CpuId, Nanoseconds, NodeMatrix, Sensor, num};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Loads from a node: 8 on each of 20 pages (section VII, dynamic probing overhead).
const LOADS: f64 = 160.0;
/// Standard deviation of one load on an idle machine, as a fraction of its latency (estimate: a row
/// of DRAM is open, closed or another row is open, which are two steps of some 13 ns).
const IDLE_SPREAD: f64 = 0.1;
/// Standard error of the median of many normal samples, divided by that of their mean: sqrt(pi /
/// 2).
const MEDIAN: f64 = 1.253_314;
/// Seconds that the probing thread takes from the thread that it preempts, in addition to its
/// loads: two switches (see `step.rs`).
const PREEMPTION: f64 = 2.0 * 3.8e-6;

/// The state of the prober.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    rng: ChaCha8Rng,
    /// Whether threads are charged for the probes.
    pub charged: bool,
}

/// What the probes of an epoch report.
pub(super) struct Probed {
    pub latency: Option<NodeMatrix<Nanoseconds>>,
    pub idle: Option<NodeMatrix<Nanoseconds>>,
    pub cycles: Option<NodeMatrix<f64>>,
}

impl Probes {
    pub fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        Self { rng, charged: false }
    }

    /// The median of the loads of a probe whose latency has mean `mean` and standard deviation
    /// `spread`.
    fn median(&mut self, mean: f64, spread: f64) -> f64 {
        (mean + self.normal() * MEDIAN * spread / LOADS.sqrt()).max(mean / 2.0)
    }

    /// A standard normal number: the sum of twelve uniform numbers less their mean, which is the
    /// same on every platform.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| f64::from(self.rng.next_u32()) / 4_294_967_296.0).sum::<f64>() - 6.0
    }
}

impl SimMachine {
    /// The same machine under a policy that needs these sensors. If latencies are among them, the
    /// threads that run on probing CPUs wait for the probes.
    #[must_use]
    pub fn probing_for(mut self, needs: &[Sensor]) -> Self {
        self.probes.charged = needs.contains(&Sensor::Latency);
        self
    }

    /// Probes every node from every node.
    pub(super) fn probe(&mut self) -> Probed {
        let machine = std::sync::Arc::clone(&self.workload.machine);
        let loaded = self.solver.loaded_latency(&machine.memory);
        let waits = self.solver.waits(&machine.memory);
        let mut seen = loaded.clone();
        for (from, row) in seen.iter_mut().enumerate() {
            for (to, cell) in row.iter_mut().enumerate() {
                *cell = self.probes.median(*cell, spread(&machine.memory, &waits, from, to));
            }
        }
        if self.probes.charged && self.now > 0.0 {
            self.charge(&loaded);
        }
        let nanoseconds = |rows: &[Vec<f64>]| table(&machine.nodes(), rows, |seconds| Nanoseconds(seconds * 1e9));
        Probed {
            latency: nanoseconds(&seen),
            idle: nanoseconds(machine.memory.latency()),
            cycles: table(&machine.nodes(), &seen, |seconds| seconds * machine.hertz),
        }
    }

    /// Makes a thread on the first CPU of each node wait for the probes of its node.
    fn charge(&mut self, loaded: &[Vec<f64>]) {
        for (node, row) in loaded.iter().enumerate() {
            let spent = PREEMPTION + LOADS * row.iter().sum::<f64>();
            let Some(cpu) = self.prober(node) else { continue };
            let threads = self.processes.iter_mut().flat_map(|process| &mut process.threads);
            if let Some(thread) = threads.filter(|thread| !thread.ended()).find(|thread| thread.cpu == cpu) {
                thread.owed += spent;
            }
        }
    }

    /// The first CPU of a node.
    fn prober(&self, node: usize) -> Option<CpuId> {
        self.workload.machine.places.iter().find(|(_, place)| place.node == node).map(|(cpu, _)| *cpu)
    }

    /// Pages of a process that were accessed since the last call, by position of node. Each page of
    /// a class (hot, cold) is accessed equally often, given the misses of the threads. `None` at
    /// the first call.
    pub(super) fn accessed(&mut self, index: usize) -> Option<Vec<u64>> {
        let process = &mut self.processes[index];
        let counted: Vec<_> = process.threads.iter().map(|thread| thread.misses).collect();
        let before = process.looked.replace(counted.clone());
        let misses: Vec<_> = before?.iter().zip(counted).map(|(before, now)| (now - before).max(0.0)).collect();
        let nodes = self.workload.machine.pages.len();
        Some((0..nodes).map(|node| num::round(process.memory.accessed(node, &misses))).collect())
    }
}

/// Standard deviation of one load, in seconds: it combines the deviation of the idle machine with
/// that of the wait at every resource that the load passes. A resource where transfers wait `W` on
/// average, in services of `q` each (queue.rs of the contention model), has `W / q` of them before
/// the load. The deviation of the sum of that many independent services is `W / sqrt(W / q)`, and a
/// wait of less than one service deviates by itself; `W / sqrt(1 + W / q)` joins the two.
fn spread(memory: &Machine, waits: &[f64], from: usize, to: usize) -> f64 {
    let still = IDLE_SPREAD * memory.latency()[from][to];
    let passed = std::iter::once(&to).chain(memory.route(to, from));
    let waits = passed.map(|k| waits[*k] * waits[*k] / (1.0 + waits[*k] / memory.resources()[*k].queue));
    (still * still + waits.sum::<f64>()).sqrt()
}

fn table<T>(nodes: &[isobar_model::NodeId], rows: &[Vec<f64>], cell: impl Fn(f64) -> T) -> Option<NodeMatrix<T>> {
    let rows = rows.iter().map(|row| row.iter().map(|seconds| cell(*seconds)).collect()).collect();
    NodeMatrix::from_rows(nodes.to_vec(), rows)
}

#[cfg(test)]
mod tests {
    use super::super::SimMachine;
    use crate::workload::Workload;
    use isobar_model::{Machine, NodeId, Sample, Seconds, Sensor};

    fn machine(seed: u64, apps: &str) -> SimMachine {
        let run = "[run]\nruns = 1\ninstructions_factor = 0.1\n";
        let text = format!("machine = \"haswell-2x18\"\n{run}{apps}");
        SimMachine::new(&Workload::from_toml("w.toml", &text).unwrap(), seed)
    }

    fn streams(count: u32) -> String {
        (0..count).map(|cpu| format!("[[app]]\nprogram = \"npb-is\"\ncpu = {cpu}\n")).collect()
    }

    fn cycles(sample: &Sample, from: u32, to: u32) -> f64 {
        *sample.latency_cycles.as_ref().unwrap().get(NodeId(from), NodeId(to)).unwrap()
    }

    /// CAMM, table IV: 229 and 319 cycles on the idle machine. The error of a median of 160 loads
    /// is a hundredth of that.
    #[test]
    fn an_idle_machine_shows_the_printed_latencies() {
        let sample = machine(1, "[[app]]\nprogram = \"povray\"\n").sample().unwrap();
        for (from, to, printed) in [(0, 0, 229.0), (0, 1, 319.0), (1, 0, 319.0), (1, 1, 229.0)] {
            let seen = cycles(&sample, from, to);
            assert!((seen / printed - 1.0).abs() < 0.05, "{from} {to} {seen}");
        }
        let idle = sample.latency_idle.unwrap();
        assert!((idle.get(NodeId(0), NodeId(1)).unwrap().0 - 138.7).abs() < 1e-9);
    }

    /// Haswell: 18.5 ns per service at a controller, 99.6 ns idle. A wait of 74 ns is four
    /// services: 74 / sqrt(5) = 33.1 ns; with 9.96 ns of the idle machine 34.6 ns.
    #[test]
    fn long_queues_spread_less_than_they_take() {
        let machine = crate::machine::find("haswell-2x18").unwrap();
        let seen = super::spread(&machine.memory, &[74e-9, 0.0, 0.0, 0.0], 0, 0);
        assert!((seen * 1e9 - 34.56).abs() < 0.01, "{seen}");
    }

    /// Eighteen streams on node 0 fill its controller. For the CPUs of node 0, its memory then has
    /// a higher latency than that of node 1, as in figure 3 of the CAMM paper.
    #[test]
    fn a_full_controller_shows_and_its_neighbour_does_not() {
        let mut machine = machine(1, &streams(18));
        machine.wait(Seconds(2.0)).unwrap();
        let sample = machine.sample().unwrap();
        let (local, remote) = (cycles(&sample, 0, 0), cycles(&sample, 0, 1));
        assert!(local > 1.1 * remote && (remote / 319.0 - 1.0).abs() < 0.05, "{local} {remote}");
        assert!(cycles(&sample, 1, 0) > local && cycles(&sample, 1, 1) < 250.0, "{sample:?}");
    }

    fn seconds(mut machine: SimMachine) -> f64 {
        while machine.wait(Seconds(0.2)).unwrap() == isobar_model::Wake::Elapsed {
            machine.sample().unwrap();
        }
        machine.report().apps.iter().map(|app| app.mean_seconds.unwrap()).sum()
    }

    /// Sampling changes nothing. A policy that requests probes pays for them: on the first CPU of
    /// the node 320 loads of up to some 600 ns and two switches every 0.2 s, about 0.1 % of its
    /// time.
    #[test]
    fn looking_is_free_and_probing_costs_a_thousandth() {
        let one = || machine(1, "[[app]]\nprogram = \"milc\"\ncpu = 0\n");
        let mut blind = one();
        blind.wait(Seconds(1e6)).unwrap();
        let free = blind.report().apps[0].mean_seconds.unwrap();
        assert!((seconds(one()) - free).abs() < 1e-9 * free);
        let more = seconds(one().probing_for(&[Sensor::Latency])) / free - 1.0;
        assert!((1e-4..1e-3).contains(&more), "{more}");
    }

    /// In an interval of length zero nothing is accessed. In two seconds every page of a stream of
    /// 1000 MiB is. Nothing is known at the first sample.
    #[test]
    fn accessed_pages_are_those_since_the_last_look() {
        let mut machine = machine(1, &streams(1));
        let accessed = |machine: &mut SimMachine| machine.sample().unwrap().processes[0].accessed_pages.clone();
        assert_eq!(accessed(&mut machine), None);
        machine.wait(Seconds(2.0)).unwrap();
        let both = accessed(&mut machine).unwrap();
        let share = isobar_model::num::float(both.get(NodeId(0)).unwrap().0) / 256_000.0;
        assert!((0.9..1.0).contains(&share) && both.get(NodeId(1)).unwrap().0 == 0, "{both:?}");
        assert_eq!(accessed(&mut machine).unwrap().get(NodeId(0)).unwrap().0, 0);
    }
}
