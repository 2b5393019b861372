//! A probe round as a JSON document.

use crate::machines::probe::Round;
use isobar_model::{NodeMatrix, num};
use serde_json::{Value, json};

/// One line of `isobar probe --json`; `time` is in seconds since the first round.
pub fn round(round: &Round, time: f64) -> Value {
    let cycles = round.now.filter_map(|figures| figures.median_cycles);
    let cycles = cycles.values().next().is_some().then(|| matrix(&cycles));
    let cost = round.now.nodes().iter().map(|node| round.cost.get(*node).map(|time| tenths(time.as_secs_f64() * 1e6)));
    json!({
        "time": tenths(time),
        "nodes": round.now.nodes(),
        "latency_ns": matrix(&round.now.filter_map(|figures| Some(figures.median_ns))),
        "p95_ns": matrix(&round.now.filter_map(|figures| Some(figures.p95_ns))),
        "cycles": cycles,
        "idle_ns": matrix(&round.lowest),
        "cost_us": cost.collect::<Vec<_>>(),
        "samples": matrix(&round.now.filter_map(|figures| Some(num::float_len(figures.kept)))),
        "dropped_samples": matrix(&round.now.filter_map(|figures| Some(num::float_len(figures.dropped)))),
        "rebound_pages": round.rebound,
        "not_measured": round.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Rows of figures with one decimal; `null` for a missing figure.
pub fn matrix(table: &NodeMatrix<f64>) -> Value {
    let row = |row: &[Option<f64>]| row.iter().map(|cell| cell.map(tenths)).collect::<Vec<_>>();
    json!(table.rows().map(row).collect::<Vec<_>>())
}

/// Rounds a figure to the resolution of a timer of nanoseconds.
fn tenths(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::NodeId;

    #[test]
    fn what_was_not_measured_is_null() {
        let nodes = vec![NodeId(0), NodeId(1)];
        let table = NodeMatrix::from_cells(nodes, vec![vec![Some(99.96), Some(180.0)], vec![None, None]]).unwrap();
        assert_eq!(matrix(&table), json!([[100.0, 180.0], [null, null]]));
    }
}
