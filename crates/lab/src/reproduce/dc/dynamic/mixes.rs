//! The 30 mixes of section VI-A on `skylake-2x20`. Each has 40 threads: two multithreaded programs,
//! and single-threaded programs for the rest.

use super::super::draw::{EIGHT, SIXTEEN, Shares, TWENTY, WorkloadRng};
use super::super::extent::Extent;
use super::super::programs::{PARALLEL, Pools};
use crate::error::LabError;
use crate::reproduce::options::Options;
use isobar_model::num;
use isobar_sim::program::{Program, shipped};
use isobar_sim::{App, Workload};
use std::fmt::Write;
use std::sync::Arc;

/// The paper's machine.
const MACHINE: &str = "skylake-2x20";
/// Longest step of the simulation. NUMA balancing checks no more often than this, and its windows
/// are longer than that on average.
const STEP: f64 = 0.5;
/// Number of mixes of a kind.
const EACH: usize = 10;

/// A kind of mix: the number of single-threaded programs with their shares of classes, and the
/// number of threads of each of the two other programs.
pub(super) struct Kind {
    singles: usize,
    shares: Shares,
    threads: u32,
}

/// M1 to M10, M11 to M20, M21 to M30.
pub(super) const KINDS: [Kind; 3] = [
    Kind { singles: 20, shares: TWENTY, threads: 10 },
    Kind { singles: 8, shares: EIGHT, threads: 16 },
    Kind { singles: 16, shares: SIXTEEN, threads: 12 },
];
/// Number of multithreaded programs of a mix.
const PAIR: usize = 2;

/// "The first 10 workloads": figure 11 and table IV.
pub(super) const FIRST: usize = EACH;

/// A mix.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    /// Its number, 1 to 30.
    pub number: usize,
    pub workload: Workload,
}

/// The mixes to run: the first ones of each kind.
pub(crate) fn mixes(extent: &Extent, options: &Options) -> Result<Vec<Mix>, LabError> {
    let library = shipped()?;
    let pools = Pools::on(&isobar_sim::machine::find(MACHINE)?, &library)?;
    let mut mixes = Vec::new();
    for (index, kind) in KINDS.iter().enumerate() {
        for place in 0..extent.mixes.min(EACH) {
            let number = index * EACH + place + 1;
            let workload =
                kind.draw(extent, WorkloadRng::new(options.seed, STREAM + u64::from(num::narrow(number))), &pools)?;
            mixes.push(Mix { number, workload: options.vary(workload)? });
        }
    }
    Ok(mixes)
}

impl Kind {
    fn draw(&self, extent: &Extent, mut dice: WorkloadRng, pools: &Pools) -> Result<Workload, LabError> {
        let minutes = extent.minutes;
        let mut text = format!(
            "machine = \"{MACHINE}\"\n[run]\nnuma_balancing = true\ninstructions_factor = \
             {minutes:?}\nstep_seconds = {STEP:?}\n"
        );
        for name in dice.programs(self.singles, self.shares, pools) {
            let _ = write!(text, "[[app]]\nprogram = \"{name}\"\n");
        }
        for name in dice.some(PAIR, &PARALLEL) {
            let _ = write!(text, "[[app]]\nprogram = \"{name}\"\nthreads = {}\n", self.threads);
        }
        let mut workload = Workload::from_toml("the mixes of Divide&Content", &text)?;
        workload.apps.iter_mut().for_each(per_thread);
        Ok(workload)
    }
}

/// Mixes draw from their own streams, separate from the static workloads.
const STREAM: u64 = 1 << 32;

/// Scales a program's run, which is written for the number of threads on another machine. The
/// instructions per thread stay the same, so that the run takes about as long here.
fn per_thread(app: &mut App) {
    let part = f64::from(app.threads) / f64::from(app.program.threads);
    let instructions_billion = app.program.instructions_billion * part;
    app.program = Arc::new(Program { instructions_billion, ..Program::clone(&app.program) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_have_forty_threads_and_as_many_programs_as_printed() {
        let options = Options { quick: false, seed: 1, jobs: 1, varied: None };
        let all = mixes(&Extent::of(&options), &options).unwrap();
        let programs: Vec<_> = all.iter().map(|mix| mix.workload.apps.len()).collect();
        assert_eq!(programs, [[22; 10], [10; 10], [18; 10]].concat());
        for mix in &all {
            assert_eq!(mix.workload.apps.iter().map(|app| app.threads).sum::<u32>(), 40, "M{}", mix.number);
            assert_eq!(mix.workload.apps.iter().filter(|app| app.threads > 1).count(), 2);
            assert!(mix.workload.run.numa_balancing && mix.workload.run.runs == 3);
        }
        assert_eq!((all[0].number, all[29].number), (1, 30));
        let memory: f64 = all[0].workload.apps.iter().map(|app| app.program.footprint_mib).sum();
        assert!(memory < 96.0 * 1024.0);
    }
}
