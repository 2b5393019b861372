//! Claims dino-4 and dino-5, from the page-migration study.

use crate::reproduce::claim::{Claim, Figure, Verdict};
use crate::reproduce::options::Options;
use crate::sra::{self, Spec, Study};

/// The study behind both claims.
pub(super) fn spec(options: &Options) -> Spec {
    let spec = if options.quick { Spec { repeats: 1, ..Spec::quick() } } else { Spec::paper() };
    Spec { seed: options.seed, ..spec }
}

pub(super) fn claims(study: &Study) -> Vec<Claim> {
    vec![dino_4(study), dino_5(study)]
}

fn dino_4(study: &Study) -> Claim {
    let found = &study.dino_4;
    let others = found.by_strategy.iter().map(|(strategy, sra)| format!("{} {sra:.1} %", strategy.name()));
    Claim {
        id: "dino-4",
        claim: "sampling under 1 % of accesses, K = 4096 saves most remote accesses; sequential-forward-backward is the best strategy".into(),
        paper: format!("{} % SRA", found.paper_sra_percent),
        ours: format!("SRA: {}; {} of the accesses sampled", others.collect::<Vec<_>>().join(", "), percent(found.sampled_percent)),
        sign: Verdict::of(found.sign_agrees),
        size: Verdict::of(found.size_agrees),
        band: "10 points of SRA: the paper's traces are not published, ours are made from what is printed about programs".into(),
    }
}

fn dino_5(study: &Study) -> Claim {
    let found = &study.dino_5;
    let shared = found.shared_percent.iter().map(|(name, gain)| format!("{name} {gain:+.1} %"));
    Claim {
        id: "dino-5",
        claim: "K = 4096 does as well as moving whole resident sets when they are small, and better when they are large and shared".into(),
        paper: "comparable from K = 4096 on (SPEC CPU); better (LAMP)".into(),
        ours: format!(
            "completion time against whole resident sets: {} alone; shared: {}; comparable from K = {} on",
            found.alone_percent.map_or_else(|| "not measured".into(), |gain| format!("{gain:+.1} %")),
            shared.collect::<Vec<_>>().join(", "),
            found.least_k.map_or_else(|| "none".into(), |k| k.to_string())
        ),
        sign: Verdict::of(found.comparable && found.better_when_shared),
        size: Verdict::NotPrinted,
        band: "comparable = within 6 %, the deviation of the paper's runs (section 3.2); heights of its bars are in figures only".into(),
    }
}

pub(super) fn figures(study: &Study) -> Vec<Figure> {
    let figure =
        |(file, svg)| Figure { title: format!("Page migration (DINO, sections 4.1 and 5.2): {file}"), file, svg };
    sra::figures(study).into_iter().map(figure).collect()
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "not measured".into(), |value| format!("{value:.3} %"))
}
