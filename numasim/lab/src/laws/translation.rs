//! Law "translation", for machines with a TLB. A chase over far more pages than the TLB has
//! entries, all of them small, finds a load's page in the TLB only if it is among the pages used
//! last. Otherwise the load needs a page walk:
//!
//! ```text
//! expected  = loop + latency.ns[home][home] + walk_ns (1 - entries / pages)
//! ```
//!
//! The other laws assume that translations cost nothing: they hold for the same file without
//! `[tlb]`.

use super::judge_latency::{by_load_ns, loop_ns};
use super::places::Places;
use super::plan;
use super::reading::Readings;
use super::row::{Bound, Row};
use super::script::Step;
use numasim_model::Spec;

const WHAT: &str = "chase over small pages, beyond the TLB";
const LABEL: &str = "translated";
/// Loads of the chase.
const WORK: u64 = 200_000;

/// The steps of the law.
pub fn steps(spec: &Spec, places: &Places) -> Vec<Step> {
    if spec.tlb.is_none() {
        return Vec::new();
    }
    // Pages that are chosen by colour are small.
    let command = format!("chase --size-kib {} --work {WORK} --colours 2", plan::beyond(spec, places));
    plan::alone(LABEL, places.cpus[0], places.node, command)
}

/// Judges the law; see the head of the file.
pub fn translation(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let Some(tlb) = &spec.tlb else {
        return vec![Row::skipped("translation", WHAT, "the machine file has no [tlb]")];
    };
    let pages = f64::from(plan::beyond(spec, places) / 4);
    let walk = tlb.walk_ns * (1.0 - f64::from(tlb.entries) / pages).max(0.0);
    let cost = spec.latency.ns[places.node][places.node] + walk;
    let expected = loop_ns(spec, readings).map(|own| by_load_ns(spec, own, cost));
    let measured = readings.figure(LABEL, "ns_per_load");
    vec![Row::new("translation", WHAT, "ns/load", expected, Bound::Within(0.1), measured)]
}

#[cfg(test)]
mod tests {
    use super::super::row::Verdict;
    use super::super::test_kit;
    use super::*;
    use numasim_model::Tlb;

    /// Memory at 1200 ns, a loop of 20 ns, 64 entries for 512 pages: 7 of 8 loads need a walk of
    /// 400 ns.
    #[test]
    fn each_load_walks_but_those_of_pages_used_last() {
        let spec = Spec { tlb: Some(Tlb { entries: 64, ways: 4, walk_ns: 400.0 }), ..test_kit::spec() };
        let places = Places::of(&spec).unwrap();
        assert_eq!((plan::beyond(&spec, &places), spec.latency.ns[0][0]), (2048, 1200.0));
        let judged = |ns: u32| {
            let own = 20.0 + spec.private.hit_ns;
            let text = format!("@line private {{\"ns_per_load\":{own}}}\n@line translated {{\"ns_per_load\":{ns}}}\n");
            translation(&spec, &places, &Readings::parse(&text))[0].verdict
        };
        // 20 + 1200 + 350.
        assert_eq!([1570, 1420, 1720].map(judged), [Verdict::Holds, Verdict::Holds, Verdict::Holds]);
        assert_eq!([1220, 1740].map(judged), [Verdict::Fails; 2]);
    }

    #[test]
    fn without_a_tlb_there_is_nothing_to_measure() {
        let spec = test_kit::spec();
        let places = Places::of(&spec).unwrap();
        assert_eq!(steps(&spec, &places), []);
        assert_eq!(translation(&spec, &places, &Readings::parse(""))[0].verdict, Verdict::Skipped);
    }
}
