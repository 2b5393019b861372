//! Reads curves measured on a running machine from observations (`slowdown_by_ways`;
//! `isobar manage --json` prints observations), one JSON document per line. For each process name
//! the last known curve counts. Observations have no misses by ways, so the misses of the interval
//! stand for every way count. This is good enough to get the order in which programs fill a shared
//! partition, and for nothing else.

use crate::curves::{Curves, collect};
use crate::error::ReadError;
use crate::profiles::Profiles;
use isobar_model::wire::observation_from_json;
use isobar_model::{Process, num};
use std::collections::BTreeMap;

/// Reads observations.
pub(super) fn read(file: &str, text: &str) -> Result<Profiles, ReadError> {
    let mut known: BTreeMap<String, Curves> = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = u64::from(num::narrow(index + 1));
        let seen = observation_from_json(line).map_err(|error| ReadError::line(file, number, error.to_string()))?;
        let sampled = seen.processes.iter().filter_map(curves);
        known.extend(sampled.map(|curves| (curves.name.clone(), curves)));
    }
    if known.is_empty() {
        let problem = "no process has `slowdown_by_ways`: a policy that samples must have run for a while before \
                       curves are known";
        return Err(ReadError::file(file, problem));
    }
    let note = "observations have no misses by ways: the misses of their interval are used for every number of ways";
    let profiles = collect(file, &known.into_values().collect::<Vec<_>>())?;
    Ok(profiles.with_notes([note.to_owned()]))
}

fn curves(process: &Process) -> Option<Curves> {
    let slowdown = process.slowdown_by_ways.clone().filter(|slowdown| !slowdown.is_empty())?;
    let sum = |of: fn(&isobar_model::Thread) -> Option<u64>| process.threads.iter().map(of).sum::<Option<u64>>();
    let per_cycle = sum(|thread| thread.llc_misses).zip(sum(|thread| thread.cycles));
    let llcmpkc = per_cycle
        .filter(|(_, cycles)| *cycles > 0)
        .map(|(misses, cycles)| 1000.0 * num::float(misses) / num::float(cycles));
    let bandwidth: Option<f64> = process.threads.iter().map(|thread| thread.bandwidth.map(|rate| rate.0 / 1e6)).sum();
    Some(Curves {
        name: process.name.to_string(),
        llcmpkc: llcmpkc.map(|rate| vec![rate; slowdown.len()]),
        bandwidth_mbps: bandwidth.map(|rate| vec![rate; slowdown.len()]),
        slowdown: Some(slowdown),
        ..Curves::default()
    })
}
