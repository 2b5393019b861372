//! Policies by group: some processes have a policy of their own, and the rest have the main one.
//!
//! ```text
//! each process goes to the first group that it fits, else to the main policy
//! for each group in its order, the main policy last:
//!     view = the whole machine, where
//!                processes of others are `elsewhere` and their threads pinned,
//!                threads are on the CPUs that groups before gave them in this epoch,
//!                and pages that groups before move take room where they go
//!     plan = the policy of the group, asked with that view
//! join the plans, in that order
//! ```
//!
//! *Properties*: no policy acts on a process that is not its own (a plan that does is a bug, and
//! ends the run); cache ways, which belong to the machine, are divided by only one policy; each
//! policy learns the outcome of its own actions alone; each predicted change keeps one number,
//! whichever policy predicts it. If the user defines no groups, this policy is not used at all
//! (`isobar_runtime::policies`).
//!
//! This module knows no files and no patterns: whether a process fits a group is a function that
//! its maker supplies.

mod numbers;
#[cfg(test)]
mod tests;
mod view;

use isobar_model::{Action, GroupPolicy, Observation, Outcome, Plan, PlanPart, Policy, Process, Sensor, WayCurves};
use numbers::Numbers;
use std::collections::BTreeSet;
use view::View;

/// Whether a process is in a group.
pub type Fits = Box<dyn Fn(&Process) -> bool>;

/// A group of processes with its policy.
pub struct Group {
    /// The name that the user gave it.
    pub name: String,
    /// Which processes are in it.
    pub fits: Fits,
    /// The policy that decides about them.
    pub policy: Box<dyn Policy>,
}

/// Groups with policies of their own, and a main policy for processes that are in no group.
pub struct ByGroup {
    groups: Vec<Group>,
    main: Box<dyn Policy>,
    needs: &'static [Sensor],
    uses: &'static [Sensor],
    /// What each policy planned last, in the order of the policies.
    asked: Vec<Plan>,
    numbers: Numbers,
    /// The policy that divides ways, by its place in that order.
    divides: Option<usize>,
    /// Whether groups without a process were reported.
    told: bool,
    failed: Option<String>,
}

impl ByGroup {
    /// Nothing is decided yet. If a process fits several groups, the first one has it.
    #[must_use]
    pub fn new(groups: Vec<Group>, main: Box<dyn Policy>) -> Self {
        let all = || groups.iter().map(|group| &group.policy).chain([&main]);
        // The trait returns sensors as `'static` references, so a handful of bytes is leaked for
        // the run.
        let union = |of: fn(&dyn Policy) -> &'static [Sensor]| -> &'static [Sensor] {
            let sensors: BTreeSet<Sensor> = all().flat_map(|policy| of(policy.as_ref())).copied().collect();
            sensors.into_iter().collect::<Vec<_>>().leak()
        };
        let (needs, uses) = (union(|policy| policy.needs()), union(|policy| policy.uses()));
        let numbers = Numbers::default();
        Self { groups, main, needs, uses, asked: Vec::new(), numbers, divides: None, told: false, failed: None }
    }

    /// Every policy, the main one last.
    fn policies(&mut self) -> impl Iterator<Item = &mut Box<dyn Policy>> {
        self.groups.iter_mut().map(|group| &mut group.policy).chain([&mut self.main])
    }

    /// The place, in their order, of the policy that decides about a process.
    fn owner(&self, process: &Process) -> usize {
        self.groups.iter().position(|group| (group.fits)(process)).unwrap_or(self.groups.len())
    }

    /// The prefix of a policy's reasons and notes; empty for the main policy.
    fn prefix(&self, place: usize) -> String {
        self.groups.get(place).map_or_else(String::new, |group| format!("{} for {}: ", group.policy.name(), group.name))
    }

    fn policy(&mut self, place: usize) -> &mut dyn Policy {
        match self.groups.get_mut(place) {
            Some(group) => group.policy.as_mut(),
            None => self.main.as_mut(),
        }
    }

    /// Notes on groups in which there is no process: a misspelt name would otherwise silently have
    /// no effect.
    fn empty_groups(&self, owners: &[usize]) -> Vec<String> {
        let empty = self.groups.iter().enumerate().filter(|(place, _)| !owners.contains(place));
        let note = |(_, Group { name, policy, .. }): (usize, &Group)| {
            format!("no managed process is in {name} yet: its policy {} has nothing to decide", policy.name())
        };
        empty.map(note).collect()
    }

    /// Asks one policy for its plan. If the policy has failed, nothing is planned.
    fn ask(&mut self, place: usize, seen: &Observation) -> Plan {
        let policy = self.policy(place);
        let (plan, name) = (policy.decide(seen), policy.name());
        let failed = policy.failed().map(str::to_owned);
        let fault = failed.or_else(|| plan.validate(seen).err().map(|fault| fault.to_string()));
        let why = fault.or_else(|| self.divides_too(place, &plan));
        match why {
            None => plan,
            Some(why) => {
                let prefix = self.prefix(place);
                self.failed.get_or_insert_with(|| format!("{prefix}{why}"));
                Plan::nothing(name)
            }
        }
    }

    /// Why a policy may not divide ways, if it does and another policy did before.
    fn divides_too(&mut self, place: usize, plan: &Plan) -> Option<String> {
        if !plan.actions.iter().any(|action| matches!(action, Action::SetWays { .. })) {
            return None;
        }
        let first = *self.divides.get_or_insert(place);
        let other = if first == self.groups.len() { self.main.name() } else { self.groups[first].policy.name() };
        (first != place)
            .then(|| format!("it divides cache ways, and so does {other}: only one policy of a run may divide them"))
    }

    /// Adds a policy's plan to those of the policies before it.
    fn join(&mut self, place: usize, plan: &Plan, all: &mut Plan) {
        let (prefix, first) = (self.prefix(place), all.actions.len());
        if let Some(Group { name, policy, .. }) = self.groups.get(place).filter(|_| !plan.actions.is_empty()) {
            let actions = (first..first + plan.actions.len()).collect();
            all.parts.push(PlanPart { group: name.clone(), policy: policy.name().to_owned(), actions });
        }
        all.actions.extend(plan.actions.iter().cloned().map(|mut action| {
            action.reason_mut().insert_str(0, &prefix);
            action
        }));
        all.notes.extend(plan.notes.iter().map(|note| format!("{prefix}{note}")));
        all.predictions.extend(plan.predictions.iter().cloned().map(|mut prediction| {
            prediction.change = self.numbers.of(place, prediction.change);
            prediction.actions.iter_mut().for_each(|index| *index += first);
            prediction
        }));
        all.effects.extend(plan.effects.iter().cloned().map(|mut effect| {
            effect.change = self.numbers.closed(place, effect.change);
            effect
        }));
    }
}

impl Policy for ByGroup {
    /// The name of the main policy.
    fn name(&self) -> &'static str {
        self.main.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.needs
    }

    fn uses(&self) -> &'static [Sensor] {
        self.uses
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let owners: Vec<usize> = seen.processes.iter().map(|process| self.owner(process)).collect();
        let mut all = Plan::nothing(self.name());
        if !std::mem::replace(&mut self.told, true) {
            all.notes = self.empty_groups(&owners);
        }
        self.asked.clear();
        let mut view = View::of(seen, owners);
        for place in 0..=self.groups.len() {
            let plan = self.ask(place, view.for_policy(place));
            view.follow(&plan);
            self.join(place, &plan, &mut all);
            self.asked.push(plan);
        }
        all
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        let mut asked = std::mem::take(&mut self.asked);
        if asked.iter().map(|plan| plan.actions.len()).sum::<usize>() != plan.actions.len() {
            asked.clear(); // Nobody was asked in this epoch.
        }
        let mut asked = asked.into_iter();
        let mut left = outcome.actions.iter();
        for policy in self.policies() {
            let own = asked.next().unwrap_or_else(|| Plan::nothing(policy.name()));
            let actions = left.by_ref().take(own.actions.len()).cloned().collect();
            policy.applied(&own, &Outcome { actions });
        }
    }

    fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    fn undone(&mut self, action: &Action) {
        let prefixes: Vec<String> = (0..self.groups.len()).map(|place| self.prefix(place)).collect();
        let place = prefixes.iter().position(|prefix| action.reason().starts_with(prefix));
        let mut action = action.clone();
        if let Some(place) = place {
            action.reason_mut().replace_range(..prefixes[place].len(), "");
        }
        self.policy(place.unwrap_or(self.groups.len())).undone(&action);
    }

    fn groups(&self) -> Vec<GroupPolicy> {
        let one = |Group { name, policy, .. }: &Group| GroupPolicy {
            group: name.clone(),
            policy: policy.name(),
            needs: policy.needs(),
        };
        self.groups.iter().map(one).collect()
    }

    fn learnt(&self) -> Vec<WayCurves> {
        self.groups.iter().map(|group| &group.policy).chain([&self.main]).flat_map(|policy| policy.learnt()).collect()
    }
}
