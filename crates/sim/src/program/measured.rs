//! Turns a measured table ([`Profile`]) into a program of the model.
//!
//! ```text
//! CPI without misses + misses per instruction * stall per miss = CPI   at each way count
//! ```
//!
//! The stall per miss is the slope of the line through these points, if the number of ways changes
//! the misses by a fifth or more. Otherwise it is what the stall counter shows with all ways. The
//! line is then shifted through the point of all ways, so that the program alone runs as measured.
//! Misses by cache space are the table itself ([`MissCurve::Measured`]).

use super::{LEAST_CPI, MissCurve, Program};
use crate::error::SimError;
use crate::machine::MachineSpec;
use isobar_model::num;
use isobar_model::profile::{Profile, Row};

const MIB: f64 = 1_048_576.0;
/// The least relative variation of the misses over the ways at which the table shows what a miss
/// costs.
const LEAST_SPREAD: f64 = 0.2;
/// More misses in flight than any core sustains.
const MOST_MLP: f64 = 64.0;
/// The most lines written or prefetched for each line that a program waits for: a higher value is
/// an error of the monitor.
const MOST_WRITE_BACK: f64 = 4.0;
/// A program that fills less than this fraction of the cache needs no more than it fills.
const FULL: f64 = 0.9;
/// Fewer misses per 1000 instructions than this count as none.
const NOTHING: f64 = 0.01;
/// A base page, in MiB.
const PAGE_MIB: f64 = 1.0 / 256.0;
/// Memory of a program that fills the cache, in MiB; the table does not say how much it is ("in
/// hundreds of megabytes", DINO 5.2).
const LARGE_MIB: f64 = 256.0;
/// Instructions that the tables cover: the first 150 billion (Divide&Content, IV-A).
const INSTRUCTIONS_BILLION: f64 = 150.0;

impl Program {
    /// A measured program, for the model. `machine` is the machine that it was measured on: the
    /// size of a way comes from its LLC, and its clock and local latency show how many misses
    /// overlap. `file` only appears in errors.
    ///
    /// # Errors
    /// [`SimError::Value`] if the machine has fewer ways than the table.
    pub fn measured(file: &str, profile: &Profile, machine: &MachineSpec) -> Result<Self, SimError> {
        let rows = profile.rows();
        let (way_mib, llc_mib) = sizes(file, rows.len(), machine)?;
        let latency =
            machine.memory.latency().first().and_then(|row| row.first()).copied().unwrap_or_default() * machine.hertz;
        let (all, mlp) = (rows[rows.len() - 1], (latency / stall(rows, latency)).clamp(1.0, MOST_MLP));
        let by_ways: Vec<_> = rows.iter().map(|row| row.llcmpki).collect();
        let curve = MissCurve::measured(way_mib, &by_ways);
        let program = Self {
            name: profile.name().to_owned(),
            instructions_billion: INSTRUCTIONS_BILLION,
            base_cpi: (1.0 / all.ipc - all.llcmpki / 1000.0 * latency / mlp).max(LEAST_CPI),
            footprint_mib: footprint_mib(all, llc_mib, &curve),
            mpki: curve,
            mlp,
            prefetch: 0.0,
            prefetch_range: None,
            write_back: write_back(rows),
            touch_share: 0.0,
            hot_pages: super::hot_pages(),
            hot_accesses: super::hot_accesses(),
            threads: 1,
            shared: 0.0,
            phase: Vec::new(),
        };
        program.validate(file)?;
        Ok(program)
    }
}

/// MiB of a way and of the whole cache of a machine, on which up to `most` ways were measured.
fn sizes(file: &str, most: usize, machine: &MachineSpec) -> Result<(f64, f64), SimError> {
    let llc = machine.topology.llcs().first().and_then(|llc| Some((llc.size?.0, llc.ways?.0)));
    let (bytes, ways) = llc.unwrap_or_default();
    if num::index(ways) < most {
        let problem = format!(
            "goes to {most}, but the LLC of the machine has {ways} ways: name the machine on which the table was \
             measured"
        );
        return Err(SimError::value(file, "NR_WAYS", problem));
    }
    let mib = num::float(bytes) / MIB;
    Ok((mib / f64::from(ways), mib))
}

/// Cycles that a miss stalls the program, overlap included; `latency` if the table does not show
/// the stall.
fn stall(rows: &[Row], latency: f64) -> f64 {
    let all = rows[rows.len() - 1];
    let counted = all.stalls_l3_miss / all.ipc * 1000.0 / all.llcmpki;
    let candidates = [slope(rows), Some(counted)];
    candidates.into_iter().flatten().find(|stall| stall.is_finite() && *stall > 0.0).unwrap_or(latency)
}

/// The least-squares slope through the points (misses per instruction, CPI); `None` if misses
/// hardly vary.
fn slope(rows: &[Row]) -> Option<f64> {
    let points: Vec<_> = rows.iter().map(|row| (row.llcmpki / 1000.0, 1.0 / row.ipc)).collect();
    let misses = || points.iter().map(|point| point.0);
    let (least, most) = (misses().fold(f64::INFINITY, f64::min), misses().fold(0.0, f64::max));
    if most - least < LEAST_SPREAD * most || most <= 0.0 {
        return None;
    }
    let count = num::float_len(points.len());
    let (x, y) = (misses().sum::<f64>() / count, points.iter().map(|point| point.1).sum::<f64>() / count);
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    Some(covariance / points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum::<f64>())
}

/// Traffic beyond the counted misses, per miss, over all way counts. The counted misses do not
/// include it, whatever causes it.
fn write_back(rows: &[Row]) -> f64 {
    let (seen, missed) =
        rows.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.bandwidth_mbps, sum.1 + row.llcm_bandwidth));
    if missed > 0.0 { (seen / missed - 1.0).clamp(0.0, MOST_WRITE_BACK) } else { 0.0 }
}

/// The space that the program fills in a cache that it does not fill up, provided that more space
/// saves nothing. Otherwise the table does not show the footprint, and an assumed one is returned.
fn footprint_mib(all: Row, llc_mib: f64, curve: &MissCurve) -> f64 {
    let used = all.llc_usage_kb / 1024.0;
    let saved = 1000.0 * (curve.misses(used * MIB) - curve.misses(llc_mib * MIB));
    if used > 0.0 && used < FULL * llc_mib && saved <= NOTHING { used.max(PAGE_MIB) } else { LARGE_MIB.max(llc_mib) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::find;
    use proptest::prelude::*;

    /// A program with `misses` by ways, CPI 0.5 without misses and 40 cycles per miss, at 2 GHz.
    fn profile(misses: &[f64]) -> Profile {
        let row = |llcmpki: &f64| {
            let stalled = llcmpki / 1000.0 * 40.0;
            let ipc = 1.0 / (0.5 + stalled);
            let llcm_bandwidth = llcmpki / 1000.0 * ipc * 2e9 * 64.0 / 1e6;
            Row {
                ipc,
                llcmpki: *llcmpki,
                llcmpkc: llcmpki * ipc,
                llc_usage_kb: 28_000.0,
                bandwidth_mbps: 1.5 * llcm_bandwidth,
                llcm_bandwidth,
                stalls_l3_miss: stalled * ipc,
                ..Row::default()
            }
        };
        Profile::new("a", misses.iter().map(row).collect()).unwrap()
    }

    #[test]
    fn a_program_is_found_again_in_its_table() {
        let machine = find("skylake-2x20").unwrap();
        let misses = [20.0, 15.0, 12.0, 10.0, 9.0, 8.0, 7.0, 6.5, 6.0, 5.8, 5.5];
        for misses in [misses, [10.0; 11]] {
            // The first program uses the slope, the second the stall counter. 85 ns at 2 GHz are
            // 170 cycles, and a miss shows 40 of them: 4.25 misses overlap.
            let program = Program::measured("m.csv", &profile(&misses), &machine).unwrap();
            assert!((program.mlp - 4.25).abs() < 0.01 && (program.base_cpi - 0.5).abs() < 1e-3, "{program:?}");
            assert!((program.write_back - 0.5).abs() < 1e-6, "{program:?}");
            assert!((program.footprint_mib - 256.0).abs() < 1e-9, "{program:?}");
        }
        let curve = Program::measured("m.csv", &profile(&misses), &machine).unwrap().mpki;
        let with_four = curve.misses(2.5 * MIB * 4.0) * 1000.0;
        assert!((with_four - 10.0).abs() < 1e-9, "a way of the Gold 6138 has 2.5 MB: {with_four}");
    }

    #[test]
    fn a_machine_with_fewer_ways_is_refused() {
        let machine = find("skylake-2x20").unwrap();
        let said = Program::measured("m.csv", &profile(&[1.0; 12]), &machine).unwrap_err().to_string();
        assert!(said.contains("`NR_WAYS` goes to 12, but the LLC of the machine has 11"), "{said}");
    }

    fn any_row() -> impl Strategy<Value = Row> {
        let figures = (1e-6..1e3f64, 0.0..1e4f64, 0.0..1e6f64, 0.0..1e6f64, 0.0..1e5f64, 0.0..1.0f64);
        figures.prop_map(|(ipc, llcmpki, bandwidth_mbps, llcm_bandwidth, llc_usage_kb, stalls_l3_miss)| Row {
            ipc,
            llcmpki,
            bandwidth_mbps,
            llcm_bandwidth,
            llc_usage_kb,
            stalls_l3_miss,
            ..Row::default()
        })
    }

    proptest! {
        #[test]
        fn any_table_of_numbers_makes_a_program(rows in prop::collection::vec(any_row(), 1..16)) {
            let profile = Profile::new("a", rows).unwrap();
            match Program::measured("m.csv", &profile, &find("nehalem-2x4").unwrap()) {
                Ok(program) => prop_assert!(program.base_cpi.is_finite() && program.mlp >= 1.0),
                Err(error) => prop_assert!(error.to_string().contains("a."), "{}", error),
            }
        }
    }
}
