//! `di-migrate`: Distributed Intensity with memory (DINO paper, section 3.2). Threads are placed as
//! by [`super::di_plain`], and their pages go with them as in section 4.
//!
//! *Properties*: those of `di-plain`; and no page is asked to move to the node where it already is,
//! and no more pages are asked to move than there are.
//!
//! *Departures from the paper*: those of `di-plain`, and the interpretation of the migration daemon
//! in [`crate::kit::pages`]. There is no ping-pong detection, which is part of DINO only.

use super::di_plain::{self, PAPER};
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::domains::CachedDomains;
use crate::kit::page_settings::PageSettings;
use crate::kit::pages::{Follower, Place};
use crate::kit::refused::Refused;
use isobar_model::{Observation, Outcome, Plan, Policy, Sensor};

/// Canonical name.
pub const NAME: &str = "di-migrate";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "thread to core by miss rate; pages follow",
    moves: Moves::ThreadsAndPages,
    needs: &[
        Sensor::Instructions,
        Sensor::LlcMisses,
        Sensor::SeveralDomains,
        Sensor::PagesByNode,
        Sensor::SeveralNodes,
    ],
    make: &PolicyMaker { defaults: PageSettings::default, new: DiMigrate::new },
};

/// Distributed Intensity with memory migration.
#[derive(Debug)]
pub struct DiMigrate {
    domains: CachedDomains,
    follower: Follower,
    refused: Refused,
}

impl DiMigrate {
    /// Takes validated settings.
    #[must_use]
    pub fn new(settings: PageSettings) -> Self {
        Self { domains: CachedDomains::default(), follower: Follower::new(settings, None), refused: Refused::default() }
    }
}

impl Policy for DiMigrate {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let domains = self.domains.of(&seen.machine);
        let groups = di_plain::groups(seen, domains);
        let placed = di_plain::place(domains, &groups);
        self.refused.next_epoch(seen);
        let place = |placed: &di_plain::Placed<'_>| Place::of(domains, &placed.member, placed.seat, &self.refused);
        let places: Vec<_> = placed.iter().map(place).collect();
        let mut plan =
            Plan { actions: di_plain::moves(domains, &placed), notes: groups.notes(), ..Plan::nothing(NAME) };
        self.follower.follow(seen, &places, &self.refused, &mut plan);
        self.refused.hold_back(&mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dino::test_kit::example;
    use crate::test_kit::{cpus_after, with_pages};
    use isobar_model::{Action, NodeId, Pages, Pid};

    #[test]
    fn pages_go_with_the_thread() {
        let mut seen = example("node:2 core:1", &[(1, 1, 50.0), (2, 0, 1.0)]);
        with_pages(&mut seen, 1, &[100, 5000]);
        with_pages(&mut seen, 2, &[0, 300]);
        let plan = DiMigrate::new(PageSettings { samples_per_second: 1, ..PageSettings::default() }).decide(&seen);
        assert_eq!(cpus_after(&seen, &plan), [0, 1]);
        let Action::MigratePages { pid, from, to, pages, .. } = &plan.actions[2] else { panic!("{plan:?}") };
        assert_eq!((*pid, *from, *to, *pages), (Pid(1), NodeId(1), NodeId(0), Pages(4096)));
        assert_eq!(plan.actions.len(), 3, "process 2's pages are where it goes");
        assert_eq!(plan.validate(&seen), Ok(()));
    }
}
