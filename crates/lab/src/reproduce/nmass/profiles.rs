//! Profiles: every program alone, locally and remotely (equation 1, figure 7). The paper gives its
//! policies traces of such runs, with the penalty and the MPKI of each sample, because its machine
//! cannot count local and remote misses at once (section 3.4). We do the same: penalties go into
//! the policies' settings, and [`Traced`] shows the policies the MPKI of the profile instead of the
//! counters' values under contention.

use crate::compare::NamedPolicy;
use crate::error::LabError;
use isobar_model::{Observation, Outcome, Plan, Policy, Sensor, num};
use isobar_policy::baseline::linux;
use isobar_policy::nmass::{maximum_local, n_mass, n_mass_regression};
use isobar_policy::registry;
use isobar_policy::settings::Settings;
use isobar_sim::Workload;
use isobar_sim::solo::{Solo, solo};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The baseline, and the three policies of the paper.
pub(super) const POLICIES: [&str; 4] = [linux::NAME, maximum_local::NAME, n_mass::NAME, n_mass_regression::NAME];

/// The behaviour of each program alone, by name.
#[derive(Clone, Debug)]
pub(super) struct Profiles(pub BTreeMap<String, Solo>);

impl Profiles {
    /// Runs every program of the workloads alone on the machine of its workload.
    pub fn measure<'a>(workloads: impl Iterator<Item = &'a Workload>) -> Self {
        let mut known = BTreeMap::new();
        for workload in workloads {
            for app in &workload.apps {
                known.entry(app.program.name.clone()).or_insert_with(|| solo(&app.program, &workload.machine));
            }
        }
        Self(known.into_iter().filter_map(|(name, solo)| Some((name, solo?))).collect())
    }

    /// The policies with these penalties; the regression gets none, as in section 4.5.
    ///
    /// # Errors
    /// [`LabError::Settings`], which cannot occur for penalties: they are numbers of at least 1.
    pub fn policies(&self) -> Result<Vec<NamedPolicy<'static>>, LabError> {
        let mut settings = Settings::default();
        for name in [maximum_local::NAME, n_mass::NAME] {
            registry::set(&mut settings, &format!("{name}.penalties"), &self.text())?;
        }
        let (settings, rates) = (Arc::new(settings), Arc::new(self.rates()));
        POLICIES.iter().map(|name| maker(name, &settings, &rates)).collect()
    }

    fn rates(&self) -> Rates {
        self.0.iter().map(|(name, solo)| (name.clone(), solo.mpki)).collect()
    }

    /// The penalties in the form of the setting: `soplex=1.36 mcf=1.2`.
    fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (name, solo)| {
            let _ = write!(text, "{name}={:.4} ", solo.numa_penalty.unwrap_or(1.0).max(1.0));
            text
        })
    }
}

/// MPKI alone, by name.
type Rates = BTreeMap<String, f64>;

fn maker(name: &'static str, settings: &Arc<Settings>, rates: &Arc<Rates>) -> Result<NamedPolicy<'static>, LabError> {
    registry::build(name, settings)?;
    let (settings, rates) = (Arc::clone(settings), Arc::clone(rates));
    #[expect(clippy::expect_used, reason = "the same settings have just built this policy")]
    let make = move || -> Box<dyn Policy> {
        let policy = registry::build(name, &settings).expect("checked settings");
        Box::new(Traced { policy, rates: Arc::clone(&rates) })
    };
    Ok((name.to_owned(), Box::new(make)))
}

/// A policy that is shown the miss rates of profiles. Programs here are steady, so a trace is one
/// number.
struct Traced {
    policy: Box<dyn Policy>,
    rates: Arc<Rates>,
}

impl Policy for Traced {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.policy.needs()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut seen = seen.clone();
        for process in &mut seen.processes {
            let Some(rate) = self.rates.get(&*process.name) else { continue };
            for thread in &mut process.threads {
                thread.llc_misses =
                    thread.instructions.map(|instructions| num::round(num::float(instructions) * rate / 1000.0));
            }
        }
        self.policy.decide(&seen)
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.policy.applied(plan, outcome);
    }
}
