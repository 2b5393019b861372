//! `ucp` and `ucp-slowdown`: one partition a program, sized by the lookahead algorithm (see [`super::lookahead`]).
//!
//! `ucp` (M. Qureshi, Y. Patt: *Utility-Based Cache Partitioning*, MICRO 2006) makes the sum of misses per 1000 instructions small.
//! `ucp-slowdown` runs the same algorithm on slowdown curves: the sum of slowdowns, which does not favour programs that miss much and
//! mind little.
//!
//! *Departures from the paper.* Curves come from the profiles, not from shadow tags. More programs than ways, or than classes of
//! service, is refused, as by `equal`.

use super::Setting;
use super::lookahead::lookahead;
use super::plain::{apart, strict};
use crate::error::PartitionError;
use crate::model::StaticModel;
use crate::profile::Property;
use crate::solution::Group;

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
