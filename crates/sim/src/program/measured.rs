//! From a measured table to a program of the model.
//!
//! ```text
//! CPI without misses + misses per instruction * stall per miss = CPI     for each way count, as measured
//! ```
//!
//! The stall per miss is the slope of the line through these points where space changes misses by a fifth or more; else what the
//! stall counter shows with all ways. The line is then laid through the point of all ways, so that the program alone runs as
//! measured. Misses by space are the table itself ([`MissCurve::Measured`]).

use super::{MeasuredTable, Row};
use crate::error::SimError;
use crate::machine::MachineSpec;
use crate::program::{LEAST_CPI, MissCurve, Program};
use isobar_model::num;

const MIB: f64 = 1_048_576.0;
/// A program whose misses vary less than this over the ways does not show what a miss costs.
const LEAST_SPREAD: f64 = 0.2;
/// More misses in flight than any core sustains.
const MOST_MLP: f64 = 64.0;
/// Lines written or prefetched for each line that a program waits for: more is a fault of the monitor.
const MOST_WRITE_BACK: f64 = 4.0;
/// A program that fills less than this part of the cache needs no more than it fills.
const FULL: f64 = 0.9;
/// Fewer misses per 1000 instructions than this are none.
const NOTHING: f64 = 0.01;
/// A base page.
const PAGE_MIB: f64 = 1.0 / 256.0;
/// Memory of a program that fills the cache, in MiB: the table does not tell ("in hundreds of megabytes", DINO 5.2).
const LARGE_MIB: f64 = 256.0;
/// What the tables cover: the first 150 billion instructions (Divide&Content, IV-A).
const INSTRUCTIONS_BILLION: f64 = 150.0;

impl MeasuredTable {
    /// A program of the table, for the model; `machine` is the one it was measured on: its LLC gives the size of a way, its clock and
    /// its local latency tell how many misses overlap.
    ///
    /// # Errors
    /// [`SimError::Unknown`] for a name that the table lacks, [`SimError::Value`] where the machine has fewer ways than the table.
    pub fn program(&self, name: &str, machine: &MachineSpec) -> Result<Program, SimError> {
        let names: Vec<_> = self.names().collect();
        let rows = self.rows(name).ok_or_else(|| SimError::unknown(&self.file, "BENCH", "program", name, &names))?;
        let (way_mib, llc_mib) = self.ways(rows, machine)?;
        let latency = machine.latency.first().and_then(|row| row.first()).copied().unwrap_or_default() * machine.hertz;
        let (all, mlp) = (rows[rows.len() - 1], (latency / stall(rows, latency)).clamp(1.0, MOST_MLP));
        let by_ways: Vec<_> = rows.iter().map(|row| row.llcmpki).collect();
        let curve = MissCurve::measured(way_mib, &by_ways);
        let program = Program {
            name: name.to_owned(),
            instructions_billion: INSTRUCTIONS_BILLION,
            base_cpi: (1.0 / all.ipc - all.llcmpki / 1000.0 * latency / mlp).max(LEAST_CPI),
            footprint_mib: footprint_mib(all, llc_mib, &curve),
            mpki: curve,
            mlp,
            write_back: write_back(rows),
            touch_share: 0.0,
            hot_pages: super::super::hot_pages(),
            hot_accesses: super::super::hot_accesses(),
            threads: 1,
            shared: 0.0,
            phase: Vec::new(),
        };
        program.validate(&self.file)?;
        Ok(program)
    }

    /// MiB of a way and of the whole cache.
    fn ways(&self, rows: &[Row], machine: &MachineSpec) -> Result<(f64, f64), SimError> {
        let llc = machine.topology.llcs().first().and_then(|llc| Some((llc.size?.0, llc.ways?.0)));
        let (bytes, ways) = llc.unwrap_or_default();
        if num::index(ways) < rows.len() {
            let problem =
                format!("goes to {}; the LLC of the machine has {ways}: name the machine of the table", rows.len());
            return Err(SimError::value(&self.file, "NR_WAYS", problem));
        }
        let mib = num::float(bytes) / MIB;
        Ok((mib / f64::from(ways), mib))
    }
}

/// Cycles that a miss stalls the program, overlap included; `latency` where the table does not tell.
fn stall(rows: &[Row], latency: f64) -> f64 {
    let all = rows[rows.len() - 1];
    let counted = all.stalls_l3_miss / all.ipc * 1000.0 / all.llcmpki;
    let candidates = [slope(rows), Some(counted)];
    candidates.into_iter().flatten().find(|stall| stall.is_finite() && *stall > 0.0).unwrap_or(latency)
}

/// Least squares through (misses per instruction, CPI); `None` where misses hardly vary.
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

/// Traffic beyond the misses, over all ways.
fn write_back(rows: &[Row]) -> f64 {
    let (seen, missed) =
        rows.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.bandwidth_mbps, sum.1 + row.llcm_bandwidth));
    if missed > 0.0 { (seen / missed - 1.0).clamp(0.0, MOST_WRITE_BACK) } else { 0.0 }
}

/// What the program fills of a cache that it does not fill, provided that more space saves nothing; else the table does not tell.
fn footprint_mib(all: Row, llc_mib: f64, curve: &MissCurve) -> f64 {
    let used = all.llc_usage_kb / 1024.0;
    let saved = 1000.0 * (curve.misses(used * MIB) - curve.misses(llc_mib * MIB));
    if used > 0.0 && used < FULL * llc_mib && saved <= NOTHING { used.max(PAGE_MIB) } else { LARGE_MIB.max(llc_mib) }
}
