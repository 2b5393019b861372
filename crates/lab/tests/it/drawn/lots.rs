//! Machines and mixes drawn by a seed: two or four nodes with one or two caches each, shipped
//! programs whose figures are off by up to 30 % in either direction, memory on one node, spread or
//! left. None of the settings of `isobar` was chosen on them.

#![allow(clippy::unwrap_used)]

use isobar_sim::Workload;
use isobar_sim::program::{MissCurve, shipped};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt::Write;
use std::sync::Arc;

/// Random numbers.
pub struct Lots(ChaCha8Rng);

impl Lots {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number from 0 to `most` - 1.
    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.0.next_u64() % u64::try_from(most).unwrap()).unwrap()
    }

    /// A number between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * f64::from(u32::try_from(self.0.next_u64() >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// A number that is off by up to 30 % in either direction.
    fn off(&mut self, value: f64) -> f64 {
        value * self.between(0.7, 1.3)
    }
}

/// A machine with figures that are common on servers, each within the range of what is sold.
fn machine(lots: &mut Lots) -> (String, usize, usize) {
    let (nodes, llcs, cores) = (2 * (1 + lots.below(2)), 1 + lots.below(2), 2 + lots.below(5));
    let by_core = lots.between(1.5, 6.0);
    let mut text = format!(
        "clock_ghz = 2.5\nqueue = {{ controller_ns = {:.1}, link_ns = {:.1} }}\n",
        lots.off(16.0),
        lots.off(12.0)
    );
    let bandwidth = by_core * f64::from(u32::try_from(llcs * cores).unwrap());
    for node in 0..nodes {
        let sustained = lots.between(0.7, 1.0);
        let _ = writeln!(
            text,
            "[[node]]\nid = {node}\nmemory_gib = 64\ngb_per_s = {bandwidth:.1}\nsustained = {sustained:.2}"
        );
    }
    let (mib, ways) = (lots.between(1.0, 3.0) * f64::from(u32::try_from(cores).unwrap()), [8, 11, 16][lots.below(3)]);
    for llc in 0..nodes * llcs {
        let (node, first) = (llc / llcs, llc * cores);
        let _ = writeln!(
            text,
            "[[llc]]\nid = {llc}\nnode = {node}\nsize_mib = {mib:.1}\nways = {ways}\ncpus = \"{first}-{}\"",
            first + cores - 1
        );
    }
    let link = bandwidth * lots.between(0.3, 0.8);
    for (a, b) in (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))) {
        let _ = writeln!(text, "[[link]]\na = {a}\nb = {b}\ngb_per_s_each_way = {link:.1}");
    }
    let (local, remote) = (lots.between(70.0, 110.0), lots.between(1.3, 2.0));
    let row = |from: usize| {
        let ns = |to: usize| format!("{:.0}.0", if from == to { local } else { local * remote });
        format!("[{}]", (0..nodes).map(ns).collect::<Vec<_>>().join(", "))
    };
    let _ = writeln!(text, "[latency]\nns = [{}]", (0..nodes).map(row).collect::<Vec<_>>().join(", "));
    let _ = writeln!(text, "[linux]\nrotates = {}", lots.below(2) == 0);
    (text, nodes, nodes * llcs * cores)
}

/// The machine and mix of a seed. Alone, each program would run for half to three halves of
/// `seconds`, twice.
pub fn workload(seed: u64, seconds: f64) -> Workload {
    let mut lots = Lots::new(seed);
    let (machine, nodes, cores) = machine(&mut lots);
    let library = shipped().unwrap();
    let names: Vec<&str> = library.names().collect();
    let mut text = format!(
        "machine = \"drawn.toml\"\n[run]\nruns = 2\nmax_seconds = {:.0}\nnuma_balancing = {}\n",
        100.0 * seconds,
        lots.below(3) > 0
    );
    let together = lots.below(4);
    for _ in 0..cores * (5 + lots.below(6)) / 10 {
        let _ = writeln!(text, "[[app]]\nprogram = \"{}\"\nthreads = 1", names[lots.below(names.len())]);
        match (together, lots.below(4)) {
            (0, _) => text.push_str("memory_node = 0\n"),
            (1, 0) => {
                let _ = writeln!(text, "memory_node = {}", lots.below(nodes));
            }
            (2, 0) => {
                let one = |node: usize| format!("{{ node = {node}, weight = 1 }}");
                let _ = writeln!(text, "spread = [{}]", (0..nodes).map(one).collect::<Vec<_>>().join(", "));
            }
            _ => {}
        }
    }
    let beside = |_: &str| Ok(machine.clone());
    let mut workload = Workload::from_toml_with("drawn", &text, &beside).unwrap();
    for app in &mut workload.apps {
        let program = Arc::make_mut(&mut app.program);
        program.base_cpi = lots.off(program.base_cpi);
        program.mlp = lots.off(program.mlp).max(1.0);
        program.prefetch = lots.off(program.prefetch);
        program.write_back = lots.off(program.write_back).min(1.0);
        if let MissCurve::Parametric(curve) = &mut program.mpki {
            curve.streaming = lots.off(curve.streaming);
            curve.reuse = lots.off(curve.reuse);
            curve.half_mib = lots.off(curve.half_mib);
        }
        // Cycles per instruction with 2 MiB of cache, at 250 cycles per miss.
        let cycles = program.base_cpi + program.mpki.misses(2_097_152.0) * 250.0 / program.mlp;
        program.instructions_billion = seconds * lots.between(0.5, 1.5) * 2.5 / cycles;
    }
    workload
}
