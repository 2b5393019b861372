//! The costs of acting, so that not acting is better if nothing is gained. Page copies take time
//! and bandwidth (`step.rs`), and so do shootdowns (`step.rs`). This file has the cold cache of a
//! thread that moved. Each cost can be switched off, to measure its share.

use super::SimMachine;
use isobar_contention::{LINE, MissCurve};
use isobar_model::num;

/// Number of pieces that the filled space is divided into for the sum.
const PIECES: u32 = 16;

impl SimMachine {
    /// Makes a thread pay for the lines that it held in the caches that it left. Called after it
    /// has moved.
    pub(super) fn chill(&mut self, p: usize, t: usize) {
        let machine = &self.workload.machine;
        let process = &self.processes[p];
        let program = &self.workload.apps[process.app].program;
        let thread = &process.threads[t];
        let node = machine.places[&thread.cpu].node;
        let private = machine.memory.llcs()[machine.places[&thread.cpu].llc].private;
        let weights = process.memory.weights(t, node, machine.pages.len());
        let latency: f64 =
            weights.iter().zip(&machine.memory.latency()[node]).map(|(weight, seconds)| weight * seconds).sum();
        let seconds = extra_misses(&program.mpki, private + thread.occupancy) * latency / program.mlp;
        let thread = &mut self.processes[p].threads[t];
        thread.occupancy = 0.0;
        if self.workload.run.costs.cold_caches {
            thread.owed += seconds;
        }
    }
}

/// The misses that a thread has in excess of those with a full cache, until it holds `held` bytes
/// again. While it holds `s` it inserts a line for each miss, so that filling `ds` takes `ds / 64`
/// misses. With a full cache, the same instructions would have had `m(held) / m(s)` times as many
/// misses. The difference is the integral of `1 - m(held) / m(s)` over the lines: nothing for a
/// stream, at most one per line.
fn extra_misses(curve: &MissCurve, held: f64) -> f64 {
    let full = curve.misses(held);
    let piece = held / f64::from(PIECES);
    let middle = |index: u32| curve.misses((f64::from(index) + 0.5) * piece);
    let more = |index| match middle(index) {
        misses if misses > full => 1.0 - full / misses,
        _ => 0.0,
    };
    let parts: Vec<f64> = (0..PIECES).map(more).collect();
    parts.iter().sum::<f64>() / num::float_len(parts.len()) * held / LINE
}

#[cfg(test)]
mod tests;
