//! What can go wrong with a program that decides, in words. A fault either ends the program or
//! concerns only one answer.

use isobar_model::validate::PlanFault;
use isobar_model::wire::WireError;
use std::time::Duration;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// no process could be started
    #[error("cannot be started: {0}")]
    Start(String),
    /// the process is gone
    #[error("has ended ({0})")]
    Ended(String),
    /// no answer in time
    #[error(
        "took longer than {} s for its decision: give it more (--set exec.timeout_seconds=S) or decide less often \
         (--interval S)",
        .0.as_secs_f64()
    )]
    Late(Duration),
    /// isobar was asked to stop before the answer came
    #[error("had not answered when isobar was asked to stop")]
    Stopped,
    /// still busy with an earlier observation, so it was not asked
    #[error("is still working on an earlier observation, and did not get this one")]
    Busy,
    /// no answer in several epochs
    #[error("has not answered in {0} decisions, and was stopped")]
    Silent(u32),
    /// longer than a line may be
    #[error("wrote a line of more than {} MiB, and was stopped: expected one plan", .0 >> 20)]
    LongLine(usize),
    /// a line without a question
    #[error("wrote an unexpected line, and was stopped: expected one plan for each observation")]
    Unasked,
    /// a version of the contract that isobar does not speak
    #[error("speaks version {0} of the contract, and isobar speaks version {1}")]
    Contract(u64, u64),
    /// an answer that is not a plan
    #[error("gave an answer that is not a plan: {0}; the answer begins {1}")]
    NotAPlan(WireError, String),
    /// a plan that breaks the rules for plans
    #[error("made a plan that cannot be carried out: {0}")]
    Plan(PlanFault),
    /// the program rests after it died
    #[error("is restarted in {0} decisions")]
    Resting(u64),
    /// the program died too often
    #[error("has ended {0} times with fewer than {1} good plans in between, and is not restarted (exec.restarts)")]
    GivenUp(u32, u32),
}

impl Fault {
    /// Whether the process must be ended.
    pub(crate) const fn ends_it(&self) -> bool {
        matches!(
            self,
            Self::Ended(_) | Self::Silent(_) | Self::LongLine(_) | Self::Unasked | Self::Contract(..) | Self::Start(_)
        )
    }
}
