//! What was decided about programs, and what would be.

use isobar_model::{ActionId, Pid};
use serde::Serialize;

/// The last decision about a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LastAction {
    /// The numbers of its actions, with which they can be taken back; empty in a dry run.
    pub ids: Vec<ActionId>,
    /// Whether all of them were taken back by hand.
    pub taken_back: bool,
    /// When it was decided.
    pub time_seconds: f64,
    /// The policy that decided.
    pub policy: String,
    /// What was decided, in words: `to node 1`, `4096 pages 0 -> 1`.
    pub words: String,
    /// Why, in the policy's words.
    pub reason: String,
    /// The outcome, in words.
    pub became: String,
    /// Whether it was carried out.
    pub done: bool,
    /// The change that it is part of, by the policy's numbering.
    pub change: Option<u64>,
    /// The gain that was predicted for the program: 0.1 = 10 % faster.
    pub predicted: Option<f64>,
    /// The measured effect.
    pub measured: Option<Measured>,
}

/// The measured effect of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The gain of the program; `None` if only the gain of all programs together is known.
    pub gain: Option<f64>,
    /// The gain of all programs together.
    pub sum: f64,
    /// Standard error of `sum`.
    pub error: f64,
    /// Whether programs started, ended or changed meanwhile.
    pub disturbed: bool,
    /// Whether the change stays.
    pub kept: bool,
}

/// One action of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionView {
    /// The programs concerned.
    pub programs: Vec<Pid>,
    /// What it does, in words.
    pub words: String,
    /// Why, in the policy's words.
    pub reason: String,
    /// The outcome, in words.
    pub became: String,
}

/// What the policy `isobar` would change now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proposed {
    /// The programs that would move; empty if no move pays.
    pub moves: Vec<PlannedMove>,
    /// Predicted gain over all programs, 1 = one program twice as fast.
    pub gain: f64,
}

/// A program that would move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedMove {
    /// The program.
    pub pid: Pid,
    /// Its name, as the kernel has it.
    pub name: String,
    /// The destination, in words: `to node 1 with its pages`.
    pub words: String,
    /// Its predicted gain.
    pub gain: f64,
}
