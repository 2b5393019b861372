//! Policies that are programs, in any language: `--policy exec:CMD`.
//!
//! [`External`] is a [`Policy`](isobar_model::Policy) that starts a program once, writes every
//! observation to its standard input and reads a plan from its standard output, with one JSON
//! document per line. This is the contract of `isobar decide` (`docs/writing-a-policy.md`). The
//! answers of the program are checked against the rules for plans before anything else uses them. A
//! program that dies, does not answer, is slow or answers nonsense does not end the run: nothing is
//! planned in that epoch, and a note says why.
//!
//! From the bottom up:
//!
//! - `program.rs`: parses what was typed into a program and its arguments.
//! - `fault.rs`: what can go wrong with a program, in words.
//! - `restarts.rs`: when the program may start again.
//! - `last_line.rs`: the last line that it writes to stderr.
//! - `talk.rs`: sends and receives lines, with a deadline.
//! - `running.rs`: the process. `policy.rs`: the policy. `cost.rs`: the cost of asking it.

#![forbid(unsafe_code)]

mod cost;
mod fault;
mod last_line;
mod policy;
mod program;
mod restarts;
mod running;
mod talk;

pub use cost::{Cost, Costs, DecisionCost};
pub use fault::Fault;
pub use policy::{External, OnFault, Options};
pub use program::{PREFIX, Program, ProgramError};
