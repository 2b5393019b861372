//! Claims dino-4 and dino-5, from the page-migration study. Verdicts are computed, and a claim that
//! does not come out is reported as such.

use crate::reproduce::claim::{Claim, Figure, Verdict};
use crate::reproduce::options::Options;
use crate::sra::{self, PAPER_K, Spec, Strategy, Study};
use crate::stats::mean;

/// SRA in section 4.1: "as high as 74.9%".
const PAPER_SRA: f64 = 74.9;
/// How far ours may be from it, in points: traces that are made from a few sentences cannot be more
/// exact.
const SRA_BAND: f64 = 10.0;
/// The meaning of "comparable", in per cent of completion time: the deviation of the paper's runs
/// is under 6 % (section 3.2).
const COMPARABLE: f64 = 6.0;

/// The study on which both claims are based.
pub(super) fn spec(options: &Options) -> Spec {
    let spec = if options.quick { Spec { repeats: 1, ..Spec::quick() } } else { Spec::paper() };
    Spec { seed: options.seed, ..spec }
}

pub(super) fn claims(study: &Study) -> Vec<Claim> {
    vec![dino_4(study), dino_5(study)]
}

/// Means over the programs and seeds, with the samples of the paper's daemon (one in 10 ms).
fn dino_4(study: &Study) -> Claim {
    let of_seeds = |strategy: Strategy| {
        let all = study.by_seed.iter().flat_map(|row| &row.by_strategy);
        mean(all.filter(|(of, _)| *of == strategy).map(|(_, sra)| *sra))
    };
    let found: Vec<_> = Strategy::COMPARED.into_iter().filter_map(|one| Some((one, of_seeds(one)?))).collect();
    let best = found.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(strategy, _)| *strategy);
    let near = of_seeds(Strategy::ForwardBackward).is_some_and(|sra| (sra - PAPER_SRA).abs() <= SRA_BAND);
    let sampled = mean(study.sampled_percent.iter().copied());
    let words = found.iter().map(|(strategy, sra)| format!("{} {sra:.1} %", strategy.name())).collect::<Vec<_>>();
    let sampled_words = sampled.map_or_else(|| "not measured".into(), |value| format!("{value:.3} %"));
    Claim {
        id: "dino-4",
        claim: "sampling under 1 % of accesses, K = 4096 saves most remote accesses; \
                sequential-forward-backward is the best strategy",
        paper: "74.9 % SRA",
        ours: format!("SRA: {}; {sampled_words} of the accesses sampled", words.join(", ")),
        sign: Verdict::of(best == Some(Strategy::ForwardBackward)),
        size: Verdict::of(near && sampled.is_some_and(|percent| percent < 1.0)),
        band:
            "10 points of SRA: the paper's traces are not published, ours are made from what is printed about programs"
                .into(),
    }
}

/// Completion time with K = 4096 compared with that for whole resident sets: the mean over the
/// single-threaded programs, and each program whose threads share data, as the mean over the seeds.
fn dino_5(study: &Study) -> Claim {
    let alone = |k: u32| {
        let rows = study.versus.iter().filter(move |row| !row.shared && row.k == k);
        mean(rows.map(|row| row.over_whole_percent))
    };
    let comparable = |k: u32| alone(k).is_some_and(|percent| percent >= -COMPARABLE);
    let least_k = study.versus.iter().map(|row| row.k).filter(|k| comparable(*k)).min();
    let of_seeds = |name: &str| {
        let all = study.by_seed.iter().flat_map(|row| &row.shared_percent);
        mean(all.filter(|(of, _)| of == name).map(|(_, percent)| *percent))
    };
    let names = study.by_seed.iter().take(1).flat_map(|row| &row.shared_percent).map(|(name, _)| name);
    let shared: Vec<_> = names.filter_map(|name| Some((name, of_seeds(name)?))).collect();
    let better = !shared.is_empty() && shared.iter().all(|(_, percent)| *percent > 0.0);
    let words = shared.iter().map(|(name, gain)| format!("{name} {gain:+.1} %")).collect::<Vec<_>>();
    Claim {
        id: "dino-5",
        claim: "K = 4096 does as well as moving whole resident sets when they are small, and better when \
                they are large and shared",
        paper: "comparable from K = 4096 on (SPEC CPU); better (LAMP)",
        ours: format!(
            "completion time against whole resident sets: {} alone; shared: {}; comparable from K = {} on",
            alone(PAPER_K).map_or_else(|| "not measured".into(), |gain| format!("{gain:+.1} %")),
            words.join(", "),
            least_k.map_or_else(|| "none".into(), |k| k.to_string())
        ),
        sign: Verdict::of(comparable(PAPER_K) && better),
        size: Verdict::NotPrinted,
        band: "comparable = within 6 %, the deviation of the paper's runs (section 3.2); heights of its bars \
               are in figures only"
            .into(),
    }
}

pub(super) fn figures(spec: &Spec, study: &Study) -> Vec<Figure> {
    let figure =
        |(file, svg)| Figure { title: format!("Page migration (DINO, sections 4.1 and 5.2): {file}"), file, svg };
    sra::figures(spec, study).into_iter().map(figure).collect()
}
