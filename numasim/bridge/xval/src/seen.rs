//! What the machine's counters say about a program in a run. The program has its CPU to itself, so
//! the CPU's counts are the program's. This file knows sums and rates, and does not judge them.

use isobar_model::num;
use numasim_guest::counters::Counters;
use numasim_guest::wire::Ran;
use numasim_lab::stats::median;
use serde::Serialize;

/// A program over the measured part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// Instructions executed.
    pub instructions: f64,
    /// Cycles, stalls included.
    pub cycles: f64,
    /// LLC references.
    pub references: f64,
    /// LLC misses.
    pub misses: f64,
    /// Bytes fetched from memory.
    pub read: f64,
    /// Bytes written back.
    pub written: f64,
    /// Cycles of stall, including those for LLC hits.
    pub stalled: f64,
    /// Guest seconds of the run.
    pub seconds: f64,
    /// Resident bytes.
    pub resident: Option<f64>,
    /// Median seconds of a pass by the program's own clock; `None` if there are fewer than two
    /// passes.
    pub pass: Option<f64>,
}

impl Seen {
    /// Cycles per instruction.
    #[must_use]
    pub fn cpi(&self) -> f64 {
        self.cycles / self.instructions
    }

    /// LLC misses per instruction.
    #[must_use]
    pub fn misses_per_instruction(&self) -> f64 {
        self.misses / self.instructions
    }

    /// Bytes written back for each byte fetched; 0 if nothing was fetched.
    #[must_use]
    pub fn write_back(&self) -> f64 {
        if self.read > 0.0 { self.written / self.read } else { 0.0 }
    }

    /// Bytes to and from memory per second.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        (self.read + self.written) / self.seconds
    }
}

/// The program of the job at a position, which ran on a CPU of its own.
///
/// # Errors
/// The run does not count; the reason.
pub fn seen(ran: &Ran, job: usize, cpu: u32, clock_hz: f64) -> Result<Seen, String> {
    let wrong = |why: &str| format!("{}: {why}", ran.id);
    if let Some(problem) = ran.problem.as_deref().or_else(|| ran.jobs.get(job).and_then(|job| job.problem.as_deref())) {
        return Err(wrong(problem));
    }
    let counters: &Counters =
        ran.counters.as_ref().ok_or_else(|| wrong("it has no counters: is the plugin loaded?"))?;
    let counts = counters.cpus.get(num::index(cpu)).ok_or_else(|| wrong(&format!("CPU {cpu} was not counted")))?;
    if counts.instructions == 0 || counts.cycles == 0 || counters.time_ns == 0 {
        return Err(wrong(&format!("CPU {cpu} counted nothing")));
    }
    let job = ran.jobs.get(job);
    Ok(Seen {
        instructions: num::float(counts.instructions),
        cycles: num::float(counts.cycles),
        references: num::float(counts.llc_references),
        misses: num::float(counts.llc_misses),
        read: num::float(counts.bytes_read),
        written: num::float(counts.bytes_written),
        stalled: num::float(counts.stall_ps) * 1e-12 * clock_hz,
        seconds: num::float(counters.time_ns) * 1e-9,
        resident: job.and_then(|job| job.pages.as_ref()).map(|[_, last]| 4096.0 * num::float(last.iter().sum())),
        pass: job.and_then(|job| job.line.as_ref()).and_then(median_pass),
    })
}

/// The median of the passes in a program's line, which lists the first 64.
fn median_pass(line: &serde_json::Value) -> Option<f64> {
    let passes: Vec<f64> = line.get("passes")?.as_array()?.iter().filter_map(serde_json::Value::as_f64).collect();
    median(&passes).filter(|_| passes.len() > 1)
}

/// The mean seconds of all passes of a program by its own clock; `None` if there are fewer than
/// two.
#[must_use]
pub fn mean_pass(line: &serde_json::Value) -> Option<f64> {
    let [seconds, passes] = ["seconds", "passes_done"].map(|name| line.get(name).and_then(serde_json::Value::as_f64));
    Some(seconds? / passes.filter(|passes| *passes > 1.0)?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use numasim_guest::counters::Cpu;
    use numasim_guest::wire::JobRan;
    use serde_json::json;
    use std::collections::BTreeMap;

    /// A run of a job on CPU 0: 1000 instructions, 3000 cycles, 50 misses of 80 references, 3200
    /// bytes read and 800 written in 1 ms.
    pub fn ran() -> Ran {
        let cpu = Cpu {
            instructions: 1000,
            cycles: 3000,
            llc_references: 80,
            llc_misses: 50,
            bytes_read: 3200,
            bytes_written: 800,
            stall_ps: 20_000_000,
            ..Cpu::default()
        };
        let job = JobRan {
            name: "a@0".to_owned(),
            background: true,
            line: Some(json!({"passes": [0.3, 0.1, 0.2, 0.9]})),
            problem: None,
            migrations: None,
            pages: Some([vec![1, 0], vec![10, 2]]),
        };
        let counters = Counters { time_ns: 1_000_000, cpus: vec![cpu], ..Counters::default() };
        let (id, vmstat) = ("mix/a".to_owned(), BTreeMap::new());
        Ran {
            id,
            jobs: vec![job],
            seconds: 1e-3,
            problem: None,
            counters: Some(counters),
            vmstat,
            daemon: None,
            before: None,
        }
    }

    /// 3000 / 1000 cycles per instruction; 800 / 3200 bytes written back; 4000 bytes in 1 ms; 20 us
    /// at 100 MHz are 2000 cycles; 12 pages of 4 KiB.
    #[test]
    fn rates_by_hand() {
        let seen = seen(&ran(), 0, 0, 100e6).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
        near(seen.cpi(), 3.0);
        near(seen.misses_per_instruction(), 0.05);
        near(seen.write_back(), 0.25);
        near(seen.bandwidth(), 4e6);
        near(seen.stalled, 2000.0);
        assert_eq!((seen.resident, seen.pass), (Some(49152.0), Some(0.25)));
    }

    #[test]
    fn what_did_not_count_is_told() {
        let broken = |change: &dyn Fn(&mut Ran)| {
            let mut ran = ran();
            change(&mut ran);
            seen(&ran, 0, 0, 1e8).unwrap_err()
        };
        assert_eq!(broken(&|ran| ran.problem = Some("late".to_owned())), "mix/a: late");
        assert_eq!(broken(&|ran| ran.jobs[0].problem = Some("gone".to_owned())), "mix/a: gone");
        assert!(broken(&|ran| ran.counters = None).contains("no counters"));
        assert!(broken(&|ran| ran.counters.as_mut().unwrap().cpus.clear()).contains("CPU 0 was not counted"));
        assert!(broken(&|ran| ran.counters.as_mut().unwrap().cpus[0].instructions = 0).contains("counted nothing"));
    }
}
