//! The contention model: how much every thread gets of caches, memory controllers and links, given
//! where all threads run and where their pages are. A question is a value, and so is its answer.
//! The crate knows neither time nor processes, topology nor policies.
//!
//! ```text
//! misses per instruction   mu_i = curve_i(bytes held) * phase factor
//! stall per miss           S_i  = (idle latency of the routes + waits at what they pass) / mlp_i
//!                                 + what a limit of bandwidth keeps it waiting (delay.rs)
//! seconds per instruction  t_i  = compute_i + mu_i * S_i
//! rate                     r_i  = share of the core / t_i
//! bytes held               insertion rate r_i * mu_i times residence time in the LLC (space.rs)
//! waits                    controllers and links carry what all r_i demand (queue.rs)
//! ```
//!
//! # The joint fixed point
//!
//! network.rs states the equations in the utilisations `u_k` and the residence times `T_a`.
//! newton.rs solves all of them at once, by steps that are accepted only if the largest residual
//! falls. If no step is accepted, transient.rs follows the flow that the residuals drive, and if
//! that does not arrive, bracket.rs searches all possible waits. A solution is a point at which
//! **every equation holds to 10^-9** of capacity and size; no other point is returned.
//!
//! Existence, uniqueness as far as it is proved, termination and the laws below are derived step by
//! step in `docs/design/contention-fixed-point.md`. The search is exponential in the worst case, so
//! a question has a [`Budget`] of evaluations and results in [`NoAnswer`] beyond it.
//!
//! # Laws
//!
//! - The bandwidth that is delivered stays below capacity, and what is demanded is delivered.
//! - With one memory controller, no thread gains from a new neighbour, nor from more prefetching or
//!   more write-backs, its own or another's. With several controllers a third thread may gain, but
//!   is never faster than alone.
//! - With one memory controller, a limit on the bandwidth of one thread does not slow down any
//!   other thread, and the limited thread does not gain.
//! - More ways never raise the misses of a program that has them to itself. Under the conditions
//!   above, they never raise the misses of a partition either.
//!
//! # Which placement is better?
//!
//! The rate of each thread alone ([`Demand::alone`]) is computed once. A [`Solver`] then answers
//! candidate after candidate, starting each from the solution of the one before.
//!
//! ```
//! use isobar_contention::{
//!     Budget, Cache, Demand, Machine, MissCurve, NoAnswer, Packets, Parts, Place, Question,
//!     Resource, Solver, solve,
//! };
//!
//! // Two nodes of 10 GB/s, 80 ns local and 130 ns remote, with a cache of 8 MiB each, and a link
//! // of 5 GB/s each way.
//! let resource = |gb: f64| Resource { capacity: gb * 1e9, queue: 15e-9 };
//! let machine = Machine::new(Parts {
//!     latency: vec![vec![80e-9, 130e-9], vec![130e-9, 80e-9]],
//!     resources: vec![resource(10.0), resource(10.0), resource(5.0), resource(5.0)],
//!     routes: vec![vec![vec![], vec![2]], vec![vec![3], vec![]]],
//!     packets: Packets::default(),
//!     llcs: vec![Cache { bytes: 8.0 * 1_048_576.0, ways: 16, private: 0.0 }; 2],
//! })?;
//! // A thread whose pages are on node 0, at 2 GHz and 0.8 cycles an instruction; 5 to 25 misses
//! // per 1000 instructions.
//! let thread = |node| Demand {
//!     share: 1.0,
//!     place: Place { node, llc: node },
//!     mask: u64::MAX,
//!     compute: 0.8 / 2e9,
//!     curve: MissCurve::parametric(5.0, 20.0, 4.0),
//!     factor: 1.0,
//!     mlp: 4.0,
//!     prefetch: 0.5,
//!     write_back: 0.3,
//!     footprint: 1e9,
//!     reach: 1.0,
//!     weights: vec![1.0, 0.0],
//!     delay: 0.0,
//!     held: 0.0,
//! };
//! let budget = Budget::default();
//! let alone = |node| {
//!     let threads = &[thread(node).alone()];
//!     let answer = solve(&Question { machine: &machine, threads, copy: None }, budget)?;
//!     Ok::<_, NoAnswer>(answer.rates[0])
//! };
//! let base = [alone(0)?, alone(0)?];
//! let mut solver = Solver::default();
//! let mut worst = |threads: &[Demand]| -> Result<f64, NoAnswer> {
//!     let answer = solver.ask(&Question { machine: &machine, threads, copy: None }, budget)?;
//!     Ok(base.iter().zip(&answer.rates).map(|(alone, rate)| alone / rate).fold(0.0, f64::max))
//! };
//! let together = worst(&[thread(0), thread(0)])?;
//! let apart = worst(&[thread(0), thread(1)])?;
//! assert!(1.0 < apart && 1.0 < together);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A private cache counts separately if the LLC does not hold its lines too (a victim cache): it is
//! then space in addition to the space held in the LLC. Otherwise its lines are among those held.
//!
//! Prefetched lines and write-backs load controllers and links, and requests and probes load links.
//! Threads wait only for the lines of their misses and for answers to probes. Prefetched lines take
//! no cache space in addition to that of the misses.
//!
//! **Not modelled yet**: the cache space of prefetched lines, and the cost in private caches of
//! switching threads on a core (here it costs only LLC space).

#![forbid(unsafe_code)]

mod bracket;
mod budget;
mod build;
mod curve;
mod delay;
mod loaded;
mod machine;
mod network;
mod newton;
mod pooled;
mod question;
mod queue;
mod root;
mod solver;
mod space;
mod steady;
mod stream;
#[cfg(test)]
mod tests;
mod transient;

pub use budget::{Budget, NoAnswer};
pub use curve::{Measured, MissCurve, Parametric};
pub use delay::delay;
pub use machine::{Cache, Machine, MachineError, Packets, Parts, Place};
pub use pooled::{Contender, least_cost};
pub use question::{Demand, PageCopy, Question};
pub use queue::{LINE, Resource};
pub use solver::{Answer, Solver, solve};
pub use steady::{Pace, Scratch, Sharers, Steady};
