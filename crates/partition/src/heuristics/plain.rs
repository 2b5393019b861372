//! `none` and `equal`: what everything else is compared with.
//!
//! `none`: all programs of a group share all its ways. `equal`: every program has a partition of its own, ways as even as they come;
//! the first programs get one more where they do not divide. More programs than ways, or than classes of service, is refused: strict
//! partitioning has no answer there.

use super::Setting;
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

/// One partition a program.
pub(super) fn apart(programs: &[usize], ways: &[usize]) -> Group {
    programs.iter().zip(ways).map(|(program, ways)| Cluster { programs: vec![*program], ways: *ways }).collect()
}

/// Refuses what strict partitioning cannot do, in one line that says what can.
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
