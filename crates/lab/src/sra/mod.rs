//! The memory-migration study of the DINO paper (section 4.1, and the effect of K, section 5.2):
//! how many remote accesses does a strategy save after a thread was moved, depending on K (the
//! pages that a sample moves) and on how many accesses are sampled?
//!
//! [`study`] replays a trace of LLC misses of each program. *SRA* (saved remote accesses) is the
//! percentage of remote accesses that a strategy removes, compared with moving no page. The study
//! knows traces and strategies; it does not know how a scheduler uses them.
//!
//! Two daemons are studied. The paper's simulator of section 4.1 only counts accesses, so its pages
//! move at once. For the effect of K on completion time, the daemon copies at a finite speed and
//! takes no sample in the meantime. A whole resident set is copied by the same daemon at the same
//! speed.
//!
//! Departures from the paper, each with its reason:
//! 1. Traces are generated from what is printed about programs (sizes, classes of miss rates) and
//!    from what the programs compute: `programs.toml`. The paper's traces are not published.
//! 2. Samples are drawn from accesses to memory. A real IBS sample may also be a cache hit, on a
//!    page that need not be involved in memory traffic; the paper's simulator also looks at misses
//!    only.
//! 3. Time in a trace passes as if all accesses were local: the accesses that a strategy saves do
//!    not speed up the rest of the trace.

mod detector;
mod figures;
mod places;
mod replay;
mod rows;
mod run;
mod sampler;
mod spec;
mod strategy;
mod subject;

pub use figures::figures;
pub use run::{Study, study};
pub(crate) use spec::PAPER_K;
pub use spec::Spec;
pub use strategy::Strategy;

#[cfg(test)]
mod tests;
