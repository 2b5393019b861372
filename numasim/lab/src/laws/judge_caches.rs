//! Laws of shared caches. Law 4: two programs that each fill more than half of a cache slow each
//! other down on one LLC, and do not on two. Law 5: a cycle of loads misses as its stack distances
//! predict. Each line comes again after all others, so it hits if the ways of its class hold the
//! whole cycle, and misses if they do not (colours.rs).

use super::colours;
use super::judge_latency::by_load;
use super::places::Places;
use super::plan;
use super::reading::{self, Readings};
use super::row::{Bound, Row};
use numasim_model::Spec;
use numasim_model::num::float;

/// The least slowdown of two programs on one LLC, and the largest of two programs on two LLCs.
const SLOWED: f64 = 1.1;
const LEFT_ALONE: f64 = 1.03;
/// Tolerance for loads of the kernel and of the program that reads the page, which take some lines.
const STRAY: f64 = 0.05;
const PAGE_KIB: u32 = 4;

/// Judges law 4; see the head of the file.
pub fn sharing(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let (shared, apart) = places.others(spec);
    let size = format!("two chases, {} % of an LLC each", plan::SHARED_PART);
    let (one, two) = (format!("{size}, on one LLC: slowdown"), format!("{size}, on two LLCs: slowdown"));
    let slowdown = |with: &str| Ok(pace(places, readings, "lonely")? / pace(places, readings, with)?);
    vec![
        match shared {
            Some(_) => Row::new("sharing", one, "", Ok(SLOWED), Bound::AtLeast, slowdown("near")),
            None => Row::skipped("sharing", one, "the LLC has one CPU"),
        },
        match apart {
            Some(_) => Row::new("sharing", two, "", Ok(LEFT_ALONE), Bound::AtMost, slowdown("far")),
            None => Row::skipped("sharing", two, "the machine has one LLC"),
        },
    ]
}

/// Instructions per ns of the first CPU: a chase executes the same few for each load.
fn pace(places: &Places, readings: &Readings, label: &str) -> Result<f64, String> {
    let delta = readings.between(label)?;
    let instructions = reading::cpu(&delta, places.cpus[0])?.instructions;
    if instructions == 0 {
        return Err(format!("CPU {} stood still in `{label}`", places.cpus[0]));
    }
    Ok(float(instructions) / float(delta.time_ns))
}

/// Judges law 5; see the head of the file.
pub fn ways(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    plan::WAYS.into_iter().map(|case| one(spec, places, readings, case)).collect()
}

fn one(spec: &Spec, places: &Places, readings: &Readings, (label, hundredths, half): (&str, u32, bool)) -> Row {
    let llc = &spec.llc[places.llc];
    let kib = plan::part(spec, places, hundredths);
    let ways = if half { plan::half_of(llc.ways) } else { llc.ways };
    let what = format!("chase of {kib} KiB with {ways} of {} ways: misses by load", llc.ways);
    let Some(colours) = colours::of(llc) else {
        return Row::skipped("ways", what, "a page is not in whole sets of this LLC");
    };
    let expected = colours::misses(kib / PAGE_KIB, colours, ways);
    let misses = by_load(readings, &label.replace('.', "_"), |cpu| cpu.llc_misses, places.cpus[0]);
    Row::new("ways", what, "", Ok((expected - STRAY).max(0.0)), Bound::UpTo(expected + STRAY), misses)
}

#[cfg(test)]
#[path = "judge_caches_tests.rs"]
mod tests;
