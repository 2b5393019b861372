//! What the paper claims of page migration, beside what the study found. Verdicts are computed; a
//! claim that does not come out says so.

use super::rows::{Cell, ProgramRow, SeedRow, Versus};
use super::spec::PAPER_K;
use super::strategy::Strategy;
use crate::stats::mean;
use serde::Serialize;

/// SRA in section 4.1: "as high as 74.9%".
const PAPER_SRA: f64 = 74.9;
/// How far ours may lie from it, in points: traces that were made from a few sentences show no
/// more.
const SRA_BAND: f64 = 10.0;
/// What "comparable" may mean, in per cent of completion time: the deviation of the paper's runs is
/// under 6 % (section 3.2).
const COMPARABLE: f64 = 6.0;

/// Claim dino-4: sampling under 1 % of accesses, K = 4096: about 75 % SRA;
/// sequential-forward-backward beats the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dino4 {
    /// The paper's SRA in per cent.
    pub paper_sra_percent: f64,
    /// Ours: mean over the programs and seeds, with the samples of the paper's daemon (one in 10
    /// ms).
    pub sra_percent: Option<f64>,
    /// The part of the accesses that these samples are, in per cent, the mean over the programs.
    pub sampled_percent: Option<f64>,
    /// Ours by strategy, with the same K and samples.
    pub by_strategy: Vec<(Strategy, f64)>,
    /// Ours by the part of the accesses that is sampled.
    pub by_rate: Vec<(f64, f64)>,
    /// The strategy with the highest SRA.
    pub best: Option<Strategy>,
    /// SRA of forward-backward above that of the best other strategy, in points, for each seed.
    pub margins: Vec<f64>,
    /// Whether forward-backward is the best strategy: in the mean over the seeds.
    pub sign_agrees: bool,
    /// Whether our SRA is within 10 points of the paper's, with under 1 % of the accesses sampled.
    pub size_agrees: bool,
}

/// Claim dino-5: K = 4096 does as well as whole resident sets when they are small, better when they
/// are large and shared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dino5 {
    /// Completion time with K = 4096 over that with whole resident sets, improvement in per cent:
    /// mean over single-threaded programs.
    pub alone_percent: Option<f64>,
    /// The same for each program whose threads share data: mean over the seeds.
    pub shared_percent: Vec<(String, f64)>,
    /// The lowest K with which single-threaded programs are comparable (within 6 %) to whole
    /// resident sets.
    pub least_k: Option<u32>,
    /// Whether K = 4096 is comparable for single-threaded programs.
    pub comparable: bool,
    /// Whether K = 4096 is better for every program whose threads share data.
    pub better_when_shared: bool,
}

pub(super) fn claims(seeds: &[SeedRow], means: &[Cell], versus: &[Versus], programs: &[ProgramRow]) -> (Dino4, Dino5) {
    (dino_4(seeds, means, programs), dino_5(seeds, versus))
}

fn dino_4(seeds: &[SeedRow], means: &[Cell], programs: &[ProgramRow]) -> Dino4 {
    let over_seeds = |strategy| mean(seeds.iter().filter_map(|row| sra_of(row, strategy)));
    let by_strategy: Vec<_> =
        Strategy::COMPARED.into_iter().filter_map(|strategy| Some((strategy, over_seeds(strategy)?))).collect();
    let ours = |cell: &&Cell| cell.k == PAPER_K && cell.strategy == Strategy::ForwardBackward;
    let by_rate = means.iter().filter(ours).filter_map(|cell| Some((cell.rate?, cell.sra_percent))).collect();
    let best = by_strategy.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(strategy, _)| *strategy);
    let sra_percent = over_seeds(Strategy::ForwardBackward);
    let sampled_percent = mean(programs.iter().filter(|row| row.threads == 1).map(|row| row.sampled_percent));
    let near = sra_percent.is_some_and(|sra| (sra - PAPER_SRA).abs() <= SRA_BAND);
    Dino4 {
        paper_sra_percent: PAPER_SRA,
        sra_percent,
        sampled_percent,
        by_rate,
        best,
        margins: seeds.iter().filter_map(margin).collect(),
        sign_agrees: best == Some(Strategy::ForwardBackward),
        size_agrees: near && sampled_percent.is_some_and(|percent| percent < 1.0),
        by_strategy,
    }
}

fn sra_of(row: &SeedRow, strategy: Strategy) -> Option<f64> {
    row.by_strategy.iter().find(|(of, _)| *of == strategy).map(|(_, sra)| *sra)
}

fn margin(row: &SeedRow) -> Option<f64> {
    let others = row.by_strategy.iter().filter(|(of, _)| *of != Strategy::ForwardBackward).map(|(_, sra)| *sra);
    Some(sra_of(row, Strategy::ForwardBackward)? - others.max_by(f64::total_cmp)?)
}

fn dino_5(seeds: &[SeedRow], versus: &[Versus]) -> Dino5 {
    let alone = |k: u32| {
        let rows = versus.iter().filter(move |row| !row.shared && row.k == Some(k));
        mean(rows.map(|row| row.over_whole_percent))
    };
    let mut ks: Vec<u32> = versus.iter().filter_map(|row| row.k).collect();
    ks.sort_unstable();
    ks.dedup();
    let comparable = |k: u32| alone(k).is_some_and(|percent| percent >= -COMPARABLE);
    let names = seeds.iter().take(1).flat_map(|row| row.shared_percent.iter().map(|(name, _)| name));
    let over_seeds = |name: &String| {
        let rows = seeds.iter().flat_map(|row| &row.shared_percent).filter(|(of, _)| of == name);
        mean(rows.map(|(_, percent)| *percent)).map(|percent| (name.clone(), percent))
    };
    let shared: Vec<_> = names.filter_map(over_seeds).collect();
    Dino5 {
        alone_percent: alone(PAPER_K),
        least_k: ks.into_iter().find(|k| comparable(*k)),
        comparable: comparable(PAPER_K),
        better_when_shared: !shared.is_empty() && shared.iter().all(|(_, percent)| *percent > 0.0),
        shared_percent: shared,
    }
}
