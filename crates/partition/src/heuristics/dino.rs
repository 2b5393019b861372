//! `dino` and `dino+lfoc+` of a static workload (S. Blagodurov, S. Zhuravlev, M. Dashti, A.
//! Fedorova: *A Case for NUMA-aware Contention Management on Multicore Systems*, USENIX ATC 2011,
//! section 3.3; C. Bilbao et al.: *Divide&Content*, IEEE TPDS 2023, section VI).
//!
//! | paper | here |
//! |---|---|
//! | superdevil, devil, turtle | [`Intensity`], by MPKI with all ways |
//! | layout | [`crate::layout`] |
//!
//! ```text
//! sort the programs by class
//! deal them to the LLCs from alternating ends, one core a pass
//! dino: everyone shares all ways;  dino+lfoc+: LFOC+ on every LLC
//! ```
//!
//! *Departures from the paper.* (1) The limits are 3 and 24, which Divide&Content's authors use on
//! their larger LLC, instead of 2 and 100. (2) Within a class, programs are in the order of the
//! workload: the paper does not specify an order, and treats differences in miss rate within a
//! class as noise. (3) The miss rate is that of the program alone with all ways; online it is the
//! current one. (4) No LLC holds a program at the start, so there is nothing to keep in place.

use super::entry::{OneLlc, Setting};
use super::lfoc::lfoc_plus;
use super::plain::none;
use crate::error::PartitionError;
use crate::layout::deal;
use crate::model::StaticModel;
use crate::solution::{Group, Solution};
use isobar_model::profile::{Profile, Property};

/// From this number of misses per 1000 instructions on, a program is a devil.
const DEVIL: f64 = 3.0;
/// Above this number, it is a superdevil.
const SUPERDEVIL: f64 = 24.0;

/// Classes, most intensive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Intensity {
    Superdevil,
    Devil,
    Turtle,
}

impl Intensity {
    fn of(profile: &Profile, ways: usize) -> Self {
        match super::lookahead::value(profile.column(Property::Llcmpki), ways) {
            mpki if mpki > SUPERDEVIL => Self::Superdevil,
            mpki if mpki >= DEVIL => Self::Devil,
            _ => Self::Turtle,
        }
    }
}

pub(super) fn dino(model: &dyn StaticModel, setting: &Setting) -> Result<Solution, PartitionError> {
    spread(none, model, setting)
}

pub(super) fn dino_lfoc_plus(model: &dyn StaticModel, setting: &Setting) -> Result<Solution, PartitionError> {
    spread(lfoc_plus, model, setting)
}

fn spread(partition: OneLlc, model: &dyn StaticModel, setting: &Setting) -> Result<Solution, PartitionError> {
    let mut programs: Vec<usize> = (0..model.programs().len()).collect();
    programs.sort_by_key(|program| Intensity::of(&model.programs()[*program], model.ways()));
    let mut domain = vec![0; programs.len()];
    deal(&mut domain, (0..setting.cores_per_group).map(|_| 0..setting.groups));
    let mut llc = vec![0; programs.len()];
    programs.iter().zip(domain).for_each(|(program, domain)| llc[*program] = domain);
    partitioned(partition, &llc, model, setting)
}

/// Partitions every group of a placement by itself; `llc[i]` is the group of program `i`.
pub(super) fn partitioned(
    partition: OneLlc,
    llc: &[usize],
    model: &dyn StaticModel,
    setting: &Setting,
) -> Result<Solution, PartitionError> {
    let group = |group: usize| {
        let programs: Vec<usize> = (0..llc.len()).filter(|program| llc[*program] == group).collect();
        if programs.is_empty() { Ok(Group::new()) } else { partition(model, &programs, setting) }
    };
    Ok(Solution { groups: (0..setting.groups).map(group).collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, program};
    use super::Intensity::{Devil, Superdevil, Turtle};
    use super::*;

    #[test]
    fn the_paper_s_example() {
        // D D d d d t t t, in any order of the workload, on 4 domains of 2 cores: D t | D t | d t |
        // d d.
        let of = |mpki: f64| program(&[(1.0, mpki)]);
        let programs = [30.0, 5.0, 1.0, 5.0, 25.0, 1.0, 1.0, 3.0].map(of);
        let got = answer("dino", &programs, 1, &Setting::new(4, 8));
        // D 0 4, d 1 3 7, t 2 5 6: 0 4 1 3 in order, then 6 5 2 7.
        assert_eq!(got, [(vec![0, 6], 1), (vec![4, 5], 1), (vec![1, 2], 1), (vec![3, 7], 1)].map(|one| vec![one]));
    }

    #[test]
    fn limits_are_those_of_divide_and_content() {
        let class = |mpki: f64| Intensity::of(&program(&[(1.0, 99.0), (1.0, mpki)]), 2);
        assert_eq!([2.9, 3.0, 24.0, 24.1].map(class), [Turtle, Devil, Devil, Superdevil]);
    }

    #[test]
    fn lfoc_plus_partitions_what_dino_placed() {
        let sensitive = program(&[(0.5, 9.0), (0.8, 5.0), (1.0, 1.0), (1.0, 1.0)]);
        let streaming = program(&[(1.0, 20.0); 4]);
        let programs = [streaming.clone(), streaming, sensitive.clone(), sensitive];
        let got = answer("dino+lfoc+", &programs, 4, &Setting::new(2, 4));
        assert_eq!(got[0], [(vec![0], 2), (vec![3], 2)]);
        assert_eq!(got[1], [(vec![1], 2), (vec![2], 2)]);
    }
}
