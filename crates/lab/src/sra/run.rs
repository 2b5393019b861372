//! Runs a study, program by program: one pass over a program's trace serves every strategy, K and
//! sampling rate.

use super::replay::{Group, Mover, Tally, replay, signed};
use super::rows::{Cell, SeedRow, Versus};
use super::spec::{COPY_BYTES_PER_SECOND, DAEMON_SECONDS, PAPER_K, Spec};
use super::strategy::Strategy;
use super::subject::{Subject, subjects};
use crate::error::LabError;
use crate::stats::mean_or_zero;
use isobar_model::num;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Bytes of a base page.
const PAGE: f64 = 4096.0;
/// Number of pages that the walk over a resident set asks for at a time: small compared with a
/// resident set, large compared with the cost of a call.
const CHUNK: u32 = 64;

/// The results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Fraction of the accesses of each single-threaded program that the daemon samples, in per
    /// cent.
    pub sampled_percent: Vec<f64>,
    /// SRA of single-threaded programs.
    pub cells: Vec<Cell>,
    /// Means of the cells over the programs: the unweighted mean, like the paper's "on average".
    pub means: Vec<Cell>,
    /// Mean SRA over the programs with the paper's K and the daemon's samples, by seed.
    pub by_seed: Vec<SeedRow>,
    /// K compared with moving whole resident sets, with a daemon whose copies take time.
    pub versus: Vec<Versus>,
}

/// Runs the study.
///
/// # Errors
/// [`LabError`] for a program that is unknown or not described.
pub fn study(spec: &Spec) -> Result<Study, LabError> {
    let alone = subjects(&spec.programs, spec)?;
    let shared = subjects(&spec.shared, spec)?;
    let mut study = Study::default();
    alone.iter().try_for_each(|subject| study.program(spec, subject))?;
    for subject in &shared {
        study.versus.extend(versus(spec, subject, &run(spec, subject, against_whole(spec, subject))?));
    }
    study.means = means(&study.cells);
    study.by_seed = study.by_seed(spec, &alone, &shared)?;
    Ok(study)
}

impl Study {
    /// Runs a single-threaded program: the strategies with the daemon's samples and at every rate,
    /// then K compared with the resident set.
    fn program(&mut self, spec: &Spec, subject: &Subject) -> Result<(), LabError> {
        let ks = spec.all_ks();
        let rates: Vec<_> = std::iter::once(None).chain(spec.rates.iter().copied().map(Some)).collect();
        let mut groups: Vec<Group> = rates.iter().map(|rate| compared(spec, subject, *rate, &ks)).collect();
        groups.extend(against_whole(spec, subject));
        let done = run(spec, subject, groups)?;
        self.sampled_percent.push(100.0 / daemon_period(subject));
        for (rate, tallies) in rates.iter().zip(&done) {
            self.cells.extend(each(&ks).zip(tallies).filter_map(|(of, tally)| cell(subject, of, *rate, tally)));
        }
        self.versus.extend(versus(spec, subject, &done[rates.len()..]));
        Ok(())
    }

    /// The figures on which the claims are based, by seed. The first seed has been run already; the
    /// others need only the paper's K and the daemon's samples.
    fn by_seed(&self, spec: &Spec, alone: &[Subject], shared: &[Subject]) -> Result<Vec<SeedRow>, LabError> {
        let wanted = self.means.iter().filter(|cell| cell.k == PAPER_K && cell.rate.is_none());
        let by_strategy = wanted.map(|cell| (cell.strategy, cell.sra_percent)).collect();
        let first = SeedRow { by_strategy, shared_percent: over_whole(&self.versus) };
        let others = (1..spec.repeats).map(|repeat| {
            let spec = Spec { seed: spec.seed.wrapping_add(repeat), ks: Vec::new(), ..spec.clone() };
            one_seed(&spec, alone, shared)
        });
        std::iter::once(Ok(first)).chain(others).collect()
    }
}

/// Every strategy with every K, in the order of the cells and movers.
fn each(ks: &[u32]) -> impl Iterator<Item = (Strategy, u32)> {
    Strategy::COMPARED.into_iter().flat_map(move |strategy| ks.iter().map(move |k| (strategy, *k)))
}

fn run(spec: &Spec, subject: &Subject, mut groups: Vec<Group>) -> Result<Vec<Vec<Tally>>, LabError> {
    let trace = subject.recipe.trace(spec.seed)?;
    Ok(replay(trace, subject.recipe.threads, subject.recipe.pages(), &mut groups))
}

/// Number of accesses from one sample of the daemon to the next.
fn daemon_period(subject: &Subject) -> f64 {
    (subject.accesses_per_second * DAEMON_SECONDS).max(1.0)
}

/// The compared strategies at a sampling rate, with pages that move at once.
fn compared(spec: &Spec, subject: &Subject, rate: Option<f64>, ks: &[u32]) -> Group {
    let period = rate.map_or_else(|| daemon_period(subject), |rate| 1.0 / rate);
    let movers = each(ks).map(|(strategy, k)| mover(spec, subject, strategy, k)).collect();
    Group::every(period, spec.seed, movers)
}

/// Forward-backward with every K, and a walk over the resident set, by a daemon that copies one
/// page after the other.
fn against_whole(spec: &Spec, subject: &Subject) -> Vec<Group> {
    let copy = PAGE / COPY_BYTES_PER_SECOND * subject.accesses_per_second;
    let ks = spec.all_ks().into_iter();
    let windows = ks.map(|k| mover(spec, subject, Strategy::ForwardBackward, k).copying(copy)).collect();
    let whole = mover(spec, subject, Strategy::ResidentSet, CHUNK);
    let steps = (1..u64::MAX).map(move |step| num::floor(num::float(step) * f64::from(CHUNK) * copy));
    vec![Group::every(daemon_period(subject), spec.seed, windows), Group::new(steps, vec![whole])]
}

/// The random pages of a strategy depend only on the seed and on K, so adding another K changes
/// nothing.
fn mover(spec: &Spec, subject: &Subject, strategy: Strategy, k: u32) -> Mover {
    let rng = ChaCha8Rng::seed_from_u64(spec.seed ^ (u64::from(k) << 32));
    Mover::new(strategy, k, subject.recipe.pages(), rng)
}

fn cell(subject: &Subject, (strategy, k): (Strategy, u32), rate: Option<f64>, tally: &Tally) -> Option<Cell> {
    Some(Cell { program: Some(subject.name.clone()), strategy, k, rate, sra_percent: tally.sra()? })
}

/// The rows of a program, one for each K.
fn versus(spec: &Spec, subject: &Subject, tallies: &[Vec<Tally>]) -> Vec<Versus> {
    let seconds = |tally: &Tally| subject.thread_seconds(signed(tally.remote), num::float(tally.moves));
    let [windows, whole] = tallies else { return Vec::new() };
    let row = |(k, tally): (u32, &Tally)| Versus {
        program: subject.name.clone(),
        shared: subject.recipe.threads > 1,
        k,
        over_whole_percent: 100.0 * (1.0 - seconds(tally) / seconds(&whole[0])),
    };
    spec.all_ks().into_iter().zip(windows).filter(|(_, tally)| tally.unmoved > 0).map(row).collect()
}

/// Means over the programs, in the order of the first program's cells.
fn means(cells: &[Cell]) -> Vec<Cell> {
    let Some(first) = cells.first() else { return Vec::new() };
    let heads = cells.iter().take_while(|cell| cell.program == first.program);
    let mean = |head: &Cell| {
        let same = |cell: &&Cell| (cell.strategy, cell.k, cell.rate) == (head.strategy, head.k, head.rate);
        let sra_percent = mean_or_zero(cells.iter().filter(same).map(|cell| cell.sra_percent));
        Cell { program: None, sra_percent, ..head.clone() }
    };
    heads.map(mean).collect()
}

/// The paper's K compared with the resident set, for each program whose threads share data.
fn over_whole(versus: &[Versus]) -> Vec<(String, f64)> {
    let wanted = versus.iter().filter(|row| row.shared && row.k == PAPER_K);
    wanted.map(|row| (row.program.clone(), row.over_whole_percent)).collect()
}

fn one_seed(spec: &Spec, alone: &[Subject], shared: &[Subject]) -> Result<SeedRow, LabError> {
    let mut sums = [0.0; Strategy::COMPARED.len()];
    for subject in alone {
        let done = run(spec, subject, vec![compared(spec, subject, None, &[PAPER_K])])?;
        let sra = done[0].iter().map(|tally| tally.sra().unwrap_or(0.0));
        sums.iter_mut().zip(sra).for_each(|(sum, sra)| *sum += sra);
    }
    let mean = |sum: f64| sum / num::float_len(alone.len().max(1));
    let mut rows = Vec::new();
    for subject in shared {
        rows.extend(versus(spec, subject, &run(spec, subject, against_whole(spec, subject))?));
    }
    let by_strategy = Strategy::COMPARED.into_iter().zip(sums.map(mean)).collect();
    Ok(SeedRow { by_strategy, shared_percent: over_whole(&rows) })
}
