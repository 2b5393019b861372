//! Where the bandwidth of threads comes from on this machine: monitor groups, otherwise LLC misses.
//! The bandwidth of an interval is computed by [`isobar_model::Observation::between`].

use isobar_model::{Monitored, Pid, Sample};
use std::collections::BTreeMap;

/// Bytes of a cache line: on x86, and on nearly all other servers.
const LINE: u64 = 64;

/// Adds the raw totals to a sample, and says in one line where bandwidth comes from; `None` if
/// there is no source.
pub(super) fn add(sample: &mut Sample, monitored: BTreeMap<Pid, Monitored>) -> Option<&'static str> {
    let (mut by_monitor, mut by_misses) = (false, false);
    for process in &sample.processes {
        let monitored = monitored.get(&process.pid);
        for thread in process.threads.iter().filter(|thread| thread.counters.bytes.is_none()) {
            let is_monitored = monitored.is_some_and(|monitored| monitored.threads.contains(&thread.tid));
            by_monitor |= is_monitored;
            by_misses |= !is_monitored && thread.counters.llc_misses.is_some();
        }
    }
    sample.indirect.monitored = monitored;
    sample.indirect.bytes_per_miss = Some(LINE);
    match (by_monitor, by_misses) {
        (false, false) => None,
        (true, false) => Some("bandwidth is read from resctrl monitor groups (mbm_total_bytes)"),
        (false, true) => Some("bandwidth is computed as LLC misses x 64 bytes, without write-backs and prefetches"),
        (true, true) => Some(
            "bandwidth is read from resctrl monitor groups (mbm_total_bytes); for threads outside of them it is LLC \
             misses x 64 bytes",
        ),
    }
}
