//! `ucp` and `ucp-slowdown`: one partition per program, sized by the lookahead algorithm (see
//! [`super::lookahead`]).
//!
//! `ucp` (M. Qureshi, Y. Patt: *Utility-Based Cache Partitioning*, MICRO 2006) minimises the sum of
//! misses per 1000 instructions. `ucp-slowdown` runs the same algorithm on slowdown curves and
//! minimises the sum of slowdowns, which does not favour programs that miss much and hardly slow
//! down.
//!
//! *Departures from the paper.* Curves come from the profiles, not from shadow tags. More programs
//! than ways, or than classes of service, are refused, as by `equal`.

use super::entry::Setting;
use super::lookahead::lookahead;
use super::plain::{apart, strict};
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::solution::Group;
use isobar_model::profile::Property;

pub(super) fn misses(model: &dyn StaticModel, programs: &[usize], setting: &Setting) -> Result<Group, PartitionError> {
    strict("ucp", model, programs, setting)?;
    Ok(by(Property::Llcmpki, model, programs, setting))
}

pub(super) fn slowdown(
    model: &dyn StaticModel,
    programs: &[usize],
    setting: &Setting,
) -> Result<Group, PartitionError> {
    strict("ucp-slowdown", model, programs, setting)?;
    Ok(by(Property::Slowdown, model, programs, setting))
}

fn by(property: Property, model: &dyn StaticModel, programs: &[usize], setting: &Setting) -> Group {
    let curves: Vec<&[f64]> = programs.iter().map(|program| model.programs()[*program].column(property)).collect();
    apart(programs, &lookahead(&curves, model.ways(), setting.least(model.ways())))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, program};
    use super::*;

    #[test]
    fn misses_and_slowdowns_disagree() {
        // The first program misses much and hardly slows down, the second is the other way round.
        // Two ways to give: 10 misses per way against 1; slowdowns 1.02, 1.01, 1 against 3, 2, 1.
        let much = program(&[(1.0 / 1.02, 30.0), (1.0 / 1.01, 20.0), (1.0, 10.0)]);
        let slow = program(&[(1.0 / 3.0, 3.0), (0.5, 2.0), (1.0, 1.0)]);
        let ways = |name| answer(name, &[much.clone(), slow.clone()], 4, &Setting::new(1, 2))[0].clone();
        assert_eq!(ways("ucp"), [(vec![0], 3), (vec![1], 1)]);
        assert_eq!(ways("ucp-slowdown"), [(vec![0], 1), (vec![1], 3)]);
    }
}
