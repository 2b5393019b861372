//! What the tasks do to the caches: bytes by task and domain, set by tests or read from a file
//! outside the mount. Knows no groups and no RMIDs; `resctrl/monitor.rs` credits these bytes to
//! them.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A task's doings in one domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the cache that it fills now.
    pub occupancy: u64,
    /// Bytes that it moved since it was born, to all nodes.
    pub total: u64,
    /// Bytes that it moved since it was born, to its own node.
    pub local: u64,
}

/// By task and domain.
pub type TrafficMap = BTreeMap<(u32, u32), Traffic>;

/// Reads traffic from text: a line `TID DOMAIN OCCUPANCY TOTAL LOCAL` for each; what does not read
/// so (half a line that is just being written) is left out.
#[must_use]
pub fn parse(text: &str) -> TrafficMap {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<((u32, u32), Traffic)> {
    let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let task = (u32::try_from(next()?).ok()?, u32::try_from(next()?).ok()?);
    Some((task, Traffic { occupancy: next()?, total: next()?, local: next()? }))
}

/// A file that is read again whenever the counters matter.
#[derive(Debug, Clone)]
pub struct TrafficFile(pub PathBuf);

impl TrafficFile {
    /// What it says now; nothing where it cannot be read.
    #[must_use]
    pub fn read(&self) -> TrafficMap {
        std::fs::read_to_string(&self.0).map(|text| parse(&text)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_read_and_half_ones_left() {
        let found = parse("7 0 4096 100 60\n7 1 0 5 5\n\n8 0 1 2\nx\n");
        let traffic = |occupancy, total, local| Traffic { occupancy, total, local };
        assert_eq!(found, TrafficMap::from([((7, 0), traffic(4096, 100, 60)), ((7, 1), traffic(0, 5, 5))]));
    }
}
