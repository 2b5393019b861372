//! Profiles for tests: four threads, pages of 4 KiB, all first touched by thread 0.

use crate::homes::Homes;
use crate::profile::{PageProfile, Structure};
use crate::report::{Advice, Question, Report};
use crate::trace::Header;
use crate::usage::{Page, Usage};
use std::ops::Range;

/// A structure: its name and the range of its rows.
pub type Named = (&'static str, Range<usize>);

/// Pages from number 0 on, with structures that cover ranges of these pages.
pub fn profile(rows: &[[u64; 4]], structures: &[Named]) -> PageProfile {
    let mut usage = Usage::new(4, 4096).unwrap();
    (0..).zip(rows).for_each(|(number, row)| usage.push(Page { number, first: 0 }, row).unwrap());
    let of = |row: usize| structures.iter().position(|(_, rows)| rows.contains(&row)).unwrap_or(0);
    PageProfile {
        header: Header {
            engine: "by hand".into(),
            sampled: None,
            page_bytes: 4096,
            slice_ns: 10_000_000,
            command: vec!["./matmul".into(), "128".into()],
        },
        usage,
        structures: structures
            .iter()
            .map(|(name, _)| Structure { name: (*name).into(), line: None, region: None })
            .collect(),
        structure_of: (0..rows.len()).map(|row| u32::try_from(of(row)).unwrap()).collect(),
        threads: (0..4).map(|number| format!("T{number}")).collect(),
        linux: None,
        end: None,
    }
}

/// Table 1 of the paper.
pub fn matmul() -> PageProfile {
    let rows = [
        [17_222, 9_347, 8_173, 9_054],
        [95_869, 1_412, 1_146, 1_382],
        [12_544, 56_598, 0, 0],
        [256, 81_028, 0, 0],
        [256, 0, 70_835, 0],
        [256, 0, 0, 57_033],
        [131_328, 0, 0, 0],
        [6_400, 28_445, 0, 0],
        [256, 2_594, 38_912, 0],
        [256, 0, 2_195, 38_343],
        [5_381_218, 1_230_331, 1_017_819, 1_177_382],
        [2, 1_688_110, 0, 0],
        [2, 0, 1_395_867, 0],
        [2, 0, 0, 1_614_711],
    ];
    let names = [
        ("B", 0..1),
        ("C", 1..6),
        ("A", 6..10),
        ("stack of T0", 10..11),
        ("stack of T1", 11..12),
        ("stack of T2", 12..13),
        ("stack of T3", 13..14),
    ];
    profile(&rows, &names)
}

/// A report on a number of nodes with the threads placed compactly.
pub fn report(profile: &PageProfile, nodes: usize) -> Report {
    let homes = Homes::compact(nodes, profile.usage.threads()).unwrap();
    let question = Question { homes: &homes, min_excl: 0.9, page_bytes: None, sweep: false, course: None };
    Report::of(profile, question).unwrap()
}

/// The advice for that report.
pub fn advice(profile: &PageProfile, nodes: usize) -> Advice {
    Advice::of(&report(profile, nodes), profile, "run 1.trace")
}
