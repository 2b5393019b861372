//! Policies that are programs, in any language: `--policy exec:CMD`.
//!
//! [`External`] is a [`Policy`](isobar_model::Policy) that starts a program once, writes every
//! observation to its standard input and reads a plan from its standard output, one JSON document
//! a line: the contract of `isobar decide` (`docs/writing-a-policy.md`). What the program answers
//! is held to the rules of plans before anything else sees it. A program that dies, falls silent,
//! is slow or answers nonsense is survived: nothing is planned in that epoch, and a note says why.
//!
//! From the bottom up:
//!
//! - `program.rs`: what was typed, as a program and its arguments.
//! - `fault.rs`: what can be wrong with a program, in words.
//! - `restarts.rs`: when it may start again.
//! - `last_line.rs`: the end of what it says on stderr.
//! - `talk.rs`: lines out and in, with a deadline.
//! - `running.rs`: the process. `policy.rs`: the policy. `cost.rs`: what asking it costs.

#![forbid(unsafe_code)]

mod cost;
mod fault;
mod last_line;
mod policy;
mod program;
mod restarts;
mod running;
mod talk;

pub use cost::{Cost, Costs, Each};
pub use fault::Fault;
pub use policy::{External, OnFault, Options};
pub use program::{PREFIX, Program, ProgramError};
