//! Which counters are missing, and why: what did not open, and what opened and never counted.

use super::available::{Available, software_opens};
use super::capabilities::Facts;
use super::counters::CounterSet;
use super::events::Role;
use super::proof::Standing;
use super::why;
use crate::actuators::privilege;
use isobar_model::Sensor;
use std::collections::BTreeMap;

const COUNTED: [(Sensor, Role); 2] = [(Sensor::Instructions, Role::Instructions), (Sensor::LlcMisses, Role::LlcMisses)];

/// Why instructions and LLC misses cannot be counted, where they cannot.
pub(super) fn at_first(available: &Available, facts: &Facts) -> BTreeMap<Sensor, String> {
    let software_opens = software_opens();
    let reason = |role: Role| {
        let why = why::Evidence {
            role,
            cause: available.refused.get(&role).map_or_else(
                || why::Cause::Unlisted(available.unlisted.get(&role).cloned().unwrap_or_default()),
                |errno| why::Cause::Refused(*errno),
            ),
            counted: [Role::Cycles, Role::Instructions].into_iter().find(|role| available.counts(*role)),
            software_opens,
            paranoid: facts.paranoid,
            has_cap_perfmon: facts.has_perfmon(),
            is_vm: facts.is_vm,
            arch: facts.arch,
            recipe: privilege::recipe(),
        };
        why::reason(&why)
    };
    let missing = COUNTED.into_iter().filter(|(_, role)| !available.counts(*role));
    missing.map(|(sensor, role)| (sensor, reason(role))).collect()
}

/// Adds the events that opened and are known not to count.
pub(super) fn add_silent(missing: &mut BTreeMap<Sensor, String>, counters: &CounterSet, facts: &Facts) {
    let stands_still = counters.stands_still();
    for (sensor, role) in COUNTED.into_iter().filter(|(_, role)| counters.available.counts(*role)) {
        let reason = match (stands_still, counters.standing(role), role) {
            (true, ..) | (_, Standing::Silent, Role::Instructions | Role::Cycles) => {
                why::stands_still(facts.is_vm, facts.arch)
            }
            (_, Standing::Silent, _) => why::never_counted(&counters.evidence(role), facts.is_vm, facts.arch),
            _ => continue,
        };
        missing.insert(sensor, reason);
    }
}
