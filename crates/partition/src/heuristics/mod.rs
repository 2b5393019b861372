//! The published heuristics, by name: each answers a workload with a solution, from profiles alone.
//! There is one file per paper and one registry. The registry knows which heuristic decides what;
//! it does not know how good the answers are (`evaluate` does).
//!
//! *One LLC*: a heuristic clusters the programs of one group and gives each cluster its ways. With
//! more than one group, the programs are taken in order, `cores_per_group` to a group, and every
//! group is partitioned by itself. *Groups*: the heuristic also decides which program goes to which
//! LLC.

mod dino;
mod divide_content;
mod entry;
#[cfg(test)]
mod fixture;
mod hierarchy;
mod kpart;
mod lfoc;
pub mod lfoc_plus;
pub mod lookahead;
mod plain;
mod ucp;
mod whirlpool;

pub use entry::{Entry, Groups, OneLlc, Rule, Scope, Setting};

/// All heuristics, in the order in which a help text lists them.
#[must_use]
pub fn registry() -> &'static [Entry] {
    const {
        &[
            one("none", "baseline", "all programs of an LLC share all of its ways", plain::none),
            one("equal", "baseline", "a partition for every program, as even as ways allow", plain::equal),
            one(
                "ucp",
                "Qureshi & Patt, MICRO 2006",
                "a partition for every program, for the fewest misses",
                ucp::misses,
            ),
            one(
                "ucp-slowdown",
                "Qureshi & Patt, MICRO 2006",
                "the same on slowdowns: for the least sum of them",
                ucp::slowdown,
            ),
            one(
                "whirlpool",
                "Mukkara et al., ASPLOS 2016",
                "three pools of programs that slow each other down least",
                whirlpool::whirlpool,
            ),
            one(
                "kpart",
                "El-Sayed et al., HPCA 2018",
                "clusters that slow each other down least, for best throughput",
                kpart::kpart,
            ),
            one(
                "lfoc",
                "Garcia-Garcia et al., ICPP 2019",
                "streaming programs confined, a partition for every sensitive one",
                lfoc::lfoc,
            ),
            one(
                "lfoc+",
                "Saez et al., TC 2022; Bilbao et al., TPDS 2023",
                "streaming programs confined, sensitive ones alone or in pairs",
                lfoc::lfoc_plus,
            ),
            groups(
                "dino",
                "Blagodurov et al., USENIX ATC 2011",
                "programs dealt to LLCs by class of miss rate, no partitions",
                dino::dino,
            ),
            groups("dino+lfoc+", "Bilbao et al., TPDS 2023", "dino, then lfoc+ on every LLC", dino::dino_lfoc_plus),
            groups(
                "divide-content",
                "Bilbao et al., TPDS 2023",
                "needs of ways and bandwidth evened out over LLCs, then lfoc+ on each",
                divide_content::divide_content,
            ),
        ]
    }
}

/// The heuristic with this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Entry> {
    registry().iter().find(|entry| entry.name == name)
}

const fn one(name: &'static str, paper: &'static str, summary: &'static str, rule: OneLlc) -> Entry {
    Entry { name, paper, summary, rule: Rule::OneLlc(rule) }
}

const fn groups(name: &'static str, paper: &'static str, summary: &'static str, rule: Groups) -> Entry {
    Entry { name, paper, summary, rule: Rule::Groups(rule) }
}

#[cfg(test)]
mod tests {
    use super::fixture::{answer, program, refusal};
    use super::*;

    #[test]
    fn one_llc_heuristics_take_programs_in_order() {
        let five = vec![program(&[(1.0, 1.0); 4]); 5];
        let got = answer("equal", &five, 4, &Setting::new(2, 5));
        assert_eq!(got[0], [(vec![0], 2), (vec![1], 1), (vec![2], 1)]);
        assert_eq!(got[1], [(vec![3], 2), (vec![4], 2)]);
        assert_eq!(answer("none", &five, 4, &Setting::new(3, 5))[2], [(vec![4], 4)]);
    }

    #[test]
    fn more_programs_than_cores_are_refused() {
        let setting = Setting { cores_per_group: 1, ..Setting::new(2, 2) };
        let said = refusal("dino", &vec![program(&[(1.0, 1.0)]); 3], 1, &setting);
        assert_eq!(
            said,
            "`dino` cannot take this workload: 3 programs, but 2 LLCs of 1 cores; take more groups or more \
             cores a group"
        );
    }

    #[test]
    fn no_programs_leave_every_llc_empty() {
        for entry in registry() {
            assert_eq!(answer(entry.name, &[], 11, &Setting::new(2, 0)), vec![vec![]; 2], "{}", entry.name);
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        let mut names: Vec<_> = registry().iter().map(|entry| entry.name).collect();
        names.iter().for_each(|name| assert_eq!(by_name(name).map(|entry| entry.name), Some(*name)));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), registry().len());
        assert!(by_name("lfoc++").is_none());
    }
}
