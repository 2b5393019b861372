//! Why a run ended before its limits did. It knows the loop's failures; how they end a program
//! (exit codes) is the caller's decision.

use crate::policies::Refusal;
use isobar_model::Seconds;
use isobar_model::validate::PlanFault;
use std::error::Error;

/// An error of a machine or an observer, whatever its type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine as a whole could not be read or changed.
    #[error("{0}")]
    Machine(#[source] BoxError),
    /// The observer could not take what it was shown.
    #[error("{0}")]
    Observer(#[source] BoxError),
    /// The machine lacks what the policy needs; nothing was changed.
    #[error(transparent)]
    Refused(Refusal),
    /// A policy made a plan that breaks the rules of plans: a fault of the policy. Nothing of it
    /// was done.
    #[error("internal error: policy {policy} made a plan at {} s that cannot be carried out", time.0)]
    Plan {
        /// The policy.
        policy: &'static str,
        /// When, by the machine's clock.
        time: Seconds,
        /// What is wrong with the plan.
        #[source]
        fault: PlanFault,
    },
    /// The policy cannot go on: a program that it asks failed. Nothing of its plan was done.
    #[error("policy {policy}: {why}")]
    Failed {
        /// The policy.
        policy: &'static str,
        /// What happened, in words.
        why: String,
    },
    /// The policy, the machine or the observer panicked: a fault in one of them.
    #[error("internal error in policy {policy} or its surroundings")]
    Panic {
        /// The policy.
        policy: &'static str,
    },
    /// Something that was changed is still changed.
    #[error("what was changed could not be put back whole; `isobar restore` tries again")]
    Restore(#[source] BoxError),
    /// Something that was changed is still changed, after a run that had failed already.
    #[error("{} (the run had ended with: {})", in_full(restore.as_ref()), in_full(run.as_ref()))]
    RestoreAfter {
        /// What could not be put back. Not a source: the text has it.
        restore: Box<RunError>,
        /// How the run had ended. Not a source: a reader that went away is no failure, but what is
        /// left changed is.
        run: Box<RunError>,
    },
}

/// An error and its causes in one line. Many errors already print their cause; it is not repeated.
#[must_use]
pub fn in_full(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut error = error;
    while let Some(cause) = error.source() {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        error = cause;
    }
    text
}
