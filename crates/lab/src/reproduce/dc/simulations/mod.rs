//! Section IV: the 240 workloads under the static model, answered by the theoretical approaches and
//! by Divide&Content itself.

mod approaches;
mod claims;
mod figures;
mod study;
mod workloads;

pub(super) use claims::{dc_1, dc_2};
pub(super) use figures::{figure_5, figure_6};
pub(super) use study::{Model, machines, study};
