//! Why a run ended before its limits did. This module describes the loop's failures; how they end a
//! program (exit codes) is the caller's decision.

use crate::policies::Refusal;
use isobar_model::Seconds;
use isobar_model::validate::PlanFault;
use std::error::Error;

/// An error of a machine or an observer, of any type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine as a whole could not be read or changed.
    #[error("{0}")]
    Machine(#[source] BoxError),
    /// The observer failed on what it was shown.
    #[error("{0}")]
    Observer(#[source] BoxError),
    /// The machine lacks a sensor or actuator that the policy needs; nothing was changed.
    #[error(transparent)]
    Refused(Refusal),
    /// A policy made a plan that breaks the rules for plans, which is a bug of the policy. Nothing
    /// of the plan was carried out.
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
    /// The policy cannot continue: a program that it asks failed. Nothing of its plan was carried
    /// out.
    #[error("policy {policy}: {why}")]
    Failed {
        /// The policy.
        policy: &'static str,
        /// What happened, in words.
        why: String,
    },
    /// The policy, the machine or the observer panicked, which is a bug in one of them.
    #[error("internal error in policy {policy} or its surroundings")]
    Panic {
        /// The policy.
        policy: &'static str,
    },
    /// A change could not be put back.
    #[error("not every change could be put back; run `isobar restore` to try again")]
    Restore(#[source] BoxError),
    /// A change could not be put back, after a run that had already failed.
    #[error("{} (the run had ended with: {})", in_full(restore.as_ref()), in_full(run.as_ref()))]
    RestoreAfter {
        /// What could not be put back. Not a source, because the text contains it.
        restore: Box<RunError>,
        /// How the run had ended. Not a source: a reader that went away is not a failure, but a
        /// change left in place is.
        run: Box<RunError>,
    },
}

/// An error and its causes in one line. Many errors already print their cause, which is then not
/// repeated.
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
