//! Which mapping suits a program, and why.
//!
//! Sections 6 and 7.2.3 of the paper judge programs by their figures and by eye. If the paper
//! prints a number, it is the threshold here. The other thresholds are ours, and are marked as
//! such.
//!
//! ```text
//! one node, or no accesses                     nothing to place
//! few accesses to shared pages                 locality
//! few accesses to exclusive pages              interleave
//! some of both: locality, where it is even     locality
//!               balanced, where it is as local and more even
//!               else                           mixed
//! no better than first-touch by that           first-touch
//! ```

use super::figures::{PolicyReport, Report};
use super::steps::{self, Step};
use crate::profile::PageProfile;

/// Up to this imbalance of accesses, in per cent, nodes count as even, and a smaller difference in
/// imbalance is no reason to change anything. It is what interleave leaves on average (30.2, table
/// 3).
pub const EVEN: f64 = 30.0;

/// Points of locality (equation 9) below which a mapping is not worth the effort. Ours: the paper
/// calls only those programs unsuitable that gain next to nothing (EP and LU, section 7.2.3).
pub const WORTH_LOCALITY: f64 = 5.0;

/// Shared or exclusive pages with less than this share of the accesses, in per cent, do not decide.
/// Ours.
pub const FEW: f64 = 10.0;

/// If pages change their best node in at least this share of the time slices, in per cent, the
/// program is so dynamic that one mapping for the whole run gains less. Section 6.2 distinguishes
/// Vips, in which pages migrate "during the whole execution", from SP, in which they migrate at its
/// start; one half is ours.
pub const OFTEN: f64 = 50.0;

/// How many points exclusivity within slices must be above that of the whole run for the program to
/// count as dynamic. Below that, the pages that change their best node are shared pages, which
/// belong to no node anyway. Ours.
pub const FOLLOWED: f64 = 10.0;

/// A program with less memory than this fits in caches, and gains little from any mapping. The
/// paper announces such a limit (section 4) but prints none; this is the last-level cache of a
/// socket of its newer machines.
pub const SMALL_BYTES: u128 = 16 << 20;

/// Which mapping suits a program, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// The name of the mapping; `None` if there is nothing to place.
    pub policy: Option<&'static str>,
    /// The reasons, one sentence each.
    pub reasons: Vec<String>,
    /// What first-touch costs, as a sentence; `None` if there is nothing to say.
    pub cost: Option<String>,
    /// What reduces the gain, or the trust in these figures, one sentence each.
    pub cautions: Vec<String>,
    /// What to do, the most useful step first.
    pub steps: Vec<Step>,
}

impl Advice {
    /// The advice for a report on a profile that was read from the file of this name.
    #[must_use]
    pub fn of(report: &Report, profile: &PageProfile, file: &str) -> Self {
        of(report, profile, file)
    }
}

fn of(report: &Report, profile: &PageProfile, file: &str) -> Advice {
    if report.nodes < 2 {
        return nothing(
            "There is one node: every page is on it, so there is nothing to place. --nodes N shows a machine \
             with N nodes.",
        );
    }
    if report.accesses == 0 {
        return nothing("No accesses were recorded, so nothing can be said about where pages should be.");
    }
    let Some((policy, reasons)) = choice(report) else { return Advice::default() };
    Advice {
        policy: Some(policy),
        reasons,
        cost: cost(report),
        cautions: cautions(report, profile),
        steps: steps::of(report, profile, policy, file),
    }
}

fn nothing(why: &str) -> Advice {
    Advice { reasons: vec![why.to_owned()], ..Advice::default() }
}

fn choice(report: &Report) -> Option<(&'static str, Vec<String>)> {
    let exclusive = report.exclusive_percent?;
    let (wanted, why) = wanted(report, exclusive)?;
    let (first, there) = (report.policy("first-touch")?, report.policy(wanted)?);
    let (local, even) = (there.delta_loc_app?, -there.delta_b_acc?);
    if local < WORTH_LOCALITY && even < EVEN {
        return Some(("first-touch", vec![suffices(first, there, local, even)?]));
    }
    Some((wanted, vec![why, gains(first, there)?]))
}

/// The mapping that suits the pages, whatever first-touch does.
fn wanted(report: &Report, exclusive: f64) -> Option<(&'static str, String)> {
    let of = |name| report.policy(name).and_then(|policy| policy.metrics.b_acc.zip(policy.metrics.loc_app));
    let ((local, _), (mixed, mixed_local)) = (of("locality")?, of("mixed")?);
    let (balanced, balanced_local) = of("balanced")?;
    let pages = format!("{exclusive:.0} % of the accesses are to pages that one node has nearly to itself");
    if 100.0 - exclusive < FEW {
        return Some(("locality", format!("{pages}, so each page belongs on the node that uses it.")));
    }
    if exclusive < FEW {
        let why = "Nearly all accesses are to pages that several nodes share: no node is the right one for them, and \
                   spreading them keeps every memory controller equally busy.";
        return Some(("interleave", why.to_owned()));
    }
    if local <= EVEN {
        let why = format!("{pages}, and with every page on the node that uses it most the nodes are busy evenly too.");
        return Some(("locality", why));
    }
    if mixed - balanced > EVEN && balanced_local >= mixed_local {
        let why = format!(
            "{pages}. With every page on its best node some nodes would do most of the work; moving some \
             pages aside evens that out."
        );
        return Some(("balanced", why));
    }
    Some((
        "mixed",
        format!("{pages}, which belong there; the others are shared, and are better spread over all nodes."),
    ))
}

fn suffices(first: &PolicyReport, there: &PolicyReport, local: f64, even: f64) -> Option<String> {
    let (at, name) = (first.metrics.loc_app?, there.mapping.name());
    Some(format!(
        "First touch already puts pages where they are used: {at:.0} % of the accesses are to pages on the node that \
         uses them most. `{name}`, which suits such pages otherwise, would change that by {local:+.0} points and the \
         imbalance of accesses by {:+.0}, which is not worth the trouble.",
        // So that zero has no sign.
        (-even).round() + 0.0
    ))
}

fn gains(first: &PolicyReport, there: &PolicyReport) -> Option<String> {
    let (here, then) = (&first.metrics, &there.metrics);
    Some(format!(
        "Against first touch, `{}` takes the imbalance of accesses from {:.0} to {:.0} %, and the accesses \
         to pages on their best node from {:.0} to {:.0} %; remote accesses go from {:.0} to {:.0} %.",
        there.mapping.name(),
        here.b_acc?,
        then.b_acc?,
        here.loc_app?,
        then.loc_app?,
        first.remote?,
        there.remote?
    ))
}

/// What first-touch costs.
fn cost(report: &Report) -> Option<String> {
    let first = report.policy("first-touch")?;
    let served = &first.metrics.node_accesses;
    let (node, most) = served.iter().enumerate().max_by_key(|(node, most)| (**most, std::cmp::Reverse(*node)))?;
    let share = crate::metrics::percent(*most, report.accesses)?;
    let even = 100.0 / isobar_model::num::float_len(report.nodes);
    Some(format!(
        "With first touch {:.0} % of all accesses go to another node, and node {node} serves {share:.0} % of \
         them ({even:.0} % would be its even share).",
        first.remote?
    ))
}

fn cautions(report: &Report, profile: &PageProfile) -> Vec<String> {
    let mut cautions = Vec::new();
    // Large pages hold memory that is never accessed, so the pages of the profile count.
    let touched = profile.usage.pages().len() as u128 * u128::from(profile.usage.page_bytes());
    if touched < SMALL_BYTES {
        cautions.push(
            "All its pages together fit into a last-level cache of 16 MiB: most of these accesses never \
             reach memory, so expect little gain from any mapping."
                .to_owned(),
        );
    }
    let slices = report.course.as_ref().filter(|course| course.restless_percent.is_some_and(|part| part >= OFTEN));
    let within = slices.and_then(|course| course.exclusivity).zip(report.exclusivity);
    let within = within.map(|(within, whole)| (within * 100.0, whole * 100.0));
    if let Some((within, whole)) = within.filter(|(within, whole)| within - whole >= FOLLOWED) {
        cautions.push(format!(
            "Its pages change hands all the time: in a time slice {within:.0} % of the accesses to a page \
             come from one node, over the whole run {whole:.0} %. One mapping for the whole run gains less \
             then, and following them with page migration costs copies."
        ));
    }
    let even = 100.0 / isobar_model::num::float_len(report.nodes);
    if let Some(hot) = report.hottest.filter(|hot| hot.percent > even && report.pages > 1) {
        cautions.push(format!(
            "One page, at {:#x}, has {:.0} % of all accesses: whatever the mapping, its node serves more \
             than its share.",
            hot.address, hot.percent
        ));
    }
    if let Some(every) = profile.header.sampled {
        cautions.push(format!("About one access in {every} was seen: figures of rarely used pages are uncertain."));
    }
    if report.cut {
        cautions.push(
            "A page has 2^64 - 1 accesses or more, which is the largest count possible: its figures, and those of all \
             pages together, are wrong."
                .to_owned(),
        );
    }
    if report.threads < report.nodes {
        cautions.push(format!("There are more nodes than threads: {} nodes run none.", report.nodes - report.threads));
    }
    cautions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{advice, matmul, profile};

    /// The advice for a program with these rows, first touched by thread 0.
    fn advised(rows: &[[u64; 4]], nodes: usize) -> Advice {
        advice(&profile(rows, &[("array", 0..rows.len())]), nodes)
    }

    #[test]
    fn one_node_or_no_accesses_leave_nothing_to_place() {
        let one = advised(&[[1, 2, 3, 4]], 1);
        assert_eq!((one.policy, one.reasons.len(), one.steps.len()), (None, 1, 0));
        assert!(one.reasons[0].contains("one node"));
        assert!(advised(&[[0; 4]], 4).reasons[0].contains("No accesses"));
    }

    #[test]
    fn exclusive_pages_want_locality_and_shared_ones_interleave() {
        let exclusive = advised(&[[100, 0, 0, 0], [0, 100, 0, 0], [0, 0, 100, 0], [0, 0, 0, 100]], 4);
        assert_eq!(exclusive.policy, Some("locality"));
        assert_eq!(
            exclusive.cost.unwrap(),
            "With first touch 75 % of all accesses go to another node, and node 0 serves 100 % of them (25 % \
             would be its even share)."
        );
        let shared = advised(&[[25, 25, 25, 25], [26, 24, 25, 25], [24, 25, 26, 25], [25; 4]], 4);
        assert_eq!(shared.policy, Some("interleave"));
    }

    #[test]
    fn a_mixture_wants_mixed_unless_locality_is_even() {
        // Shared pages whose best node is 0, and exclusive pages of all nodes: locality overloads
        // node 0.
        let mut rows = vec![[30, 25, 25, 20]; 8];
        rows.extend([[200, 0, 0, 0], [0, 200, 0, 0], [0, 0, 200, 0], [0, 0, 0, 200]]);
        assert_eq!(advised(&rows, 4).policy, Some("mixed"));
        let even = [[30, 25, 25, 20], [20, 30, 25, 25], [25, 20, 30, 25], [25, 25, 20, 30]];
        let mut rows = even.to_vec();
        rows.extend([[200, 0, 0, 0], [0, 200, 0, 0], [0, 0, 200, 0], [0, 0, 0, 200]]);
        assert_eq!(advised(&rows, 4).policy, Some("locality"));
    }

    /// Like EP and LU in section 7.2.3: there is nothing to gain.
    #[test]
    fn what_first_touch_does_well_is_left_to_it() {
        let alone = advised(&[[100, 0, 0, 0], [500, 2, 0, 0]], 4);
        assert_eq!(alone.policy, Some("first-touch"));
        assert!(
            alone.reasons[0].contains("100 % of the accesses are to pages on the node that uses them most"),
            "{alone:?}"
        );
        assert!(alone.steps.is_empty());
    }

    /// Pages that one node after another uses make a program dynamic. Shared pages do not, although
    /// now one node and now another has a few accesses more.
    #[test]
    fn pages_that_change_hands_lessen_the_gain() {
        use crate::report::{Course, Question};
        use crate::trace::{Row, Slice};
        let warned = |rows: &dyn Fn(u32) -> [u64; 4]| {
            let program = profile(&[[100; 4]; 4], &[("array", 0..4)]);
            let homes = crate::homes::Homes::compact(4, 4).unwrap();
            let mut follow = Course::follow(&program, &homes, None).unwrap();
            for number in 0..8_u32 {
                let of_page = |page: u64| {
                    (0..).zip(rows(number)).map(move |(thread, loads)| Row { page, thread, loads, stores: 0 })
                };
                let rows = (0..4).flat_map(of_page).collect();
                follow.add(Slice { number: number.into(), first: Vec::new(), rows }).unwrap();
            }
            let course = Some(follow.finish(&program).unwrap());
            let question = Question { homes: &homes, min_excl: 0.9, page_bytes: None, sweep: false, course };
            let advice = Advice::of(&Report::of(&program, question).unwrap(), &program, "a.trace");
            advice.cautions.iter().any(|caution| caution.contains("change hands all the time"))
        };
        let only = |at: u32, most: u64, least: u64| {
            let mut row = [least; 4];
            row[isobar_model::num::index(at % 4)] = most;
            row
        };
        assert!(warned(&|number| only(number, 100, 0)));
        assert!(!warned(&|number| only(number, 26, 25)));
        assert!(!warned(&|_| only(2, 100, 0)), "they stay where they are");
    }

    #[test]
    fn the_matrix_product_is_small_and_has_a_hot_stack() {
        let given = advice(&matmul(), 4);
        // By its address, the hot stack of T0 would share a node with that of T2. `balanced` is as
        // local as `mixed`, and more even.
        assert_eq!(given.policy, Some("balanced"));
        assert!(given.cautions.iter().any(|caution| caution.contains("fit into a last-level cache")));
        assert!(given.cautions.iter().any(|caution| caution.contains("at 0xa000, has 62 % of all accesses")));
        let few = advice(&matmul(), 8);
        assert!(few.cautions.iter().any(|caution| caution.contains("4 nodes run none")));
    }
}
