//! N-MASS: maps processes to processors by locality, refined by cache pressure.
//!
//! Z. Majo, T. R. Gross: *Memory Management in NUMA Multicore Systems: Trapped between Cache
//! Contention and Interconnect Overhead*, ISMM 2011. [`maximum_local`] is step 2 of algorithm 1
//! alone, [`n_mass`] all of it with penalties from profiles, [`n_mass_regression`] with the
//! estimate of section 4.5. They share one [`scheduler`].
//!
//! | paper | here |
//! |---|---|
//! | processor: the cores that share an LLC (section 2) | [`crate::kit::domains::Domain`] |
//! | home of a process | [`home`]: the node with more than half of its pages |
//! | `mpki_i`, cache pressure | [`programs`] |
//! | `np_i`, NUMA penalty (equation 1) | [`penalty`] |
//! | `M`, `pressure`, `get_next_available_core` | [`mapping`] |
//! | algorithm 2, `map_maxlocal` | [`max_local`] |
//! | algorithm 3, `refine_mapping` | [`refine`] |
//! | invoked when an MPKI changes by more than 20 % (section 3.4) | [`decision`] |
//! | which core of a processor | [`seating`]; the paper leaves it open |
//!
//! Memory does not move: "we also assume that the home processor of a process cannot be changed"
//! (section 2).
//!
//! *Departures from the paper* that concern all three policies; those of a step are in its file.
//! 1. A process may have several threads, which the paper excludes (section 5). Its threads stay
//!    together if there are cores. Its pressure is the sum over its threads, each of which has a
//!    core, as if each were a process.
//! 2. SMT siblings do not count as cores (the paper turns SMT off, section 4.1): a sibling gets a
//!    thread only if every core has one.
//! 3. There may be more threads than cores, which algorithm 1 excludes. Cores take a second thread
//!    when all have one, at home first. The refinement needs free cores and so does nothing.
//! 4. Threads pinned by their owner stay; they take cores and add pressure. So do threads of
//!    processes without a home, for which no processor is better than another. Threads that may use
//!    only some CPUs are mapped before the others, within those CPUs. Threads that were never
//!    measured take no part.
//! 5. A thread that executed no instruction keeps its last miss rate.

pub mod config;
pub mod decision;
pub mod home;
pub mod mapping;
#[cfg(test)]
mod mapping_tests;
pub mod max_local;
pub mod maximum_local;
pub mod n_mass;
pub mod n_mass_regression;
pub mod penalty;
pub mod programs;
pub mod refine;
pub mod scheduler;
#[cfg(test)]
mod scheduler_tests;
pub mod seating;
#[cfg(test)]
mod test_kit;

use crate::entry::Entry;

/// The policies of the paper.
pub const POLICIES: [Entry; 3] = [maximum_local::ENTRY, n_mass::ENTRY, n_mass_regression::ENTRY];
