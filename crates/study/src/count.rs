//! How large the search spaces of workloads are (Divide&Content, table I).

use crate::ask::Source;
use crate::error::StudyError;
use crate::setup::{positive, ways};
use crate::workloads;
use serde::Serialize;
use std::collections::BTreeSet;

/// The search space of workloads of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Number of programs.
    pub apps: usize,
    /// Number of LLCs.
    pub groups: usize,
    /// Programs that fit on an LLC.
    pub cores: usize,
    /// Ways of every LLC.
    pub ways: usize,
    /// Number of ways to put programs into groups.
    pub mappings: u128,
    /// Number of ways to partition the groups' caches, each group by itself, summed over groups and
    /// mappings.
    pub solutions: u128,
}

/// The search spaces of one size (`apps`), or of the sizes that occur in a list of workloads,
/// ascending. Without `cores`, programs are spread evenly.
///
/// # Errors
/// [`StudyError`]: no size was given, or sizes do not fit.
pub fn counts(
    apps: Option<usize>,
    list: Option<Source<'_>>,
    groups: usize,
    cores: Option<usize>,
    asked_ways: usize,
) -> Result<Vec<Counted>, StudyError> {
    let sizes: BTreeSet<usize> = match (apps, list) {
        (Some(apps), _) => [positive("--apps", apps)?].into(),
        (None, Some(Source { file, text })) => {
            workloads::parse(file, text, None)?.iter().map(|workload| workload.programs.len()).collect()
        }
        (None, None) => return Err(StudyError::request("--count needs a size: add --apps N or --workloads FILE")),
    };
    let (groups, ways) = (positive("--groups", groups)?, ways(Some(asked_ways), 0)?);
    let cores = cores.map(|cores| positive("--cores", cores)).transpose()?;
    sizes.into_iter().map(|apps| counted(apps, groups, cores, ways)).collect()
}

fn counted(apps: usize, groups: usize, cores: Option<usize>, ways: usize) -> Result<Counted, StudyError> {
    let cores = cores.unwrap_or_else(|| apps.div_ceil(groups));
    if groups > apps {
        return Err(StudyError::request(format!(
            "{apps} programs cannot fill --groups {groups}: take {apps} or fewer"
        )));
    }
    if groups.saturating_mul(cores) < apps {
        let least = apps.div_ceil(groups);
        return Err(StudyError::request(format!(
            "{apps} programs do not fit on {groups} groups of --cores {cores}: take {least} or more"
        )));
    }
    let space = isobar_optima::count(apps, groups, Some(cores), ways);
    Ok(Counted { apps, groups, cores, ways, mappings: space.mappings, solutions: space.solutions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_one_of_the_paper() {
        let of = |apps, groups| {
            let counted = counts(Some(apps), None, groups, None, 16).unwrap()[0];
            (counted.mappings, counted.solutions)
        };
        assert_eq!((of(8, 2), of(12, 3)), ((35, 83_370), (5775, 20_634_075)));
        assert_eq!(of(16, 4), (2_627_625, 12_518_005_500));
    }

    #[test]
    fn sizes_of_a_list_count_once() {
        let list = Source { file: "w.txt", text: "a,b\nc,d # other names\na,b,c\n" };
        let sizes: Vec<_> = counts(None, Some(list), 1, None, 4).unwrap().iter().map(|one| one.apps).collect();
        assert_eq!(sizes, [2, 3]);
    }

    #[test]
    fn what_cannot_be_counted_says_why() {
        let said = |apps, groups, cores, ways| counts(apps, None, groups, cores, ways).unwrap_err().to_string();
        assert!(said(None, 1, None, 4).contains("--apps N"));
        assert!(said(Some(3), 4, None, 4).contains("cannot fill --groups 4"));
        assert!(said(Some(9), 2, Some(4), 4).contains("take 5 or more"));
        assert!(said(Some(9), 2, None, 0).contains("--ways 0"));
    }
}
