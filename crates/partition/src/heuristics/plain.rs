//! `none` and `equal`: the baselines.
//!
//! `none`: all programs of a group share all its ways. `equal`: every program has a partition of
//! its own, with ways divided as evenly as possible; if they do not divide evenly, the first
//! programs get one more. More programs than ways, or than classes of service, are refused: strict
//! partitioning has no answer in that case.

use super::entry::Setting;
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::solution::{Cluster, Group};

pub(super) fn none(model: &dyn StaticModel, programs: &[usize], _: &Setting) -> Result<Group, PartitionError> {
    Ok(vec![Cluster { programs: programs.to_vec(), ways: model.ways() }])
}

pub(super) fn equal(model: &dyn StaticModel, programs: &[usize], setting: &Setting) -> Result<Group, PartitionError> {
    strict("equal", model, programs, setting)?;
    let (each, rest) = (model.ways() / programs.len(), model.ways() % programs.len());
    let ways: Vec<usize> = (0..programs.len()).map(|index| each + usize::from(index < rest)).collect();
    Ok(apart(programs, &ways))
}

/// One partition per program.
pub(super) fn apart(programs: &[usize], ways: &[usize]) -> Group {
    programs.iter().zip(ways).map(|(program, ways)| Cluster { programs: vec![*program], ways: *ways }).collect()
}

/// Refuses a workload for which strict partitioning is impossible, in one line that names an
/// alternative.
pub(super) fn strict(
    heuristic: &'static str,
    model: &dyn StaticModel,
    programs: &[usize],
    setting: &Setting,
) -> Result<(), PartitionError> {
    let (count, ways, least) = (programs.len(), model.ways(), setting.least(model.ways()));
    let refused = |why: String| {
        let remedy = "take a clustering algorithm (lfoc+, kpart) or fewer programs a group";
        Err(PartitionError::Refused {
            heuristic,
            why: format!("{count} programs need a partition each, {why}; {remedy}"),
        })
    };
    match setting.max_clusters {
        Some(most) if count > most => refused(format!("the LLC has {most} classes of service")),
        _ if count * least > ways => refused(format!("of at least {least} ways, the LLC has {ways}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, program, refusal};
    use super::*;

    #[test]
    fn the_first_programs_get_the_remainder() {
        // 11 ways for 4 programs: 3, 3, 3 and 2.
        let programs = vec![program(&[(1.0, 1.0)]); 4];
        let ways: Vec<usize> = answer("equal", &programs, 11, &Setting::new(1, 4))[0].iter().map(|c| c.1).collect();
        assert_eq!(ways, [3, 3, 3, 2]);
        assert_eq!(answer("none", &programs, 11, &Setting::new(1, 4))[0], [(vec![0, 1, 2, 3], 11)]);
    }

    #[test]
    fn what_cannot_be_strict_is_refused_with_the_remedy() {
        let programs = vec![program(&[(1.0, 1.0)]); 3];
        let said = |setting: Setting| refusal("equal", &programs, 4, &setting);
        let coarse = said(Setting { min_ways: 2, ..Setting::new(1, 3) });
        assert!(
            coarse.contains("3 programs need a partition each, of at least 2 ways, the LLC has 4; take"),
            "{coarse}"
        );
        let few = said(Setting { max_clusters: Some(2), ..Setting::new(1, 3) });
        assert!(few.contains("the LLC has 2 classes of service"), "{few}");
    }
}
