//! Derives a program of the simulator from runs of a program alone.
//!
//! ```text
//! cpi_k  = base + x_k / mlp                what the simulator's law says of run k
//! x_k    = m_k * f * (idle + (1 + v_k) W(u_k) + link waits)   stall cycles, one miss in flight
//!          m misses an instruction, v lines written back for one fetched
//!          u utilisation by this program alone, W(u) = q u^2 / (1 - u)
//! ```
//!
//! The fitted line goes through the run with all ways and local memory, which is the reference for
//! slowdowns, and as near to the other runs as least squares allow. In this way `base` includes the
//! cost of hits in the LLC, and `mlp` the misses that streams cover. The remaining difference is
//! reported as the error of the fit. Misses by ways are as measured, with linear interpolation
//! between the measured numbers of ways; write-backs are those with all ways.

use crate::seen::Seen;
use crate::twin::real_mib;
use isobar_model::num;
use isobar_sim::Program;
use isobar_sim::program::MissCurve;
use numasim_model::Spec;
use serde::Serialize;

/// Least difference between two runs, in stall cycles per instruction, from which anything can be
/// concluded.
const LEAST_SPREAD: f64 = 1e-3;
/// The simulator's lower bound of base CPI.
const LEAST_CPI: f64 = 0.05;
/// Higher utilisations count as this one, because the law has no value at 1.
const MOST_LOAD: f64 = 0.999;

/// A run of a program alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solo {
    /// Number of ways that it could fill.
    pub ways: u32,
    /// The node of its CPU and the node of its memory.
    pub nodes: (usize, usize),
    /// What it did.
    pub seen: Seen,
}

/// A program of the simulator, and how well it fits the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Cycles per instruction without LLC misses.
    pub base_cpi: f64,
    /// Mean number of misses in flight.
    pub mlp: f64,
    /// Misses per 1000 instructions, one way first.
    pub mpki_by_ways: Vec<f64>,
    /// Lines written back for each line fetched.
    pub write_back: f64,
    /// Resident memory here, in KiB.
    pub resident_kib: f64,
    /// The largest relative error of the law's CPI for a run alone.
    pub fit_error: f64,
}

/// Fits the law to runs alone; `None` if the run with all ways and local memory is missing.
#[must_use]
pub fn profile(spec: &Spec, runs: &[Solo]) -> Option<Profile> {
    let ways = spec.llc.first()?.ways;
    let whole = runs.iter().find(|run| run.ways == ways && run.nodes.0 == run.nodes.1)?;
    let points: Vec<_> = runs.iter().map(|run| (stall_of_one(spec, run), run.seen.cpi())).collect();
    let (base_cpi, mlp) = line((stall_of_one(spec, whole), whole.seen.cpi()), &points);
    let missed = |(x, cpi): &(f64, f64)| ((base_cpi + x / mlp) / cpi - 1.0).abs();
    Some(Profile {
        base_cpi,
        mlp,
        mpki_by_ways: by_ways(ways, runs),
        write_back: whole.seen.write_back(),
        resident_kib: whole.seen.resident.unwrap_or(0.0) / 1024.0,
        fit_error: points.iter().map(missed).fold(0.0, f64::max),
    })
}

impl Profile {
    /// The program in the simulator, which has the caches of the real machine.
    #[must_use]
    pub fn program(&self, spec: &Spec, name: &str) -> Program {
        let curve = |llc: &numasim_model::Llc| {
            MissCurve::measured(real_mib(spec, f64::from(llc.size_kib)) / f64::from(llc.ways), &self.mpki_by_ways)
        };
        Program {
            name: name.to_owned(),
            instructions_billion: 1e6,
            base_cpi: self.base_cpi,
            mpki: spec.llc.first().map_or_else(|| MissCurve::measured(1.0, &self.mpki_by_ways), curve),
            mlp: self.mlp,
            prefetch: 0.0, // `mlp` includes what streams cover
            prefetch_range: None,
            write_back: self.write_back,
            footprint_mib: real_mib(spec, self.resident_kib.max(1.0)),
            touch_share: 0.0,
            // numasim's programs use all their pages equally.
            hot_pages: 0.5,
            hot_accesses: 0.5,
            threads: 1,
            shared: 0.0,
            phase: Vec::new(),
        }
    }
}

/// Base and misses in flight of the line through one point that is nearest to the others.
fn line(through: (f64, f64), points: &[(f64, f64)]) -> (f64, f64) {
    let apart = |of: fn((f64, f64), (f64, f64)) -> f64| points.iter().map(|point| of(*point, through)).sum::<f64>();
    let square = apart(|a, b| (a.0 - b.0).powi(2));
    let product = apart(|a, b| (a.0 - b.0) * (a.1 - b.1));
    let given = square.sqrt() > LEAST_SPREAD;
    // At least one miss in flight, and no slope that leaves less than the least base.
    let slope = if given { (product / square).clamp(1e-5, 1.0) } else { 1.0 };
    let most = if through.0 > 0.0 { (through.1 - LEAST_CPI).max(0.0) / through.0 } else { slope };
    let slope = slope.min(most.max(1e-5));
    ((through.1 - slope * through.0).max(LEAST_CPI), 1.0 / slope)
}

/// Stall cycles per instruction if one miss were in flight.
fn stall_of_one(spec: &Spec, run: &Solo) -> f64 {
    let (home, memory) = run.nodes;
    let idle = spec.latency.ns[home][memory];
    let load = |bytes: f64, mb_per_s: f64| (bytes / run.seen.seconds / (mb_per_s * 1e6)).min(MOST_LOAD);
    let controller = wait(spec.queue.controller_ns, load(run.seen.read + run.seen.written, spec.node[memory].mb_per_s));
    let write_back = run.seen.write_back();
    let link = link_mb(spec, home, memory).map_or(0.0, |mb| {
        let one_way = |bytes| wait(spec.queue.link_ns, load(bytes, mb));
        one_way(run.seen.read) + write_back * one_way(run.seen.written)
    });
    run.seen.misses_per_instruction() * spec.clock_mhz / 1e3 * (idle + (1.0 + write_back) * controller + link)
}

/// ns of waiting by the queueing law.
#[must_use]
pub fn wait(scale_ns: f64, utilisation: f64) -> f64 {
    let utilisation = utilisation.clamp(0.0, MOST_LOAD);
    scale_ns * utilisation * utilisation / (1.0 - utilisation)
}

/// MB/s of the link between two neighbouring nodes; `None` if no link joins them.
fn link_mb(spec: &Spec, from: usize, to: usize) -> Option<f64> {
    let joins = |link: &&numasim_model::Link| {
        let (a, b) = (num::index(link.a), num::index(link.b));
        (a, b) == (from, to) || (b, a) == (from, to)
    };
    spec.link.iter().find(joins).map(|link| link.mb_per_s_each_way)
}

/// MPKI for every number of ways: as measured, linear between measurements, constant beyond them.
fn by_ways(ways: u32, runs: &[Solo]) -> Vec<f64> {
    let local = runs.iter().filter(|run| run.nodes.0 == run.nodes.1);
    let mut known: Vec<_> =
        local.map(|run| (f64::from(run.ways), 1000.0 * run.seen.misses_per_instruction())).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    (1..=ways).map(|count| between(&known, f64::from(count))).collect()
}

fn between(known: &[(f64, f64)], at: f64) -> f64 {
    let above = known.iter().position(|(ways, _)| *ways >= at);
    match (above, known.last()) {
        (Some(0), _) => known[0].1,
        (Some(next), _) => {
            let ((a, low), (b, high)) = (known[next - 1], known[next]);
            low + (high - low) * (at - a) / (b - a)
        }
        (None, Some(last)) => last.1,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use numasim_lab::experiment::Scale;

    pub fn spec() -> Spec {
        numasim_lab::machine::scaled("nehalem-2x4", Scale::default()).unwrap()
    }

    /// A run of 10^6 instructions with this number of misses. The program does so little per second
    /// that it never waits for others.
    pub fn solo(ways: u32, memory: usize, misses: f64, cycles: f64) -> Solo {
        let seen = Seen {
            instructions: 1e6,
            cycles,
            references: misses,
            misses,
            read: 64.0 * misses,
            written: 16.0 * misses,
            stalled: 0.0,
            seconds: 1e3,
            resident: Some(1024.0 * 1024.0),
            pass: None,
        };
        Solo { ways, nodes: (0, memory), seen }
    }

    /// A miss of 1 us at 113.5 MHz takes 113.5 cycles, a miss of 1.8 us 204.3. With a base of 2 and
    /// 2 misses in flight, 10000 misses in 10^6 instructions give 2 + 0.01 * 113.5 / 2 = 2.5675,
    /// 20000 give 3.135, and 10000 remote ones give 2 + 0.01 * 204.3 / 2 = 3.0215.
    #[test]
    fn base_and_misses_in_flight_are_found_again() {
        let runs = [solo(16, 0, 1e4, 2.5675e6), solo(4, 0, 2e4, 3.135e6), solo(16, 1, 1e4, 3.0215e6)];
        let found = profile(&spec(), &runs).unwrap();
        assert!((found.base_cpi - 2.0).abs() < 1e-6 && (found.mlp - 2.0).abs() < 1e-6, "{found:?}");
        assert!(found.fit_error < 1e-6 && (found.write_back - 0.25).abs() < 1e-12);
        // 20 MPKI up to 4 ways and 10 at 16, linear between: 15 at 10.
        let by = &found.mpki_by_ways;
        assert!(by.len() == 16 && (by[0] - 20.0).abs() < 1e-9 && (by[9] - 15.0).abs() < 1e-9, "{by:?}");
        let program = found.program(&spec(), "a");
        // 1 MiB here is 16 MiB there; 4 of 16 ways of 8 MiB are 2 MiB.
        assert!((program.footprint_mib - 16.0).abs() < 1e-9);
        assert!((program.mpki.misses(2.0 * 1048576.0) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn a_program_that_never_misses_has_its_cpi_as_base() {
        let found = profile(&spec(), &[solo(16, 0, 0.0, 1.5e6), solo(4, 0, 0.0, 1.5e6)]).unwrap();
        assert!((found.base_cpi - 1.5).abs() < 1e-12 && (found.mlp - 1.0).abs() < 1e-12);
        assert!(profile(&spec(), &[solo(4, 0, 0.0, 1.5e6)]).is_none());
    }

    #[test]
    fn base_and_flight_stay_within_what_the_simulator_takes() {
        // The first line is steeper than one miss in flight can be, so the slope is 1 and the base
        // is what is left. In the second less than nothing is left, so the base is the least.
        let steep = line((1.0, 3.0), &[(1.0, 3.0), (2.0, 9.0)]);
        assert_eq!(steep, (2.0, 1.0));
        let (base, mlp) = line((4.0, 3.0), &[(4.0, 3.0), (5.0, 4.0)]);
        assert!((base - 0.05).abs() < 1e-12 && (mlp - 4.0 / 2.95).abs() < 1e-12);
    }

    /// Half of 1024 MB/s: 200 * 0.25 / 0.5 = 100 ns, which is twenty times the simulator's 5 ns.
    #[test]
    fn the_law_of_the_queue_by_hand() {
        assert!((wait(200.0, 0.5) - 100.0).abs() < 1e-9);
        assert_eq!(wait(200.0, 0.0), 0.0);
    }
}
