//! Claims pages-4 and pages-5: the gain of every mapping on every machine.

use super::kernels::Kernel;
use crate::error::LabError;
use crate::parallel::each;
use crate::predict::{Assumptions, Times, predict};
use crate::reproduce::claim::{Claim, Figure, Verdict};
use crate::reproduce::options::Options;
use crate::stats::mean_or_zero;
use isobar_pages::report::{Advice, Question, Report, WORTH_LOCALITY};
use isobar_pages::{Homes, MIN_EXCLUSIVITY};
use isobar_plot::bars;
use isobar_sim::machine::find;

/// Size in bytes of the programs for which the profiles stand. The paper gives no size, but
/// requires programs far larger than the caches (section 4), which are 72 MiB together on its
/// `Xeon`. This is an assumption; two other sizes are computed as well.
const STANDS_FOR: f64 = 512.0 * 1_048_576.0;
const OTHER_SIZES: [f64; 2] = [STANDS_FOR / 4.0, STANDS_FOR * 4.0];
const MAPPINGS: [&str; 5] = ["random", "interleave", "locality", "balanced", "mixed"];
/// A machine, whether it runs 64 threads, and the paper's averages.
type Machine = (&'static str, bool, [f64; 5]);
/// The machines, whether they run 64 threads, and the paper's averages in the order of
/// [`MAPPINGS`].
const MACHINES: [Machine; 3] = [
    ("itanium-2x4", false, [5.2, 5.7, 20.9, 14.4, 19.4]),
    ("xeon-4x8", true, [8.7, 15.8, 18.5, 14.6, 23.7]),
    ("opteron-8x8", true, [6.3, 7.2, 50.0, 23.9, 61.8]),
];
const XEON: usize = 1;
/// Differences up to this many per cent, between averages or in a program's time, do not count.
const ALIKE: f64 = 0.5;
/// Per cent from which on a mapping counts as a gain.
const GAINS: f64 = 5.0;

/// The results.
pub(super) struct Gains {
    names: Vec<&'static str>,
    /// By machine, then kernel.
    times: Vec<Vec<Times>>,
    /// By kernel: the mapping that the metrics advise for 4 nodes.
    advised: Vec<Option<&'static str>>,
    /// By size: averages of `mixed` by machine.
    other: Vec<Vec<f64>>,
}

impl Gains {
    pub fn of(
        kernels: &[Kernel],
        options: &Options,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, LabError> {
        let others: &[f64] = if options.quick { &[] } else { &OTHER_SIZES };
        let all = 1 + others.len();
        let times = every(kernels, STANDS_FOR, options)?;
        progress(1, all);
        let mut other = Vec::new();
        for (done, size) in others.iter().enumerate() {
            let times = every(kernels, *size, options)?;
            other.push(times.iter().map(|of| average(of, "mixed")).collect());
            progress(done + 2, all);
        }
        let advised = kernels.iter().map(advised).collect::<Result<_, _>>()?;
        Ok(Self { names: kernels.iter().map(|kernel| kernel.name).collect(), times, advised, other })
    }

    /// Claim pages-4.
    pub fn averages(&self) -> Claim {
        let found: Vec<Vec<f64>> =
            self.times.iter().map(|of| MAPPINGS.map(|name| average(of, name)).to_vec()).collect();
        let best = found[XEON..].iter().all(|row| row.iter().all(|one| *one <= row[4] + ALIKE));
        let loses = |name: &str| self.least(name) < -ALIKE;
        let near = |(ours, (_, _, paper)): (&Vec<f64>, &Machine)| {
            ours.iter().zip(paper).all(|(ours, paper)| (paper / 2.0..=paper * 2.0).contains(ours))
        };
        Claim {
            id: "pages-4",
            claim: "mixed is best on average on the larger machines and loses to first-touch nowhere; locality and \
                    balanced each lose somewhere",
            paper: "random / interleave / locality / balanced / mixed: Itanium 5 / 6 / 21 / 14 / 19 %, Xeon \
                    9 / 16 / 19 / 15 / 24 %, Opteron 6 / 7 / 50 / 24 / 62 %",
            ours: format!("{}; least of a program: {}", self.rows(&found), self.losses()),
            sign: Verdict::of(best && !loses("mixed") && loses("locality") && loses("balanced")),
            size: Verdict::of(found.iter().zip(&MACHINES).all(near)),
            band: format!(
                "Sign: all of it, differences of {ALIKE} % not counted. Size: each average between half and \
                 double. Six kernels for NAS and PARSEC, standing for programs of 512 MiB.{} Times are \
                 simulated; memory sees an eighth of the accesses that caches do not keep.",
                self.sizes()
            ),
        }
    }

    /// Claim pages-5.
    pub fn suitability(&self) -> Claim {
        let each = self.names.iter().zip(&self.advised).zip(&self.times[XEON]);
        let judged: Vec<_> = each.map(|((name, advised), times)| (*name, *advised, greatest(times))).collect();
        let right =
            |(_, advised, gain): &(&str, Option<&str>, f64)| (*advised != Some("first-touch")) == (*gain >= GAINS);
        let words: Vec<_> = judged
            .iter()
            .map(|(name, advised, gain)| format!("{name} {} {gain:.0} %", advised.unwrap_or("-")))
            .collect();
        let agree = judged.iter().filter(|one| right(one)).count();
        Claim {
            id: "pages-5",
            claim: "the metrics alone say whether a mapping gains, but not how much",
            paper: "EP and LU are unsuitable and gain next to nothing, all others are suitable and gain (Xeon)",
            ours: format!("{agree} of {} kernels: {} (advice, greatest gain)", judged.len(), words.join(", ")),
            sign: Verdict::of(agree == judged.len()),
            size: Verdict::NotPrinted,
            band: format!(
                "Suitable: `isobar pages` advises another mapping than first-touch (from {WORTH_LOCALITY} \
                 points of locality on). Gains: {GAINS} % or more with any of the five mappings, on xeon-4x8."
            ),
        }
    }

    /// Figures 12 to 14.
    pub fn figures(&self) -> Vec<Figure> {
        let kernels: Vec<String> = self.names.iter().map(|name| (*name).to_owned()).collect();
        let figure = |((number, machine), of): ((usize, &str), &Vec<Times>)| {
            let values = |name: &str| of.iter().map(|times| times.gain(name).map(|(_, simulated)| simulated)).collect();
            let series = MAPPINGS.map(|name| (name.to_owned(), values(name)));
            let title = format!("Gain over first-touch on {machine} (page usage, figure {number})");
            Figure::new(
                &format!("pages-figure-{number}.svg"),
                &title,
                bars(&title, &kernels, &series, "gain, per cent"),
            )
        };
        (12..).zip(MACHINES.map(|(machine, ..)| machine)).zip(&self.times).map(figure).collect()
    }

    fn least(&self, name: &str) -> f64 {
        self.times
            .iter()
            .flatten()
            .filter_map(|times| times.gain(name))
            .map(|(_, found)| found)
            .fold(f64::INFINITY, f64::min)
    }

    fn losses(&self) -> String {
        ["locality", "balanced", "mixed"].map(|name| format!("{name} {:.1} %", self.least(name))).join(", ")
    }

    fn rows(&self, found: &[Vec<f64>]) -> String {
        let row = |((machine, ..), row): (&Machine, &Vec<f64>)| {
            let cells: Vec<_> = row.iter().map(|cell| format!("{cell:.0}")).collect();
            format!("{machine} {} %", cells.join(" / "))
        };
        MACHINES.iter().zip(found).map(row).collect::<Vec<_>>().join(", ")
    }

    fn sizes(&self) -> String {
        let one = |(mib, of): (&str, &Vec<f64>)| {
            let cells: Vec<_> = of.iter().map(|mean| format!("{mean:.0}")).collect();
            format!(" At {mib} mixed gains {} % instead.", cells.join(" / "))
        };
        ["128 MiB", "2 GiB"].into_iter().zip(&self.other).map(one).collect()
    }
}

/// The times of every kernel on every machine.
fn every(kernels: &[Kernel], bytes: f64, options: &Options) -> Result<Vec<Vec<Times>>, LabError> {
    let assumed = Assumptions { stands_for: Some(bytes), ..Assumptions::default() };
    let pairs: Vec<_> =
        MACHINES.iter().flat_map(|machine| kernels.iter().map(move |kernel| (machine, kernel))).collect();
    let run = |((machine, wide, _), kernel): &(&Machine, &Kernel)| {
        let profile = if *wide { &kernel.wide } else { &kernel.narrow };
        predict(profile, &find(machine)?, MIN_EXCLUSIVITY, &assumed)
    };
    let all = each(options.jobs, &pairs, run)?;
    Ok(all.chunks(kernels.len().max(1)).map(<[Times]>::to_vec).collect())
}

fn average(times: &[Times], name: &str) -> f64 {
    mean_or_zero(times.iter().filter_map(|times| times.gain(name)).map(|(_, simulated)| simulated))
}

fn greatest(times: &Times) -> f64 {
    MAPPINGS.iter().filter_map(|name| times.gain(name)).map(|(_, found)| found).fold(0.0, f64::max)
}

fn advised(kernel: &Kernel) -> Result<Option<&'static str>, LabError> {
    let homes = Homes::compact(4, kernel.wide.usage.threads())?;
    let question = Question { homes: &homes, min_excl: MIN_EXCLUSIVITY, page_bytes: None, sweep: false, course: None };
    let report = Report::of(&kernel.wide, question)?;
    Ok(Advice::of(&report, &kernel.wide, kernel.name).policy)
}
