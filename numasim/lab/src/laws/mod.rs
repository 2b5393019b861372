//! The laws: what programs measure in the guest must be what the machine file says. The programs
//! are those of numasim/programs, unmodified. What they and the machine's page report is compared
//! with the [`numasim_model::Spec`], never with figures measured earlier.
//!
//! [`plan`] says which programs run where (as a [`script`] for the guest's shell), [`reading`]
//! parses what they reported, and the `judge_*` modules compare, each with the arithmetic of its
//! law at its head. All of that is pure; only [`speed`] reads the host's clock.

mod closed_loop;
mod colours;
pub mod copies;
mod daemon;
mod judge_bandwidth;
mod judge_caches;
mod judge_latency;
mod judge_repeat;
mod judge_time;
pub mod lines;
pub mod meet;
pub mod places;
pub mod plan;
pub mod reading;
mod row;
pub mod script;
pub mod speed;
pub mod table;
#[cfg(test)]
mod test_kit;
mod threads;
mod translation;

pub use judge_repeat::repeatability;
pub use row::{Bound, Row, Verdict};

use numasim_model::Spec;
use places::Places;
use reading::Readings;
use script::Step;

/// Gives the steps of a law.
type Plan = fn(&Spec, &Places) -> Vec<Step>;
/// Gives the rows of a law.
type Judge = fn(&Spec, &Places, &Readings) -> Vec<Row>;

/// The laws by name, in the order of the table.
pub const LAWS: [&str; 18] = [
    "latency",
    "cache",
    "bandwidth",
    "sharing",
    "ways",
    "flush",
    "load",
    "time",
    "overlap",
    "coherence",
    "clocks",
    "lock",
    "copy",
    "copy-sizes",
    "translation",
    "daemon",
    "threads",
    "repeatability",
];

/// Laws that run only if they are asked for, because they are further points of another law.
pub const MORE: [&str; 1] = ["copy-sizes"];

/// The steps that the guest executes for the wanted laws.
#[must_use]
pub fn steps(spec: &Spec, wanted: impl Fn(&str) -> bool) -> Vec<Step> {
    let Ok(places) = Places::of(spec) else { return Vec::new() };
    let others: [(&str, Plan); 9] = [
        ("overlap", lines::overlap_steps),
        ("coherence", lines::coherence_steps),
        ("clocks", meet::clock_steps),
        ("lock", meet::lock_steps),
        ("copy", copies::steps),
        ("copy-sizes", copies::more_steps),
        ("translation", translation::steps),
        ("daemon", daemon::steps),
        ("threads", threads::steps),
    ];
    let mut steps = plan::steps(spec, &wanted);
    // Law "copy-sizes" compares its sizes with what a line costs in law "copy".
    let needed = |name: &str| wanted(name) || (name == "copy" && wanted("copy-sizes"));
    steps.extend(others.into_iter().filter(|(name, _)| needed(name)).flat_map(|(_, law)| law(spec, &places)));
    steps
}

/// Judges what a boot reported: one or more rows for each wanted law.
#[must_use]
pub fn judge(spec: &Spec, readings: &Readings, wanted: impl Fn(&str) -> bool) -> Vec<Row> {
    let places = match Places::of(spec) {
        Ok(places) => places,
        Err(why) => return vec![Row::fails("machine", "can be measured", why)],
    };
    let all: [(&str, Judge); 17] = [
        ("latency", judge_latency::latency),
        ("cache", judge_latency::cache),
        ("bandwidth", judge_bandwidth::bandwidth),
        ("sharing", judge_caches::sharing),
        ("ways", judge_caches::ways),
        ("flush", judge_latency::flush),
        ("load", judge_latency::load),
        ("time", judge_time::time),
        ("overlap", lines::overlap),
        ("coherence", lines::coherence),
        ("clocks", meet::clocks),
        ("lock", meet::locks),
        ("copy", copies::copy),
        ("copy-sizes", copies::more),
        ("translation", translation::translation),
        ("daemon", daemon::daemon),
        ("threads", threads::threads),
    ];
    all.into_iter().filter(|(name, _)| wanted(name)).flat_map(|(_, judge)| judge(spec, &places, readings)).collect()
}
