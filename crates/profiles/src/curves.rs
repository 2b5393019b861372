//! Reads profiles in isobar's own form, TOML or JSON: one array per figure, indexed by ways, the
//! first value with one way.
//!
//! ```toml
//! [[program]]
//! name = "sweep"
//! ipc = [0.8, 0.9, 1.0]              # or slowdown = [1.25, 1.11, 1.0]
//! llcmpki = [20.0, 15.0, 12.0]       # per 1000 instructions; llcmpkc follows from it and ipc
//! bandwidth_mbps = [2500, 2100, 1900]
//! stalls_total = [0.5, 0.4, 0.3]     # parts of the cycles, for pbbcache-stalls
//! stalls_l3_miss = [0.4, 0.3, 0.2]
//! stalls_store_buf = [0.01, 0.01, 0.01]
//! llc_usage_kb = [2500, 5000, 7500]  # for the queueing model: occupied space, bandwidth by misses
//! llcm_bandwidth = [2000, 1700, 1500]
//! ```
//!
//! Curves measured on a running machine are saved in the same form: sampling yields `ipc` (or
//! `slowdown`) and `llcmpkc` by ways. If sampling stopped early, arrays are shorter, and the last
//! value stands for all larger way counts. Without `bandwidth_mbps`, `llcm_bandwidth` is used
//! instead.

use crate::error::ReadError;
use crate::profiles::Profiles;
use isobar_model::num;
use isobar_model::profile::{Profile, Row};
use serde::Deserialize;
use std::collections::BTreeSet;

/// An upper bound on ways: more than any cache has.
const MOST_WAYS: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    program: Vec<Curves>,
}

/// One program as the file has it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curves {
    pub name: String,
    pub ipc: Option<Vec<f64>>,
    pub slowdown: Option<Vec<f64>>,
    pub llcmpki: Option<Vec<f64>>,
    pub llcmpkc: Option<Vec<f64>>,
    pub bandwidth_mbps: Option<Vec<f64>>,
    pub llcm_bandwidth: Option<Vec<f64>>,
    pub llc_usage_kb: Option<Vec<f64>>,
    pub stalls_total: Option<Vec<f64>>,
    pub stalls_l3_miss: Option<Vec<f64>>,
    pub stalls_store_buf: Option<Vec<f64>>,
}

/// Reads a file of curves.
pub(super) fn read(file: &str, text: &str, json: bool) -> Result<Profiles, ReadError> {
    let parsed: File = if json { from_json(file, text)? } else { from_toml(file, text)? };
    if parsed.program.is_empty() {
        return Err(ReadError::file(
            file,
            "holds no program: write a section [[program]] with name, ipc and llcmpki for each",
        ));
    }
    collect(file, &parsed.program)
}

/// Turns curves into profiles. A name may occur only once.
pub(super) fn collect(file: &str, all: &[Curves]) -> Result<Profiles, ReadError> {
    let mut names = BTreeSet::new();
    let mut profiles = Vec::with_capacity(all.len());
    for curves in all {
        profiles.push(curves.profile(file)?);
        if !names.insert(&curves.name) {
            return Err(ReadError::file(file, format!("program `{}` occurs twice; remove one", curves.name)));
        }
    }
    let note = |without: fn(&Curves) -> bool, what: &str| {
        let names: Vec<_> = all.iter().filter(|one| without(one)).map(|one| one.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{} {what}", listed(&names)))
    };
    let notes = [
        note(Curves::without_misses, "without llcmpki and llcmpkc: treated as having no misses"),
        note(
            |one| one.bandwidth_mbps.is_none() && one.llcm_bandwidth.is_none(),
            "without bandwidth_mbps and llcm_bandwidth: treated as using no bandwidth",
        ),
    ];
    let relative = all.iter().filter(|one| one.ipc.is_none() || one.without_misses());
    let relative = relative.map(|one| one.name.clone()).collect();
    Ok(Profiles::new(file, profiles).with_relative(relative).with_notes(notes.into_iter().flatten()))
}

/// The first few names of a list.
fn listed(names: &[&str]) -> String {
    let first = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 3 { format!("{first} and {} more", names.len() - 3) } else { first }
}

fn from_toml(file: &str, text: &str) -> Result<File, ReadError> {
    toml::from_str(text).map_err(|error| {
        let before = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let line = error.span().map_or(1, |span| 1 + before(span.start));
        ReadError::line(file, u64::from(num::narrow(line)), error.message())
    })
}

fn from_json(file: &str, text: &str) -> Result<File, ReadError> {
    serde_json::from_str(text).map_err(|error| ReadError::file(file, error.to_string()))
}

impl Curves {
    fn profile(&self, file: &str) -> Result<Profile, ReadError> {
        let ways = self.length(file)?;
        let rows = (0..ways).map(|index| self.row(index)).collect();
        Profile::new(&self.name, rows).map_err(|cause| ReadError::figures(file, cause))
    }

    const fn without_misses(&self) -> bool {
        self.llcmpki.is_none() && self.llcmpkc.is_none()
    }

    /// The number of ways. All arrays must have the same length.
    fn length(&self, file: &str) -> Result<usize, ReadError> {
        let wrong = |problem: String| Err(ReadError::file(file, format!("program `{}`: {problem}", self.name)));
        let (key, first) = match (&self.ipc, &self.slowdown) {
            (Some(ipc), None) => ("ipc", ipc),
            (None, Some(slowdown)) => ("slowdown", slowdown),
            (Some(_), Some(_)) => return wrong("both `ipc` and `slowdown` are given; remove one".to_owned()),
            (None, None) => return wrong("`ipc` is missing: an array over ways 1, 2, ...".to_owned()),
        };
        if first.is_empty() || first.len() > MOST_WAYS {
            return wrong(format!("`{key}` has {} values; list one for each way, 1 to {MOST_WAYS}", first.len()));
        }
        if let Some(bad) = first.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            return wrong(format!("`{key}` holds {bad}; every value must be above 0"));
        }
        let short = self.rest().into_iter().filter_map(|(key, column)| Some((key, column.as_ref()?.len())));
        match short.into_iter().find(|(_, length)| *length != first.len()) {
            Some((other, length)) => {
                wrong(format!("`{other}` has {length} values, `{key}` has {}: list one for each way", first.len()))
            }
            None => Ok(first.len()),
        }
    }

    const fn rest(&self) -> [(&'static str, &Option<Vec<f64>>); 8] {
        [
            ("llcmpki", &self.llcmpki),
            ("llcmpkc", &self.llcmpkc),
            ("bandwidth_mbps", &self.bandwidth_mbps),
            ("llcm_bandwidth", &self.llcm_bandwidth),
            ("llc_usage_kb", &self.llc_usage_kb),
            ("stalls_total", &self.stalls_total),
            ("stalls_l3_miss", &self.stalls_l3_miss),
            ("stalls_store_buf", &self.stalls_store_buf),
        ]
    }

    fn row(&self, index: usize) -> Row {
        let at = |column: &Option<Vec<f64>>| column.as_ref().map(|column| column[index]);
        let rate = |column: &Option<Vec<f64>>| at(column).unwrap_or_default();
        let ipc = at(&self.ipc).unwrap_or_else(|| 1.0 / at(&self.slowdown).unwrap_or(1.0));
        let llcmpki = at(&self.llcmpki).or_else(|| Some(at(&self.llcmpkc)? / ipc)).unwrap_or_default();
        Row {
            ipc,
            llcmpki,
            llcmpkc: at(&self.llcmpkc).unwrap_or(llcmpki * ipc),
            llc_usage_kb: rate(&self.llc_usage_kb),
            bandwidth_mbps: at(&self.bandwidth_mbps).unwrap_or_else(|| rate(&self.llcm_bandwidth)),
            llcm_bandwidth: rate(&self.llcm_bandwidth),
            stalls_l3_miss: rate(&self.stalls_l3_miss),
            stalls_total: rate(&self.stalls_total),
            stalls_store_buf: rate(&self.stalls_store_buf),
        }
    }
}
