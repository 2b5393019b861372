//! The workloads of the paper: table 2, with the allocation maps of table 3, and the four clones of
//! section 3.1. They ship as examples for `isobar sim` with all memory on node 0; other maps only
//! move the homes.
//!
//! All fourteen programs are in the library, `sphinx` as `sphinx3` and `h264` as `h264ref`; table 2
//! writes gamess with one s too many. The maps are those that the paper runs: all eight for WL1 and
//! WL9 (section 4.3), 0000 for the others (section 4.4).

use crate::error::LabError;
use crate::reproduce::options::Options;
use isobar_model::NodeId;
use isobar_sim::Workload;

macro_rules! example {
    ($name:literal) => {
        include_str!(concat!("../../../../../examples/workloads/nmass-", $name, ".toml"))
    };
}

/// Table 2.
const TABLE: [(&str, &str); 11] = [
    ("WL1", example!("wl1")),
    ("WL2", example!("wl2")),
    ("WL3", example!("wl3")),
    ("WL4", example!("wl4")),
    ("WL5", example!("wl5")),
    ("WL6", example!("wl6")),
    ("WL7", example!("wl7")),
    ("WL8", example!("wl8")),
    ("WL9", example!("wl9")),
    ("WL10", example!("wl10")),
    ("WL11", example!("wl11")),
];
/// The workloads at the ends of the spectrum of memory-boundedness, run with every map (section
/// 4.3).
pub(super) const BOTH_ENDS: [&str; 2] = ["WL1", "WL9"];
/// The maps of table 3, the balanced ones first.
pub(super) const MAPS: [&str; 8] = ["1100", "1010", "1001", "1000", "0100", "0010", "0001", "0000"];

/// A workload with an allocation map.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Its name in table 2.
    pub name: &'static str,
    /// The home of each process, `0` or `1`.
    pub map: String,
    pub workload: Workload,
}

impl Case {
    /// Whether all memory is on node 0.
    pub fn is_on_one_node(&self) -> bool {
        !self.map.contains('1')
    }
}

/// All cases that the paper runs.
pub(super) fn cases(options: &Options) -> Result<Vec<Case>, LabError> {
    let mut cases = Vec::new();
    for (name, text) in TABLE {
        let workload = read(name, text, options)?;
        if BOTH_ENDS.contains(&name) {
            cases.extend(MAPS.map(|map| case(name, map.to_owned(), &workload)));
        } else {
            cases.push(case(name, "0".repeat(workload.apps.len()), &workload));
        }
    }
    Ok(cases)
}

/// The four clones of soplex.
pub(super) fn clones(options: &Options) -> Result<Workload, LabError> {
    read("four clones of soplex", example!("soplex"), options)
}

fn case(name: &'static str, map: String, workload: &Workload) -> Case {
    let mut workload = workload.clone();
    for (app, home) in workload.apps.iter_mut().zip(map.chars()) {
        app.memory_node = Some(NodeId(u32::from(home == '1')));
    }
    Case { name, map, workload }
}

/// Three runs of each program as in section 4.1; quick: one run of half the length.
fn read(name: &str, text: &str, options: &Options) -> Result<Workload, LabError> {
    let mut workload = Workload::from_toml(name, text)?;
    if options.quick {
        workload.run.runs = 1;
        workload.run.instructions_factor = 0.5;
    }
    options.vary(workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 2: the number of programs, and how many of them are memory-bound; by section 4.5 these
    /// have 1 MPKI or more. Table 2 counts sphinx as compute-bound, but ours is not (see its
    /// remarks in the library).
    #[test]
    fn table_2_is_told_right() {
        let counts = |name: &str| {
            let (_, text) = TABLE.iter().find(|(known, _)| *known == name).unwrap();
            let apps = Workload::from_toml(name, text).unwrap().apps;
            let bound = |mib: f64| move |app: &&isobar_sim::App| app.program.mpki.misses(mib * 1_048_576.0) >= 0.001;
            let memory = apps.iter().filter(|app| app.program.name != "sphinx3").filter(bound(8.0)).count();
            assert!(apps.iter().all(|app| app.memory_node == Some(NodeId(0))));
            (memory, apps.len() - memory)
        };
        let counted = TABLE.map(|(name, _)| counts(name));
        let printed = [(1, 3), (2, 2), (2, 2), (2, 2), (2, 2), (1, 3), (2, 2), (3, 1), (4, 0), (3, 5), (4, 4)];
        assert_eq!(counted, printed);
    }

    #[test]
    fn maps_are_those_of_table_3_and_move_homes() {
        let all = cases(&Options { quick: true, seed: 1, jobs: 1, varied: None }).unwrap();
        assert_eq!(all.len(), 2 * 8 + 9);
        let one = all.iter().find(|case| case.name == "WL9" && case.map == "1010").unwrap();
        let homes: Vec<_> = one.workload.apps.iter().map(|app| app.memory_node.unwrap().0).collect();
        assert_eq!(homes, [1, 0, 1, 0]);
    }
}
