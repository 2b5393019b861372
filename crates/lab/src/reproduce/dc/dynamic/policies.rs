//! The four strategies of section VI-A, with the settings that it states.

use super::runs::Strategy;
use isobar_model::{Action, Observation, Outcome, Plan, Policy, Sensor};
use isobar_policy::baseline::linux::{self, Linux};
use isobar_policy::dino::dino::{self, Dino};
use isobar_policy::divide_content::balancing;
use isobar_policy::divide_content::dino_lfoc_plus::{self, DinoLfocPlus};
use isobar_policy::divide_content::divide_content::{self, DivideContent};
use isobar_policy::kit::page_settings::PageSettings;

/// Stock Linux, with which the others are compared, and then the others in the order of table III.
pub(super) fn strategies() -> [Strategy; 4] {
    [
        (linux::NAME, || Box::new(Linux)),
        (dino::NAME, || Box::new(dino())),
        (dino_lfoc_plus::NAME, || Box::new(ThreadsOnly(DinoLfocPlus::new(dino_lfoc_plus::defaults())))),
        (divide_content::NAME, || Box::new(DivideContent::new(balancing::Config::default()))),
    ]
}

/// "The low and high LLCMPKI thresholds for application classification in DINO were set to 3 and
/// 24".
pub(crate) fn dino() -> ThreadsOnly<Dino> {
    let classes = dino::Config { devil_mpki: 3.0, super_devil_mpki: 24.0, ..dino::Config::default() };
    ThreadsOnly(Dino::new((classes, PageSettings::default())))
}

/// DINO as the paper implements it: "this implementation, like DC's, uses Linux's automatic NUMA
/// balancing" (section III) and moves no page itself.
#[derive(Debug)]
pub(crate) struct ThreadsOnly<P>(P);

impl<P: Policy> Policy for ThreadsOnly<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.0.needs()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = self.0.decide(seen);
        plan.actions.retain(|action| !matches!(action, Action::MigratePages { .. }));
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.0.applied(plan, outcome);
    }
}
