//! Shows probe rounds to people: as a table, a line, or a live picture with the history. Pure.

use crate::machines::probe::Round;
use crate::text::{aligned, short};
use isobar_model::topology::AccessClass;
use isobar_model::{NodeId, NodeMatrix, Topology, num};
use std::collections::BTreeMap;

/// Number of rounds that are remembered for each pair.
const REMEMBERED: usize = 60;

/// Characters for bars from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The medians of the last rounds, by pair of nodes.
#[derive(Debug, Default)]
pub struct History(BTreeMap<(NodeId, NodeId), Vec<f64>>);

impl History {
    /// Adds a round.
    pub fn add(&mut self, round: &Round) {
        for (from, to) in pairs(&round.now) {
            if let Some(figures) = round.now.get(from, to) {
                let medians = self.0.entry((from, to)).or_default();
                medians.push(figures.median_ns);
                let surplus = medians.len().saturating_sub(REMEMBERED);
                medians.drain(..surplus);
            }
        }
    }
}

/// All figures of one round.
pub fn table(machine: &Topology, round: &Round) -> Vec<String> {
    let mut lines = vec![
        "Memory latency in ns, idle latency in brackets (row: node of the CPU; column: node of the memory)".to_owned(),
    ];
    lines.extend(matrix(&round.now, |from, to| now_and_idle(round, from, to)));
    lines.push("95th percentile in ns".to_owned());
    lines.extend(matrix(&round.now, |from, to| Some(ns(round.now.get(from, to)?.p95_ns))));
    if round.now.values().any(|figures| figures.median_cycles.is_some()) {
        lines.push("Memory latency in cycles of the time-stamp counter".to_owned());
        lines.extend(matrix(&round.now, |from, to| Some(ns(round.now.get(from, to)?.median_cycles?))));
    }
    if machine.access_classes().iter().any(|class| class.read_latency.is_some()) {
        lines.push("Read latency in ns by firmware (HMAT)".to_owned());
        lines.extend(matrix(&round.now, |from, to| firmware(machine.access_classes(), from, to).map(ns)));
    }
    lines.push("Idle: the lowest median of this run so far.".to_owned());
    lines.extend(notes(round));
    lines
}

/// One round in one line.
pub fn line(round: &Round, time: f64) -> String {
    let pair = |(from, to): (NodeId, NodeId)| {
        let cell = now_and_idle(round, from, to).unwrap_or_else(|| "-".to_owned());
        format!("{from}->{to} {cell}")
    };
    let cells: Vec<String> = pairs(&round.now).map(pair).collect();
    format!("{time:.1} s: {} ns", cells.join(", "))
}

/// One round with the history, no wider than `columns`.
pub fn live(round: &Round, history: &History, columns: usize) -> Vec<String> {
    let mut lines = vec!["Memory latency, ns (Ctrl-C ends)".to_owned()];
    let head = ["from", "to", "now", "p95", "idle", "rise", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (from, to) in pairs(&round.now) {
        let drawn = history.0.get(&(from, to)).map(|medians| sparkline(medians)).unwrap_or_default();
        let cells = round.now.get(from, to).zip(round.lowest.get(from, to)).map(|(figures, idle)| {
            let rise = (figures.median_ns / idle - 1.0) * 100.0;
            [ns(figures.median_ns), ns(figures.p95_ns), ns(*idle), format!("{rise:+.0} %")]
        });
        let [now, p95, idle, rise] = cells.unwrap_or_else(|| [(); 4].map(|()| "-".to_owned()));
        rows.push(vec![format!("node {from}"), format!("node {to}"), now, p95, idle, rise, drawn]);
    }
    lines.extend(aligned(&rows, &[0, 1, 6]));
    lines.extend(notes(round));
    lines.iter().map(|line| short(line, columns.saturating_sub(1))).collect()
}

/// Medians as bars. The scale goes from the lowest median to one and a half times that, or to the
/// highest if that is more, so that noise stays flat.
fn sparkline(medians: &[f64]) -> String {
    let low = medians.iter().copied().min_by(f64::total_cmp).unwrap_or_default();
    let high = medians.iter().copied().fold(low * 1.5, f64::max);
    let bar = |median: &f64| {
        let (step, _) = num::split((median - low) / (high - low).max(f64::MIN_POSITIVE) * num::float_len(BARS.len()));
        BARS[step.min(BARS.len() - 1)]
    };
    medians.iter().map(bar).collect()
}

/// What the round cost, and what went wrong.
fn notes(round: &Round) -> Vec<String> {
    let cost = round.cost.iter().map(|(node, time)| format!("node {node} {:.0} us", time.as_secs_f64() * 1e6));
    let cost: Vec<String> = cost.collect();
    let mut notes = vec![format!("CPU time of the probes: {}", cost.join(", "))];
    if round.rebound > 0 {
        notes.push(format!("Pages of the probe that were moved to other nodes and are back: {}", round.rebound));
    }
    notes.extend(round.problems.iter().map(|why| format!("Not measured: {why}")));
    notes
}

/// A table of nodes by nodes; `-` for a missing value.
pub fn matrix<T>(shape: &NodeMatrix<T>, cell: impl Fn(NodeId, NodeId) -> Option<String>) -> Vec<String> {
    let nodes = shape.nodes();
    let mut rows = vec![std::iter::once(String::new()).chain(nodes.iter().map(|to| format!("node {to}"))).collect()];
    rows.extend(nodes.iter().map(|from| {
        let cells = nodes.iter().map(|to| cell(*from, *to).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(format!("node {from}")).chain(cells).collect()
    }));
    aligned(&rows, &[0]).iter().map(|line| format!("  {line}")).collect()
}

fn now_and_idle(round: &Round, from: NodeId, to: NodeId) -> Option<String> {
    Some(format!("{} ({})", ns(round.now.get(from, to)?.median_ns), ns(*round.lowest.get(from, to)?)))
}

/// The latency that firmware reports for a pair. The kernel shows the figures of the nearest
/// initiators only.
fn firmware(classes: &[AccessClass], from: NodeId, to: NodeId) -> Option<f64> {
    let of = |class: &&AccessClass| class.memory == to && class.initiators.contains(&from);
    classes.iter().filter(of).find_map(|class| Some(class.read_latency?.0))
}

fn pairs<T>(shape: &NodeMatrix<T>) -> impl Iterator<Item = (NodeId, NodeId)> {
    shape.nodes().iter().flat_map(|from| shape.nodes().iter().map(|to| (*from, *to)))
}

fn ns(figure: f64) -> String {
    format!("{figure:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::probe::Figures;
    use isobar_model::NodeMap;
    use isobar_model::topology::synthetic::synthetic;
    use std::time::Duration;

    fn round(medians: [Option<f64>; 4], lowest: [Option<f64>; 4]) -> Round {
        let nodes = || vec![NodeId(0), NodeId(1)];
        let figures =
            |median_ns: f64| Figures { median_ns, p95_ns: median_ns * 1.5, median_cycles: None, kept: 160, dropped: 0 };
        let of = |cells: [Option<f64>; 4]| {
            NodeMatrix::from_cells(nodes(), cells.chunks(2).map(<[_]>::to_vec).collect()).unwrap()
        };
        Round {
            now: of(medians).filter_map(|median| Some(figures(*median))),
            lowest: of(lowest),
            cost: NodeMap::from_iter([(NodeId(0), Duration::from_micros(81))]),
            problems: Vec::new(),
            rebound: 0,
        }
    }

    #[test]
    fn a_table_has_a_dash_for_what_was_not_measured() {
        let round = round([Some(120.0), Some(200.4), None, None], [Some(100.0), Some(180.0), None, None]);
        let drawn = table(&synthetic("node:2 core:1").unwrap(), &round).join("\n");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&drawn).contains("node 0 120 (100) 200 (180) node 1 - -"), "{drawn}");
        assert!(drawn.contains("node 0 81 us") && !drawn.contains("HMAT"), "{drawn}");
        assert_eq!(line(&round, 4.0), "4.0 s: 0->0 120 (100), 0->1 200 (180), 1->0 -, 1->1 - ns");
    }

    #[test]
    fn a_rise_is_seen_and_noise_is_not() {
        assert_eq!(sparkline(&[100.0, 104.0, 101.0]), "▁▁▁");
        assert_eq!(sparkline(&[100.0, 114.0, 131.0]), "▁▃▅", "50 in eight steps of 6.25: 2.2 and 5.0 less a little");
        // From 100 to 400 in eight steps of 37.5: 290 is 5.07 steps up.
        assert_eq!(sparkline(&[100.0, 400.0, 290.0]), "▁█▆");
        let mut history = History::default();
        for median in [100.0, 100.0, 300.0] {
            history.add(&round([Some(median), None, None, None], [Some(100.0), None, None, None]));
        }
        let drawn = live(&round([Some(300.0), None, None, None], [Some(100.0), None, None, None]), &history, 200);
        assert!(drawn[2].contains("+200 %") && drawn[2].contains("▁▁█"), "{drawn:?}");
        let narrow = live(&round([Some(300.0), None, None, None], [Some(100.0), None, None, None]), &history, 40);
        assert!(narrow.iter().all(|line| line.chars().count() < 40), "{narrow:?}");
    }
}
