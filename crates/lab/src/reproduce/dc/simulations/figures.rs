//! Figures 5 and 6.

use super::approaches::APPROACHES;
use super::study::Studied;
use super::workloads::{PLATFORMS, Platform};
use crate::error::LabError;
use crate::reproduce::claim::Figure;
use crate::reproduce::dc::programs::class;
use isobar_model::{CacheClass, num};
use isobar_partition::Solution;
use isobar_plot::{bars, scatter};
use isobar_sim::machine::find;
use isobar_sim::program::shipped;
use std::collections::BTreeMap;

/// Figure 5: one plot per platform.
pub(crate) fn figure_5(all: &[Studied], model: &str, slug: &str) -> Vec<Figure> {
    PLATFORMS.iter().map(|platform| one_platform(all, platform, model, slug)).collect()
}

fn one_platform(all: &[Studied], platform: &Platform, model: &str, slug: &str) -> Figure {
    let here = || all.iter().filter(|one| one.platform == platform.name);
    let points =
        |approach: usize| here().map(|one| one.normalised(approach)).map(|at| (at.unfairness, at.stp)).collect();
    let series: Vec<_> =
        APPROACHES.iter().enumerate().map(|(index, name)| ((*name).to_owned(), points(index))).collect();
    let title =
        format!("{} workloads of {} programs, {model} (Divide&Content, figure 5)", here().count(), platform.programs());
    let svg = scatter(&title, &series, "unfairness over that of a random mapping", "STP over that of a random mapping");
    Figure { file: format!("dc-figure-5-{}-{slug}.svg", platform.name.to_lowercase()), title, svg }
}

/// The nine programs of figure 6, as far as the text names them: three of each class, of table II.
const NINE: [&str; 9] =
    ["astar06", "mcf06", "omnetpp17", "fotonik3d17", "lbm17", "milc06", "gamess06", "povray17", "x264ref17"];
const CLASSES: [(CacheClass, &str); 3] = [
    (CacheClass::Sensitive, "sensitive"),
    (CacheClass::Streaming, "streaming"),
    (CacheClass::LightSharing, "light sharing"),
];
/// The approaches that figure 6 shows.
const SHOWN: [(usize, &str); 2] = [(0, "opt-map"), (2, "optimal")];

/// The programs that run beside each other: by program, the number of its co-runners of each class.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CoRunners(BTreeMap<&'static str, BTreeMap<CacheClass, usize>>);

impl CoRunners {
    fn of(all: &[Studied], approach: usize) -> Result<(Self, BTreeMap<&'static str, CacheClass>), LabError> {
        let (library, machine) = (shipped()?, find(PLATFORMS[0].machine)?);
        let mut classes = BTreeMap::new();
        let mut beside = Self::default();
        for one in all {
            for name in &one.programs {
                if !classes.contains_key(name) {
                    classes.insert(*name, class(&machine, &library, name)?);
                }
            }
            beside.add(&one.programs, &one.answers[approach].solution, &classes);
        }
        Ok((beside, classes))
    }

    fn add(&mut self, programs: &[&'static str], solution: &Solution, classes: &BTreeMap<&'static str, CacheClass>) {
        let llcs = solution.llcs(programs.len());
        for (own, name) in programs.iter().enumerate() {
            let mates = (0..programs.len()).filter(|other| *other != own && llcs[*other] == llcs[own]);
            for class in mates.filter_map(|mate| classes.get(programs[mate])) {
                *self.0.entry(name).or_default().entry(*class).or_default() += 1;
            }
        }
    }

    /// The percentage of a program's co-runners that belong to a class.
    fn percent(&self, name: &str, class: CacheClass) -> Option<f64> {
        let counts = self.0.get(name)?;
        let all: usize = counts.values().sum();
        Some(100.0 * num::float_len(counts.get(&class).copied().unwrap_or(0)) / num::float_len(all))
    }
}

/// Figure 6.
pub(crate) fn figure_6(all: &[Studied]) -> Result<Vec<Figure>, LabError> {
    let mut figures = Vec::new();
    for (approach, name) in SHOWN {
        let (beside, _) = CoRunners::of(all, approach)?;
        let categories: Vec<String> = NINE.iter().map(|&program| program.to_owned()).collect();
        let value = |class| NINE.iter().map(|program| beside.percent(program, class)).collect();
        let series: Vec<_> = CLASSES.iter().map(|(class, words)| ((*words).to_owned(), value(*class))).collect();
        let title = format!("Co-runners by class under {name} (Divide&Content, figure 6)");
        let svg = bars(&title, &categories, &series, "co-runners on the same LLC, per cent");
        figures.push(Figure { file: format!("dc-figure-6-{name}.svg"), title, svg });
    }
    Ok(figures)
}

/// The percentage of streaming programs' co-runners that are sensitive, under opt-map and under
/// optimal.
pub(crate) fn sensitive_beside_streaming(all: &[Studied]) -> Result<[f64; 2], LabError> {
    let mut parts = [0.0; 2];
    for (part, (approach, _)) in parts.iter_mut().zip(SHOWN) {
        let (beside, classes) = CoRunners::of(all, approach)?;
        let streaming = || beside.0.iter().filter(|(name, _)| classes.get(*name) == Some(&CacheClass::Streaming));
        let sum = |of: &dyn Fn(CacheClass) -> bool| {
            streaming()
                .flat_map(|(_, counts)| counts)
                .filter(|(class, _)| of(**class))
                .map(|(_, count)| *count)
                .sum::<usize>()
        };
        let (sensitive, every) = (sum(&|class| class == CacheClass::Sensitive), sum(&|_| true));
        *part = 100.0 * num::float_len(sensitive) / num::float_len(every.max(1));
    }
    Ok(parts)
}
