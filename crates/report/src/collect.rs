//! Turns the epochs of a run into a report.

use crate::actions::Decided;
use crate::data::{Division, Head, Latency, Llc, Node, Report};
use crate::lanes::Lanes;
use crate::programs::Programs;
use crate::series::{Series, Spans};
use crate::summary;
use isobar_model::text::plain;
use isobar_model::{LlcId, NodeId, num};
use isobar_view::{Cluster, LlcView, Moment, View};
use std::collections::BTreeMap;

/// Collects epochs.
#[derive(Debug)]
pub struct Collector {
    spans: Spans,
    times: Vec<f64>,
    nodes: BTreeMap<NodeId, Node>,
    latency: BTreeMap<(NodeId, NodeId), Latency>,
    llcs: BTreeMap<LlcId, Llc>,
    lanes: Lanes,
    programs: Programs,
    decided: Decided,
    last: Option<View>,
    acts: bool,
}

impl Collector {
    /// A collector for a run whose first and last epochs are known.
    #[must_use]
    pub fn new(first: u64, last: u64) -> Self {
        Self {
            spans: Spans::over(first, last),
            times: Vec::new(),
            nodes: BTreeMap::new(),
            latency: BTreeMap::new(),
            llcs: BTreeMap::new(),
            lanes: Lanes::default(),
            programs: Programs::default(),
            decided: Decided::default(),
            last: None,
            acts: false,
        }
    }

    /// Adds an epoch, with the view of it.
    pub fn take(&mut self, moment: &Moment<'_>, view: View) {
        let span = self.spans.of(moment.number);
        if self.times.len() <= span {
            self.times.resize(span + 1, 0.0);
        }
        self.times[span] = (view.time_seconds * 1000.0).round() / 1000.0;
        self.nodes(span, &view);
        self.llcs(span, &view);
        self.lanes.take(moment.seen);
        self.programs.take(span, &view);
        self.decided.take(moment, &view);
        self.acts |= view.acts;
        self.last = Some(view);
    }

    fn nodes(&mut self, span: usize, view: &View) {
        for seen in &view.nodes {
            let (id, cpus, memory_bytes) = (seen.id, seen.cpus, seen.memory_bytes);
            let node = self.nodes.entry(id).or_insert_with(|| Node { id, cpus, memory_bytes, ..Node::default() });
            node.busy.add(span, seen.busy);
            node.load.add(span, seen.load());
            node.latency_ns.add(span, seen.latency_ns);
        }
        for (at, node) in self.nodes.values_mut().enumerate() {
            let pages = view.programs.iter().filter_map(|one| one.pages.as_ref()?.get(at));
            let pages: Vec<u64> = pages.copied().collect();
            node.pages.add(span, (!pages.is_empty()).then(|| num::float(pages.iter().sum())));
        }
        for pair in &view.latency {
            let (from, to, idle_ns) = (pair.from, pair.to, pair.idle_latency_ns);
            let kept = || Latency { from, to, idle_ns, values: Series::default() };
            self.latency.entry((from, to)).or_insert_with(kept).values.add(span, Some(pair.latency_ns));
        }
    }

    fn llcs(&mut self, span: usize, view: &View) {
        for seen in &view.llcs {
            let (id, nodes, ways) = (seen.id, seen.nodes.clone(), seen.ways);
            let llc = self.llcs.entry(id).or_insert_with(|| Llc { id, nodes, ways, ..Llc::default() });
            llc.pressure.add(span, seen.pressure);
            let clusters = clusters(seen, view);
            let last = llc.divisions.last().map(|division| &division.clusters);
            if last.map_or(!clusters.is_empty(), |last| *last != clusters) && llc.divisions.len() < DIVISIONS {
                llc.divisions.push(Division { seconds: view.time_seconds, clusters });
            }
        }
    }

    /// The report on the epochs collected.
    #[must_use]
    pub fn finish(self, head: Head) -> Report {
        let (programs, positions, harms, others) = self.programs.finish();
        let position = |pid| positions.iter().find(|((other, _), _)| *other == pid).map(|(_, at)| *at);
        let (lanes, threads) = self.lanes.busiest(position);
        let (count, cut) = (self.decided.count, self.decided.left_out);
        let (actions, changes, notes) = self.decided.finish(&positions);
        let gaps = self.last.iter().flat_map(|view| &view.gaps).map(|gap| (gap.what.clone(), gap.why.clone()));
        let mut report = Report {
            head,
            times: self.times,
            nodes: self.nodes.into_values().collect(),
            latency: self.latency.into_values().collect(),
            llcs: self.llcs.into_values().collect(),
            programs,
            lanes,
            harms,
            actions,
            changes,
            notes,
            gaps: gaps.collect(),
            left_out: left_out(others, threads, cut),
            summary: Vec::new(),
        };
        report.summary = summary::of(&report, self.last.as_ref(), self.acts, count);
        report
    }
}

/// Maximum number of changes of a cache's division that are kept.
const DIVISIONS: usize = 500;

fn clusters(llc: &LlcView, view: &View) -> Vec<(String, u32, u32, Vec<String>)> {
    let name = |pid| view.programs.iter().find(|one| one.pid == pid).map(|one| plain(&one.name).into_owned());
    let one = |cluster: &Cluster| {
        let names = cluster.programs.iter().filter_map(|pid| name(*pid)).collect();
        let (first, ways) = (cluster.way_mask.trailing_zeros(), cluster.way_mask.count_ones());
        (plain(&cluster.name).into_owned(), first, ways, names)
    };
    llc.clusters.iter().map(one).collect()
}

fn left_out(programs: usize, threads: usize, actions: u64) -> Vec<String> {
    let counts =
        [(programs, "programs"), (threads, "threads"), (usize::try_from(actions).unwrap_or(usize::MAX), "actions")];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} more {what}")).collect()
}
