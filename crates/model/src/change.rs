//! Changes that are predicted and judged: what a policy expects of actions that belong together,
//! and what it measured of them later. A change has a number, so that prediction and effect can be
//! shown side by side, also from a recording.

use crate::ids::Pid;
use serde::{Deserialize, Serialize};

/// What a policy expects of a change that begins with this plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Number of the change; the changes of a policy count from 1.
    pub change: u64,
    /// The actions of the plan that make up the change, by index.
    pub actions: Vec<usize>,
    /// Gain in speed summed over all programs, 1 = one program twice as fast.
    pub gain: f64,
    /// Gain by program, ascending by pid; programs that are not expected to notice are left out.
    pub programs: Vec<Gain>,
}

/// The fraction by which a program becomes faster (below 0: slower).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// The program.
    pub pid: Pid,
    /// 0.1 = 10 % faster.
    pub gain: f64,
}

/// The effect of a change whose trial ended with this plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The number of its [`Prediction`].
    pub change: u64,
    /// The gain that was predicted, summed over the programs that could be compared.
    pub predicted: f64,
    /// The gain that was measured for the same programs.
    pub measured: f64,
    /// Standard error of the measured gain.
    pub error: f64,
    /// Whether programs came, went or changed meanwhile, so that the two gains do not refer to the
    /// same programs.
    pub disturbed: bool,
    /// Whether the change stays. If not, this plan takes it back.
    pub kept: bool,
    /// The gain of each program that could be compared, ascending by pid.
    pub programs: Vec<Gain>,
}
