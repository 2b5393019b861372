//! The outcome of a plan: one outcome for each action, in order.

use crate::plan::Plan;
use crate::serial;
use crate::units::Pages;
use serde::{Deserialize, Serialize};

/// Beginning of the reason given for a thread that is left alone because the plan moves more
/// threads than a machine moves in an epoch. This is no refusal: the move can be asked for in the
/// next epoch.
pub const MOVES_USED_UP: &str = "the budget of moves an epoch is used up";

/// Why an action is refused that a person had taken back.
pub const UNDONE: &str = "taken back by hand";

/// The outcomes of the actions of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// One for each action of the plan, in order.
    pub actions: Vec<ActionOutcome>,
}

impl Outcome {
    /// The outcome of a plan whose actions were all carried out.
    #[must_use]
    pub fn all_done(plan: &Plan) -> Self {
        Self { actions: vec![ActionOutcome::Done; plan.actions.len()] }
    }
}

impl ActionOutcome {
    /// Whether anything was changed; pages under way count.
    #[must_use]
    pub const fn is_effective(&self) -> bool {
        match self {
            Self::Done => true,
            Self::Pages { moved: pages, .. } | Self::Queued { pages, .. } => pages.0 > 0,
            _ => false,
        }
    }
}

/// The outcome of one action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case", deny_unknown_fields)]
pub enum ActionOutcome {
    /// Done completely.
    #[default]
    Done,
    /// Pages moved, and pages of the request that stayed, by reason.
    Pages {
        /// moved
        #[serde(rename = "pages_moved")]
        moved: Pages,
        /// stayed, with the reason in words (`busy`, `no free memory on the target node`, ...),
        /// ascending by reason
        #[serde(rename = "pages_stayed", with = "serial::reasons")]
        stayed: Vec<(String, Pages)>,
    },
    /// Pages are under way; the samples that follow report their outcome
    /// ([`crate::flight::PageMove`]).
    Queued {
        /// the number of the migration in samples
        number: u64,
        /// under way
        pages: Pages,
        /// not taken on, by reason, as in [`Self::Pages`]
        #[serde(rename = "pages_stayed", with = "serial::reasons")]
        stayed: Vec<(String, Pages)>,
    },
    /// The thread, process or page was gone, which is ordinary.
    Vanished,
    /// The kernel refused.
    Refused {
        /// its error number, if it was the kernel
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
    /// Pages that all actions moved before they came back; pages under way are not included.
    #[must_use]
    pub fn pages_moved(&self) -> Pages {
        let moved = self.actions.iter().map(|outcome| match outcome {
            ActionOutcome::Pages { moved, .. } => moved.0,
            _ => 0,
        });
        Pages(moved.sum())
    }

    /// Number of actions that had an effect; pages under way count.
    #[must_use]
    pub fn effective(&self) -> usize {
        self.actions.iter().filter(|outcome| outcome.is_effective()).count()
    }
}
