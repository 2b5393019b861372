//! Searches for the best arrangement of a workload.

use super::choices::{Choice, choices};
use super::climb;
use super::found::{Joint, JointApp, JointWays, PROVED};
use crate::compare::alone;
use crate::error::LabError;
use isobar_model::metrics;
use isobar_sim::arrangement::{Arrangement, Arranging};
use isobar_sim::{SimError, Workload};

/// Maximum number of calls of the contention model in a search: they take seconds to a minute.
pub const QUESTIONS: u64 = 20_000;

/// Searches for the best arrangement with at most `questions` calls of the contention model, until
/// `stop` returns true.
///
/// # Errors
/// [`LabError::Unfinished`] if an application does not end alone, [`LabError::Sim`] if the
/// contention model has no answer.
pub fn joint(workload: &Workload, questions: u64, stop: &dyn Fn() -> bool) -> Result<Joint, LabError> {
    let alone = alone(workload)?;
    let mut arranging = Arranging::new(workload, &alone);
    let bound = arranging.least_mean();
    let choices: Vec<Vec<Choice>> = workload.apps.iter().map(|app| choices(workload, &arranging, app)).collect();
    let search = climb::Search { workload, choices: &choices, questions, stop, enough: bound * (1.0 + PROVED) };
    let found = search.run(&mut arranging);
    // Computed from a fresh start, so that the figures do not depend on earlier calls.
    let slowdowns = Arranging::new(workload, &alone).slowdowns(&found.arrangement);
    let slowdowns =
        slowdowns.map_err(|source| SimError::NoAnswer { when: "of the best arrangement".to_owned(), source })?;
    let summary = metrics::summary(&slowdowns).ok_or_else(|| LabError::unfinished(workload, "an application"))?;
    let antt_bound = bound.min(summary.antt);
    let gap = summary.antt / antt_bound - 1.0;
    let named = Named { workload, arranging: &arranging, choices: &choices };
    Ok(Joint {
        summary,
        antt_bound,
        gap_percent: 100.0 * gap,
        exhausted: found.exhausted,
        proved_optimal: found.exhausted || gap <= PROVED,
        stopped: found.stopped,
        questions: arranging.asked(),
        vs_linux_percent: None,
        apps: slowdowns
            .iter()
            .enumerate()
            .map(|(app, slowdown)| named.app(&found.arrangement, app, *slowdown))
            .collect(),
    })
}

/// Translates an arrangement into names.
struct Named<'a> {
    workload: &'a Workload,
    arranging: &'a Arranging<'a>,
    choices: &'a [Vec<Choice>],
}

impl Named<'_> {
    fn app(&self, arrangement: &Arrangement, app: usize, slowdown: f64) -> JointApp {
        let stand = &arrangement.apps[app];
        let id = |room: usize| self.arranging.rooms()[room].id.0;
        let mut rooms = stand.llcs.clone();
        rooms.sort_unstable();
        rooms.dedup();
        let choice = self.choices[app].iter().find(|choice| choice.pages == stand.pages);
        let ways = |room: &usize| {
            let sharing = arrangement.ways[*room].iter().find(|sharing| sharing.apps.contains(&app))?;
            let others = sharing.apps.iter().filter(|other| **other != app);
            let shared_with = others.map(|other| self.workload.apps[*other].name.clone()).collect();
            Some(JointWays { llc: id(*room), ways: sharing.ways, shared_with })
        };
        JointApp {
            name: self.workload.apps[app].name.clone(),
            slowdown,
            vs_linux_percent: None,
            llcs: stand.llcs.iter().map(|room| id(*room)).collect(),
            pages: choice.map_or_else(String::new, |choice| choice.name.clone()),
            ways: rooms.iter().filter_map(ways).collect(),
        }
    }
}
