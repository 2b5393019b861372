//! What became of a plan: one outcome for each action, in order.

use crate::units::Pages;

/// What became of the actions of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// One for each action of the plan, in order.
    pub actions: Vec<ActionOutcome>,
}

/// What became of one action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ActionOutcome {
    /// Done completely.
    #[default]
    Done,
    /// Pages moved, and pages of the request that stayed, by reason.
    Pages {
        /// moved
        moved: Pages,
        /// stayed, with the reason in words (`busy`, `no memory on the target`, ...), ascending by
        /// reason
        stayed: Vec<(String, Pages)>,
    },
    /// The thread, process or page was gone: ordinary.
    Vanished,
    /// The kernel refused.
    Refused {
        /// its error number, where it was the kernel
        errno: Option<i32>,
        /// what was refused and the remedy, in one line
        why: String,
    },
    /// Deliberately not done (pinned by its owner, budget used up).
    LeftAlone {
        /// why
        why: String,
    },
}

impl Outcome {
    /// Pages moved by all actions.
    #[must_use]
    pub fn pages_moved(&self) -> Pages {
        let moved = self.actions.iter().map(|outcome| match outcome {
            ActionOutcome::Pages { moved, .. } => moved.0,
            _ => 0,
        });
        Pages(moved.sum())
    }

    /// How many actions had an effect.
    #[must_use]
    pub fn effective(&self) -> usize {
        let acted = |outcome: &&ActionOutcome| match outcome {
            ActionOutcome::Done => true,
            ActionOutcome::Pages { moved, .. } => moved.0 > 0,
            _ => false,
        };
        self.actions.iter().filter(acted).count()
    }
}
