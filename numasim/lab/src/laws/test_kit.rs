//! What the tests of the laws share: a machine, and lines as its guest would write them.

use numasim_guest::counters::Counters;
use numasim_model::{Overlap, Spec};

/// Two nodes with two CPUs each, and round figures. A CPU waits for each miss.
pub fn spec() -> Spec {
    let spec = Spec::parse(include_str!("../../../machines/small-2x2.toml"), "m").unwrap();
    Spec { overlap: Overlap::default(), ..spec }
}

/// A look at the page at one moment, under a label.
pub fn look(label: &str, counters: &Counters) -> String {
    format!("@look {label} {}\n", serde_json::to_string(counters).unwrap())
}

/// A millisecond of guest time in which the page counted this.
pub fn window(label: &str, counted: Counters) -> String {
    let (cpus, nodes) = (vec![Default::default(); counted.cpus.len()], vec![Default::default(); counted.nodes.len()]);
    let links = counted.links.iter().map(|link| numasim_guest::counters::Link { bytes: 0, ..link.clone() }).collect();
    look(label, &Counters { time_ns: 0, cpus, nodes, links })
        + &look(&super::plan::end(label), &Counters { time_ns: 1_000_000, ..counted })
}
