//! Reads solutions from a file, to be evaluated as they are:
//!
//! ```json
//! {"solutions": [{"apps": ["a", "b"], "llc": [0, 0], "cluster": [0, 1], "ways": [9, 2]}]}
//! ```
//!
//! Every list has one value for each program. Programs with the same `llc` and `cluster` share
//! `ways`. Clusters take ways from way 0 up, in the order of their numbers, which need not be
//! consecutive. `"share": "llcmpki"` splits shared ways by misses per instruction, as PBBCache's
//! `whirlpool` does, instead of misses per cycle.

use crate::error::StudyError;
use crate::workloads::{Workload, unknown};
use isobar_model::profile::Property;
use isobar_partition::{Cluster, Group, Solution};
use isobar_profiles::Profiles;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An upper bound on LLCs: more than any machine has.
const MOST_GROUPS: usize = 1024;

/// A solution with the programs that it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedSolution {
    /// Names, in the solution's own order.
    pub programs: Vec<String>,
    /// The solution; programs are positions in `programs`.
    pub solution: Solution,
    /// The property by which shared ways are split.
    pub share: Property,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    solutions: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    apps: Vec<String>,
    llc: Vec<usize>,
    cluster: Vec<u64>,
    ways: Vec<usize>,
    share: Option<String>,
}

/// Reads a file of solutions; every program must be among `known`. Whether there are enough ways is
/// checked later ([`crate::setup::Setup::takes`]).
///
/// # Errors
/// [`StudyError::File`] with the place in the document.
pub fn parse(file: &str, text: &str, known: &Profiles) -> Result<Vec<FixedSolution>, StudyError> {
    let read = &mut serde_json::Deserializer::from_str(text);
    let parsed: File = serde_path_to_error::deserialize(read).map_err(|error| StudyError::Json {
        file: file.to_owned(),
        path: error.path().to_string(),
        cause: error.into_inner(),
    })?;
    if parsed.solutions.is_empty() {
        return Err(StudyError::file(file, "`solutions` is empty: give at least one"));
    }
    let given = |(index, written): (usize, &Written)| {
        let wrong = |problem: String| StudyError::file(file, format!("solutions[{index}]{problem}"));
        written.given(known).map_err(wrong)
    };
    parsed.solutions.iter().enumerate().map(given).collect()
}

impl Written {
    fn given(&self, known: &Profiles) -> Result<FixedSolution, String> {
        let count = self.apps.len();
        if count == 0 {
            return Err(".apps is empty: name at least one program".to_owned());
        }
        for (key, length) in [("llc", self.llc.len()), ("cluster", self.cluster.len()), ("ways", self.ways.len())] {
            if length != count {
                return Err(format!(".{key} has {length} values; it must have one for each of the {count} apps"));
            }
        }
        if let Some((index, name)) = self.apps.iter().enumerate().find(|(_, name)| known.profile(name).is_none()) {
            return Err(format!(".apps[{index}]: {}", unknown(name, known)));
        }
        Ok(FixedSolution { programs: self.apps.clone(), solution: self.solution()?, share: self.share()? })
    }

    fn share(&self) -> Result<Property, String> {
        match self.share.as_deref() {
            None | Some("llcmpkc") => Ok(Property::Llcmpkc),
            Some("llcmpki") => Ok(Property::Llcmpki),
            Some(other) => Err(format!(".share is `{other}`; it must be `llcmpkc` or `llcmpki`")),
        }
    }

    fn solution(&self) -> Result<Solution, String> {
        let mut clusters: BTreeMap<(usize, u64), Cluster> = BTreeMap::new();
        for (program, ((llc, cluster), ways)) in self.llc.iter().zip(&self.cluster).zip(&self.ways).enumerate() {
            if *ways == 0 {
                return Err(format!(".ways[{program}] is 0; a program needs at least 1 way"));
            }
            if *llc >= MOST_GROUPS {
                return Err(format!(".llc[{program}] is {llc}; LLCs are numbered from 0, at most {}", MOST_GROUPS - 1));
            }
            let there = clusters.entry((*llc, *cluster)).or_insert(Cluster { programs: Vec::new(), ways: *ways });
            if there.ways != *ways {
                return Err(format!(
                    ".ways[{program}] is {ways}, but cluster {cluster} of llc {llc} has {} ways: all of a \
                     cluster have the same",
                    there.ways
                ));
            }
            there.programs.push(program);
        }
        let groups = clusters.keys().map(|key| key.0 + 1).max().unwrap_or(1);
        let mut solution = Solution { groups: vec![Group::new(); groups] };
        clusters.into_iter().for_each(|((llc, _), cluster)| solution.groups[llc].push(cluster));
        Ok(solution)
    }
}

/// Workloads made from the solutions themselves, one each, for use if there is no other list.
pub fn workloads(given: &[FixedSolution]) -> Vec<Workload> {
    let own = |(index, given): (usize, &FixedSolution)| Workload { line: index + 1, programs: given.programs.clone() };
    given.iter().enumerate().map(own).collect()
}

impl FixedSolution {
    /// The solution, for a workload of the same programs in any order; `None` if the programs
    /// differ.
    pub(crate) fn for_workload(&self, workload: &Workload) -> Option<Solution> {
        if workload.programs.len() != self.programs.len() {
            return None;
        }
        let mut place = vec![None; self.programs.len()];
        for (position, name) in workload.programs.iter().enumerate() {
            let open = |(index, own): (usize, &String)| (place[index].is_none() && own == name).then_some(index);
            let index = self.programs.iter().enumerate().find_map(open)?;
            place[index] = Some(position);
        }
        let mut solution = self.solution.clone();
        for cluster in solution.groups.iter_mut().flatten() {
            cluster.programs.iter_mut().for_each(|program| *program = place[*program].unwrap_or_default());
            cluster.programs.sort_unstable();
        }
        Some(solution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Profiles {
        let curves = |name: &str| format!("[[program]]\nname = \"{name}\"\nipc = [1.0, 2.0]\nllcmpki = [2.0, 1.0]\n");
        isobar_profiles::read("p.toml", &["a", "b"].map(curves).concat()).unwrap()
    }

    fn read(solution: &str) -> Result<Vec<FixedSolution>, StudyError> {
        parse("s.json", &format!("{{\"solutions\": [{solution}]}}"), &known())
    }

    #[test]
    fn clusters_come_in_the_order_of_their_numbers() {
        let given = &read(r#"{"apps": ["a", "b", "a"], "llc": [1, 1, 0], "cluster": [7, 3, 0], "ways": [9, 2, 1]}"#)
            .unwrap()[0];
        let cluster = |programs: &[usize], ways| Cluster { programs: programs.to_vec(), ways };
        assert_eq!(given.solution.groups, [vec![cluster(&[2], 1)], vec![cluster(&[1], 2), cluster(&[0], 9)]]);
        let other = Workload { line: 1, programs: ["b", "a", "a"].map(str::to_owned).to_vec() };
        let moved = given.for_workload(&other).unwrap();
        assert_eq!(moved.groups, [vec![cluster(&[2], 1)], vec![cluster(&[0], 2), cluster(&[1], 9)]]);
        assert!(given.for_workload(&Workload { line: 1, programs: vec!["a".to_owned(); 3] }).is_none());
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        let said = |solution: &str| read(solution).unwrap_err().to_string();
        let good = r#"{"apps": ["a", "b"], "llc": [0, 0], "cluster": [0, 1], "ways": [9, 2]}"#;
        assert!(read(good).is_ok());
        assert!(said(&good.replace("[9, 2]", "[9, 0]")).starts_with("s.json: solutions[0].ways[1] is 0"));
        assert!(
            said(&good.replace("[9, 2]", "[9]"))
                .starts_with("s.json: solutions[0].ways has 1 values; it must have one for each of the 2")
        );
        assert!(
            said(&good.replace("[0, 1]", "[0, 0]")).contains("solutions[0].ways[1] is 2, but cluster 0 of llc 0 has 9")
        );
        assert!(said(&good.replace("\"b\"", "\"c\"")).contains("solutions[0].apps[1]: unknown program `c`"));
        assert!(said(&good.replace("[9, 2]", "[9, -2]")).contains("solutions[0].ways[1]: "));
        assert!(said(&good.replace("[0, 0]", "[0, 99999999]")).contains("solutions[0].llc[1] is 99999999"));
        assert!(said(&good.replace("\"ways\"", "\"way\"")).contains("unknown field `way`"));
        assert!(said(&good.replace("}", ", \"share\": \"x\"}")).contains("solutions[0].share is `x`"));
        assert!(said("").contains("`solutions` is empty"));
    }
}
