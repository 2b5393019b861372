//! Exact optima of a static model: the best possible solution for a workload, with proof.
//!
//! It solves six problems ([`opt_part`], [`opt_cluster`], [`opt_map`], [`opt_map_then_part`],
//! [`best_map`], [`optimal`]), each for least unfairness or greatest throughput ([`Objective`]).
//! Two searches answer them all:
//!
//! - `independent`: every group has a memory controller of its own (NUMA). A group is solved once
//!   per *set* of programs, and a search covers all programs with sets.
//! - `coupled`: all clusters share one controller (one LLC, or several on a UMA machine). They are
//!   coupled by one figure, the pressure; the search cuts its axis into slices in which clusters no
//!   longer depend on each other.
//!
//! `coupled` takes [separable](isobar_partition::model::Separable) and
//! [queued](isobar_partition::model::Queued) models. `independent` evaluates queued models group by
//! group. Black boxes are evaluated group by group, or solution by solution (`walk`).
//!
//! Nothing here reads a clock: the caller says when to stop, and gets the best solution so far with
//! its proved bound. The solution and its figures are the same to the bit whatever the number of
//! threads (those of the ambient rayon pool). Only `nodes_explored` may vary.

#![forbid(unsafe_code)]

mod cell;
mod count;
mod coupled;
mod group;
mod independent;
mod local;
mod options;
mod problem;
mod rank;
mod set;
mod solve;
mod walk;
mod watch;

pub use count::{Count, count};
pub use options::{Objective, OptimaError, Optimum, Options, Progress};
pub use rank::TIE;
pub use solve::{best_map, opt_cluster, opt_map, opt_map_then_part, opt_part, optimal};
