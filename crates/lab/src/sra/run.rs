//! A study, program by program: one pass over a program's trace serves every strategy, K and
//! sampling rate.

use super::claims::{Dino4, Dino5, claims};
use super::error::SraError;
use super::replay::{Counts, Group, Mover, Replayed, Tally, replay, signed};
use super::rows::{Cell, OverTime, ProgramRow, SeedRow, Versus};
use super::spec::{PAPER_K, Spec};
use super::strategy::{Strategy, Trigger};
use super::subject::{Subject, subjects};
use isobar_model::num;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;

/// Bytes of a base page.
const PAGE: f64 = 4096.0;
/// Pages that the walk over a resident set asks for at a time; small against a resident set, large
/// against a call.
const CHUNK: u32 = 64;
/// Parts of the trace after which the SRA so far is looked at.
const STOPS: [f64; 3] = [0.1, 0.2, 0.5];

/// The results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The request.
    pub spec: Spec,
    /// The programs.
    pub programs: Vec<ProgramRow>,
    /// SRA of single-threaded programs.
    pub cells: Vec<Cell>,
    /// Means of the cells over the programs: the unweighted mean, as the paper's "on average".
    pub means: Vec<Cell>,
    /// Mean SRA over the programs with the paper's K and the daemon's samples, by seed.
    pub by_seed: Vec<SeedRow>,
    /// Mean SRA of the forward-backward strategy with the paper's K and the daemon's samples, by
    /// time after the move.
    pub over_time: Vec<OverTime>,
    /// K against moving whole resident sets, with a daemon that takes its time.
    pub versus: Vec<Versus>,
    /// Claim dino-4.
    pub dino_4: Dino4,
    /// Claim dino-5.
    pub dino_5: Dino5,
}

/// Runs the study.
///
/// # Errors
/// [`SraError`] for a program that is not known or a value that cannot be.
pub fn study(spec: &Spec) -> Result<Study, SraError> {
    spec.validate()?;
    let alone = subjects(&spec.programs, spec)?;
    let shared = subjects(&spec.shared, spec)?;
    let mut found = Found::default();
    alone.iter().try_for_each(|subject| found.program(spec, subject))?;
    shared.iter().try_for_each(|subject| found.shared(spec, subject))?;
    let means = means(&found.cells);
    let over_time = over_time(spec, &found.on_the_way, alone.len());
    let by_seed = by_seed(spec, (&alone, &shared), (&means, &found.versus))?;
    let (dino_4, dino_5) = claims(&by_seed, &means, &found.versus, &found.programs);
    let Found { programs, cells, versus, .. } = found;
    Ok(Study { spec: spec.clone(), programs, cells, means, by_seed, over_time, versus, dino_4, dino_5 })
}

/// What has been found so far.
#[derive(Default)]
struct Found {
    programs: Vec<ProgramRow>,
    cells: Vec<Cell>,
    versus: Vec<Versus>,
    /// Sum of SRA over the programs at each stop and at the end.
    on_the_way: [f64; STOPS.len() + 1],
}

impl Found {
    /// A single-threaded program: the strategies with the daemon's samples and at every rate, then
    /// K against the resident set.
    fn program(&mut self, spec: &Spec, subject: &Subject) -> Result<(), SraError> {
        let mut rates = vec![(None, spec.all_ks())];
        rates.extend(spec.rates.iter().map(|rate| (Some(*rate), spec.all_ks())));
        let mut groups: Vec<Group> = rates.iter().map(|(rate, ks)| compared(spec, subject, *rate, ks)).collect();
        groups.extend(against_whole(spec, subject));
        let done = run(spec, subject, &mut groups)?;
        self.row(spec, subject);
        for ((rate, ks), tallies) in rates.iter().zip(&done.end) {
            self.cells.extend(each(ks).zip(tallies).filter_map(|(of, tally)| cell(subject, of, *rate, tally)));
        }
        self.time(spec, &done);
        self.versus.extend(versus(spec, subject, &done.end[rates.len()..]));
        Ok(())
    }

    /// A program whose threads share data.
    fn shared(&mut self, spec: &Spec, subject: &Subject) -> Result<(), SraError> {
        let done = run(spec, subject, &mut against_whole(spec, subject))?;
        self.row(spec, subject);
        self.versus.extend(versus(spec, subject, &done.end));
        Ok(())
    }

    fn row(&mut self, spec: &Spec, subject: &Subject) {
        self.programs.push(ProgramRow {
            name: subject.name.clone(),
            threads: subject.recipe.threads,
            pages: subject.recipe.pages(),
            accesses: subject.recipe.accesses,
            sampled_percent: 100.0 / daemon_period(spec, subject),
        });
    }

    fn time(&mut self, spec: &Spec, done: &Replayed) {
        let paper = each(&spec.all_ks()).position(|of| of == (Strategy::ForwardBackward, PAPER_K));
        let stops = done.on_the_way.iter().chain(done.end.first());
        let seen = stops.map(|tallies| paper.and_then(|at| tallies.get(at)).and_then(Tally::sra));
        self.on_the_way.iter_mut().zip(seen).for_each(|(sum, sra)| *sum += sra.unwrap_or(0.0));
    }
}

/// Every strategy with every K, in the order in which cells and movers stand.
fn each(ks: &[u32]) -> impl Iterator<Item = (Strategy, u32)> {
    Strategy::COMPARED.into_iter().flat_map(move |strategy| ks.iter().map(move |k| (strategy, *k)))
}

fn run(spec: &Spec, subject: &Subject, groups: &mut [Group]) -> Result<Replayed, SraError> {
    let trace = subject.recipe.trace(spec.seed)?;
    let mut counts = Counts::new(subject.recipe.pages(), trace.clone());
    let stops = STOPS.map(|part| num::round(num::float(subject.recipe.accesses) * part));
    Ok(replay(trace, subject.recipe.threads, &mut counts, groups, &stops))
}

/// Accesses from one sample of the daemon to its next.
fn daemon_period(spec: &Spec, subject: &Subject) -> f64 {
    (subject.accesses_per_second * spec.timing.daemon_seconds).max(1.0)
}

/// The compared strategies at a rate, their pages moving at once.
fn compared(spec: &Spec, subject: &Subject, rate: Option<f64>, ks: &[u32]) -> Group {
    let period = rate.map_or_else(|| daemon_period(spec, subject), |rate| 1.0 / rate);
    let movers = each(ks).map(|(strategy, k)| mover(spec, subject, strategy, k, spec.trigger)).collect();
    Group::every(period, spec.seed, movers)
}

/// Forward-backward with every K, and a walk over the resident set, by a daemon that copies a page
/// after the other.
fn against_whole(spec: &Spec, subject: &Subject) -> Vec<Group> {
    let copy = PAGE / spec.timing.copy_bytes_per_second * subject.accesses_per_second;
    let ks = spec.all_ks().into_iter();
    let windows = ks.map(|k| mover(spec, subject, Strategy::ForwardBackward, k, spec.trigger).copying(copy)).collect();
    let whole = mover(spec, subject, Strategy::ResidentSet, CHUNK, Trigger::Any);
    let steps = (1..u64::MAX).map(move |step| num::floor(num::float(step) * f64::from(CHUNK) * copy));
    vec![Group::every(daemon_period(spec, subject), spec.seed, windows), Group::new(steps, vec![whole])]
}

/// The random pages of a strategy depend on the seed and on K alone, so that adding another K
/// changes nothing.
fn mover(spec: &Spec, subject: &Subject, strategy: Strategy, k: u32, trigger: Trigger) -> Mover {
    let rng = ChaCha8Rng::seed_from_u64(spec.seed ^ (u64::from(k) << 32));
    Mover::new(strategy, k, trigger, subject.recipe.pages(), rng)
}

fn cell(subject: &Subject, (strategy, k): (Strategy, u32), rate: Option<f64>, tally: &Tally) -> Option<Cell> {
    let (moves, wasted) = (num::float(tally.moves), num::float(tally.wasted));
    let program = Some(subject.name.clone());
    Some(Cell { program, strategy, k, rate, sra_percent: tally.sra()?, moves, wasted })
}

/// The rows of a program: each K, then the whole resident set.
fn versus(spec: &Spec, subject: &Subject, tallies: &[Vec<Tally>]) -> Vec<Versus> {
    let seconds = |tally: &Tally| subject.thread_seconds(signed(tally.remote), num::float(tally.moves), &spec.timing);
    let Some(whole) = tallies.get(1).and_then(|group| group.first()) else { return Vec::new() };
    let row = |(k, tally): (Option<u32>, &Tally)| {
        let still = subject.thread_seconds(num::float(tally.unmoved), 0.0, &spec.timing);
        Some(Versus {
            program: subject.name.clone(),
            shared: subject.recipe.threads > 1,
            k,
            sra_percent: tally.sra()?,
            moves: tally.moves,
            wasted: tally.wasted,
            gain_percent: 100.0 * (1.0 - seconds(tally) / still),
            over_whole_percent: 100.0 * (1.0 - seconds(tally) / seconds(whole)),
        })
    };
    let by_k = spec.all_ks().into_iter().map(Some).zip(&tallies[0]);
    by_k.chain([(None, whole)]).filter_map(row).collect()
}

/// Means over the programs, in the order of the first program's cells.
fn means(cells: &[Cell]) -> Vec<Cell> {
    let Some(first) = cells.first() else { return Vec::new() };
    let heads = cells.iter().take_while(|cell| cell.program == first.program);
    let mean = |head: &Cell| {
        let same = |cell: &&Cell| (cell.strategy, cell.k, cell.rate) == (head.strategy, head.k, head.rate);
        let alike: Vec<_> = cells.iter().filter(same).collect();
        let mean = |read: fn(&Cell) -> f64| {
            alike.iter().map(|cell| read(cell)).sum::<f64>() / num::float_len(alike.len().max(1))
        };
        Cell {
            program: None,
            sra_percent: mean(|cell| cell.sra_percent),
            moves: mean(|cell| cell.moves),
            wasted: mean(|cell| cell.wasted),
            ..head.clone()
        }
    };
    heads.map(mean).collect()
}

/// What the claims rest on, by seed: the first seed's is done, the others need the paper's K and
/// the daemon's samples only.
fn by_seed(
    spec: &Spec,
    (alone, shared): (&[Subject], &[Subject]),
    (means, versus): (&[Cell], &[Versus]),
) -> Result<Vec<SeedRow>, SraError> {
    let wanted = means.iter().filter(|cell| cell.k == PAPER_K && cell.rate.is_none());
    let by_strategy = wanted.map(|cell| (cell.strategy, cell.sra_percent)).collect();
    let first = SeedRow { seed: spec.seed, by_strategy, shared_percent: over_whole(versus) };
    let others = (1..spec.repeats).map(|repeat| {
        let spec = Spec { seed: spec.seed.wrapping_add(repeat), ks: Vec::new(), ..spec.clone() };
        one_seed(&spec, alone, shared)
    });
    std::iter::once(Ok(first)).chain(others).collect()
}

/// The paper's K against the resident set, for each program whose threads share.
fn over_whole(versus: &[Versus]) -> Vec<(String, f64)> {
    let wanted = versus.iter().filter(|row| row.shared && row.k == Some(PAPER_K));
    wanted.map(|row| (row.program.clone(), row.over_whole_percent)).collect()
}

fn one_seed(spec: &Spec, alone: &[Subject], shared: &[Subject]) -> Result<SeedRow, SraError> {
    let mut sums = [0.0; Strategy::COMPARED.len()];
    for subject in alone {
        let mut groups = [compared(spec, subject, None, &[PAPER_K])];
        let trace = subject.recipe.trace(spec.seed)?;
        let mut counts = Counts::once(subject.recipe.pages());
        let done = replay(trace, subject.recipe.threads, &mut counts, &mut groups, &[]);
        let sra = done.end[0].iter().map(|tally| tally.sra().unwrap_or(0.0));
        sums.iter_mut().zip(sra).for_each(|(sum, sra)| *sum += sra);
    }
    let mean = |sum: f64| sum / num::float_len(alone.len().max(1));
    let mut rows = Vec::new();
    for subject in shared {
        rows.extend(versus(spec, subject, &run(spec, subject, &mut against_whole(spec, subject))?.end));
    }
    let by_strategy = Strategy::COMPARED.into_iter().zip(sums.map(mean)).collect();
    Ok(SeedRow { seed: spec.seed, by_strategy, shared_percent: over_whole(&rows) })
}

fn over_time(spec: &Spec, sums: &[f64], programs: usize) -> Vec<OverTime> {
    let parts = STOPS.into_iter().chain([1.0]).zip(sums);
    let at = |(part, sum): (f64, &f64)| OverTime {
        seconds: part * spec.seconds,
        sra_percent: sum / num::float_len(programs.max(1)),
    };
    parts.map(at).collect()
}
