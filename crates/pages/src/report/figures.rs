//! Every figure of a page usage, for one map of threads to nodes and one page size.

use super::course::Course;
use super::linux::{Linux, NotObserved, linux};
use super::served::{Served, each_page};
use super::structures::{StructureUse, Uses};
use crate::error::PagesError;
use crate::homes::Homes;
use crate::mapping::{Mapping, Placement};
use crate::metrics::{self, Metrics, percent};
use crate::profile::PageProfile;
use crate::seen::Seen;
use crate::usage::Usage;
use std::borrow::Cow;

/// Bars of the histogram of exclusivity: each spans a twentieth.
pub const BARS: usize = 20;

/// Steps of the sweep over `min_excl`, in per cent.
const SWEEP_STEP: u32 = 5;

/// What to report on.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The node of each thread.
    pub homes: &'a Homes,
    /// A page with more exclusivity than this is exclusive.
    pub min_excl: f64,
    /// Bytes of a page; `None` for the page size of the profile.
    pub page_bytes: Option<u64>,
    /// Whether to try `mixed` with a range of exclusivity thresholds.
    pub sweep: bool,
    /// The course of the run, if the file has slices.
    pub course: Option<Course>,
}

/// The result of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyReport {
    /// The mapping.
    pub mapping: Mapping,
    /// The metrics of equations 3 to 5, 8 and 9.
    pub metrics: Metrics,
    /// Accesses to pages on another node than the thread's, in per cent.
    pub remote: Option<f64>,
    /// Balance of accesses minus that of first-touch (equation 11).
    pub delta_b_acc: Option<f64>,
    /// Locality minus that of first-touch (equation 12).
    pub delta_loc_app: Option<f64>,
}

/// The page with the most accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hottest {
    /// Its first address.
    pub address: u64,
    /// Its share of all accesses, in per cent.
    pub percent: f64,
}

/// `mixed` with one threshold of exclusivity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPoint {
    /// The threshold, in per cent.
    pub min_excl_percent: f64,
    /// Balance of accesses (equation 5).
    pub b_acc: Option<f64>,
    /// Locality (equation 9).
    pub loc_app: Option<f64>,
}

/// The report on a page usage.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Number of pages, at the page size that was asked for.
    pub pages: usize,
    /// Pages without any access.
    pub untouched: usize,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// All accesses, or samples of them.
    pub accesses: u128,
    /// Whether the accesses to a page reach the largest count that can be represented; they are cut
    /// off there.
    pub cut: bool,
    /// Number of threads.
    pub threads: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// A page with more exclusivity than this is exclusive.
    pub min_excl: f64,
    /// Exclusivity (equation 2), from 1/N to 1.
    pub exclusivity: Option<f64>,
    /// Accesses to exclusive pages, in per cent of all.
    pub exclusive_percent: Option<f64>,
    /// Accesses by the exclusivity of their page: from 0 to 1 inclusive, a twentieth per bar.
    pub histogram: Vec<u128>,
    /// The page with the most accesses.
    pub hottest: Option<Hottest>,
    /// The mappings, in the order of [`Mapping::ALL`].
    pub policies: Vec<PolicyReport>,
    /// Where the kernel had placed the pages of the traced run.
    pub linux: Result<Linux, NotObserved>,
    /// The structures, by accesses, descending, at the page size of the profile.
    pub structures: Vec<StructureUse>,
    /// `mixed` with thresholds from 0 to 100 %; empty unless asked for.
    pub sweep: Vec<SweepPoint>,
    /// The course of the run, if the file has slices.
    pub course: Option<Course>,
    /// Migrations per second (equation 7).
    pub dynamicity: Option<f64>,
}

impl Report {
    /// The report on a profile.
    ///
    /// # Errors
    /// Homes for another number of threads; a page size that the profile does not support.
    pub fn of(profile: &PageProfile, question: Question<'_>) -> Result<Self, PagesError> {
        let usage = usage(profile, question.page_bytes)?;
        let seen = Seen::new(&usage, question.homes)?;
        let placements: Vec<(Mapping, Placement)> =
            mappings(question.min_excl).map(|mapping| (mapping, mapping.place(&seen))).collect();
        let mut served = Served::by(placements.iter().map(|(_, placement)| placement).collect());
        let structures = match &usage {
            Cow::Borrowed(_) => {
                let mut uses = Uses::of(profile, &seen);
                each_page(&seen, |at, by_node| {
                    served.add(at, by_node);
                    uses.add(at, by_node);
                });
                uses.finish()
            }
            Cow::Owned(_) => {
                each_page(&seen, |at, by_node| served.add(at, by_node));
                structures(profile, question.homes)?
            }
        };
        Ok(Self {
            pages: seen.pages().len(),
            untouched: seen.pages().iter().filter(|page| page.accesses == 0).count(),
            page_bytes: usage.page_bytes(),
            accesses: seen.accesses(),
            cut: seen.pages().iter().any(|page| page.accesses == u64::MAX),
            threads: usage.threads(),
            nodes: seen.nodes(),
            min_excl: question.min_excl,
            exclusivity: metrics::exclusivity(&seen),
            exclusive_percent: exclusive(&seen, question.min_excl),
            histogram: histogram(&seen),
            hottest: hottest(&seen),
            policies: policies(&seen, &placements, &served.local),
            linux: match &usage {
                Cow::Borrowed(_) => linux(&seen, profile.linux.as_ref()),
                Cow::Owned(_) => Err(NotObserved::PageSize(profile.usage.page_bytes())),
            },
            structures,
            sweep: if question.sweep { sweep(&seen) } else { Vec::new() },
            dynamicity: question.course.as_ref().and_then(|course| course.dynamicity),
            course: question.course,
        })
    }

    /// The result of a mapping, by name.
    #[must_use]
    pub fn policy(&self, name: &str) -> Option<&PolicyReport> {
        self.policies.iter().find(|policy| policy.mapping.name() == name)
    }

    /// Bytes of all pages.
    #[must_use]
    pub fn bytes(&self) -> u128 {
        self.pages as u128 * u128::from(self.page_bytes)
    }
}

fn usage(profile: &PageProfile, bytes: Option<u64>) -> Result<Cow<'_, Usage>, PagesError> {
    match bytes.filter(|bytes| *bytes != profile.usage.page_bytes()) {
        Some(bytes) => Ok(Cow::Owned(profile.usage.with_pages_of(bytes)?)),
        None => Ok(Cow::Borrowed(&profile.usage)),
    }
}

/// All mappings, with `mixed` at this exclusivity.
fn mappings(min_excl: f64) -> impl Iterator<Item = Mapping> {
    Mapping::ALL.into_iter().map(move |mapping| match mapping {
        Mapping::Mixed { .. } => Mapping::Mixed { min_excl },
        other => other,
    })
}

/// How the structures are used, at the page size of the profile.
fn structures(profile: &PageProfile, homes: &Homes) -> Result<Vec<StructureUse>, PagesError> {
    let seen = Seen::new(&profile.usage, homes)?;
    let mut uses = Uses::of(profile, &seen);
    each_page(&seen, |at, by_node| uses.add(at, by_node));
    Ok(uses.finish())
}

fn policies(seen: &Seen<'_>, placements: &[(Mapping, Placement)], local: &[u128]) -> Vec<PolicyReport> {
    let one = |((mapping, placement), local): (&(Mapping, Placement), &u128)| PolicyReport {
        mapping: *mapping,
        metrics: Metrics::of(seen, placement),
        remote: percent(seen.accesses().saturating_sub(*local), seen.accesses()),
        delta_b_acc: None,
        delta_loc_app: None,
    };
    let mut policies: Vec<PolicyReport> = placements.iter().zip(local).map(one).collect();
    let first = policies.first().map(|first| (first.metrics.b_acc, first.metrics.loc_app)).unwrap_or_default();
    for policy in &mut policies {
        policy.delta_b_acc = policy.metrics.b_acc.zip(first.0).map(|(here, first)| here - first);
        policy.delta_loc_app = policy.metrics.loc_app.zip(first.1).map(|(here, first)| here - first);
    }
    policies
}

fn sweep(seen: &Seen<'_>) -> Vec<SweepPoint> {
    let point = |step: u32| {
        let min_excl = f64::from(step) / 100.0;
        let metrics = Metrics::of(seen, &Mapping::Mixed { min_excl }.place(seen));
        SweepPoint { min_excl_percent: f64::from(step), b_acc: metrics.b_acc, loc_app: metrics.loc_app }
    };
    (0..=100 / SWEEP_STEP).map(|step| point(step * SWEEP_STEP)).collect()
}

fn exclusive(seen: &Seen<'_>, min_excl: f64) -> Option<f64> {
    let exclusive = |most: u64, all: u64| metrics::float(most.into()) > min_excl * metrics::float(all.into());
    let pages = seen.pages().iter().filter(|page| exclusive(page.most, page.accesses));
    percent(pages.map(|page| u128::from(page.accesses)).sum(), seen.accesses())
}

fn histogram(seen: &Seen<'_>) -> Vec<u128> {
    let mut bars = vec![0; BARS];
    for page in seen.pages().iter().filter(|page| page.accesses > 0) {
        // In whole numbers, so that a page exactly at a boundary falls into the bar that equation 1
        // gives.
        let bar = u128::from(page.most) * BARS as u128 / u128::from(page.accesses);
        let bar = usize::try_from(bar).unwrap_or(BARS).min(BARS - 1);
        bars[bar] += u128::from(page.accesses);
    }
    bars
}

fn hottest(seen: &Seen<'_>) -> Option<Hottest> {
    let pages = seen.usage().pages().iter().zip(seen.pages());
    let (page, most) = pages.max_by_key(|(page, seen)| (seen.accesses, std::cmp::Reverse(page.number)))?;
    let address = page.number.saturating_mul(seen.usage().page_bytes());
    Some(Hottest { address, percent: percent(most.accesses.into(), seen.accesses())? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Advice;
    use crate::report::examples::{matmul, profile, report};

    /// Table 2 with threads 0 to 3 on nodes 0 to 3.
    #[test]
    fn the_example_of_table_2() {
        let rows = [[1, 0, 1000, 0], [1, 1000, 0, 0], [1000, 0, 0, 0], [1000, 0, 0, 50]];
        let report = report(&profile(&rows, &[("array", 0..4)]), 4);
        assert_eq!((report.pages, report.accesses), (4, 4052));
        // First touch leaves all pages on node 0: of 4052 accesses, 2002 come from there.
        let first = report.policy("first-touch").unwrap();
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert!(close(first.remote, (1.0 - 2002.0 / 4052.0) * 100.0));
        let local = report.policy("locality").unwrap();
        assert!(close(local.remote, 52.0 / 4052.0 * 100.0));
        assert!(close(local.delta_loc_app, 100.0 - 2050.0 / 4052.0 * 100.0));
        assert!(close(local.delta_b_acc, (2050.0 * 4.0 / 4052.0 - 1.0) * 100.0 - 300.0));
        // Three pages have 1000 of 1000 or 1001 accesses from one node, the fourth 1000 of 1050.
        assert_eq!(report.histogram.iter().position(|bar| *bar > 0), Some(19));
        assert!(close(report.exclusive_percent, 100.0));
        let hottest = report.hottest.unwrap();
        assert_eq!((hottest.address, close(Some(hottest.percent), 1050.0 / 4052.0 * 100.0)), (3 * 4096, true));
    }

    #[test]
    fn a_sweep_runs_from_locality_to_interleave() {
        let profile = matmul();
        let homes = Homes::compact(4, 4).unwrap();
        let question = Question { homes: &homes, min_excl: 0.9, page_bytes: None, sweep: true, course: None };
        let report = Report::of(&profile, question).unwrap();
        assert_eq!(report.sweep.len(), 21);
        let at = |point: usize| (report.sweep[point].b_acc, report.sweep[point].loc_app);
        let of = |name: &str| {
            let metrics = &report.policy(name).unwrap().metrics;
            (metrics.b_acc, metrics.loc_app)
        };
        assert_eq!((at(0), at(20)), (of("locality"), of("interleave")));
        assert_eq!(at(18), of("mixed"));
    }

    #[test]
    fn larger_pages_are_made_of_the_same_accesses() {
        let profile = matmul();
        let homes = Homes::compact(4, 4).unwrap();
        let ask = |bytes| {
            let question =
                Question { homes: &homes, min_excl: 0.9, page_bytes: Some(bytes), sweep: false, course: None };
            Report::of(&profile, question)
        };
        let (small, large) = (ask(4096).unwrap(), ask(1 << 30).unwrap());
        assert_eq!((large.pages, large.accesses, large.bytes()), (1, small.accesses, 1 << 30));
        assert!(large.exclusivity < small.exclusivity);
        assert_eq!(large.structures, small.structures);
        assert!(ask(2048).unwrap_err().to_string().contains("of at least 4096"));
    }

    /// Each count is one that a file may contain; their sum exceeds 64 bits.
    #[test]
    fn accesses_that_cannot_be_counted_are_said_to_be_cut() {
        let of = |most| report(&profile(&[[most, 1, 0, 0], [1, 2, 3, 4]], &[("array", 0..2)]), 4);
        assert!(of(u64::MAX).cut && !of(u64::MAX - 2).cut);
        let given = Advice::of(&of(u64::MAX), &profile(&[[1; 4]], &[("array", 0..1)]), "a.csv");
        assert!(given.cautions.iter().any(|caution| caution.contains("2^64 - 1 accesses or more")), "{given:?}");
    }

    #[test]
    fn without_accesses_nothing_is_measured_and_nothing_is_nan() {
        let nothing = report(&profile(&[[0, 0, 0, 0]], &[("array", 0..1)]), 4);
        assert_eq!((nothing.pages, nothing.untouched, nothing.accesses), (1, 1, 0));
        assert_eq!((nothing.exclusivity, nothing.hottest, nothing.exclusive_percent), (None, None, None));
        assert!(nothing.policies.iter().all(|policy| policy.remote.is_none() && policy.metrics.b_acc.is_none()));
        let empty = report(&profile(&[], &[]), 4);
        assert_eq!((empty.pages, empty.exclusivity), (0, None));
    }
}
