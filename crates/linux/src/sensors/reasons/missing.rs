//! Determines which counters are missing, and why: events that did not open, and events that opened
//! and never counted.

use super::capabilities::Facts;
use crate::kernel::privilege;
use crate::sensors::counters::available::{Available, software_opens};
use crate::sensors::counters::events::Role;
use crate::sensors::counters::proof::EventState;
use crate::sensors::counters::set::CounterSet;
use crate::sensors::counters::why;
use isobar_model::Sensor;
use std::collections::BTreeMap;

const COUNTED: [(Sensor, Role); 2] = [(Sensor::Instructions, Role::Instructions), (Sensor::LlcMisses, Role::LlcMisses)];

/// Why instructions and LLC misses cannot be counted, if they cannot.
pub fn at_first(available: &Available, facts: &Facts) -> BTreeMap<Sensor, String> {
    let software_opens = software_opens();
    let reason = |role: Role| {
        let why = why::Evidence {
            role,
            cause: cause(available, role),
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

/// The cause that keeps an event from being counted. If its names could not be looked up, because
/// sysfs shows no list, the error of the event that needs no name holds for it too: most often
/// there is no PMU at all.
fn cause(available: &Available, role: Role) -> why::Cause {
    let refused = |role: Role| available.refused.get(&role).map(|errno| why::Cause::Refused(*errno));
    let unlisted = || available.unlisted.get(&role).cloned().map(why::Cause::Unlisted);
    let cause = refused(role).or_else(unlisted).or_else(|| refused(Role::Instructions));
    cause.unwrap_or_else(|| why::Cause::Unlisted(Vec::new()))
}

/// Adds the events that opened and are known not to count.
pub fn add_silent(missing: &mut BTreeMap<Sensor, String>, counters: &CounterSet, facts: &Facts) {
    let stands_still = counters.stands_still();
    for (sensor, role) in COUNTED.into_iter().filter(|(_, role)| counters.available.counts(*role)) {
        let reason = match (stands_still, counters.standing(role), role) {
            (true, ..) | (_, EventState::Silent, Role::Instructions | Role::Cycles) => {
                why::stands_still(facts.is_vm, facts.arch)
            }
            (_, EventState::Silent, _) => why::never_counted(&counters.evidence(role), facts.is_vm, facts.arch),
            _ => continue,
        };
        missing.insert(sensor, reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::event::Modes;
    use rustix::io::Errno;

    /// An Arm virtual machine without a PMU: LLC events are found by name there, and sysfs has no
    /// list in which they could be missing.
    #[test]
    fn without_a_list_of_events_none_is_said_to_be_missing_from_it() {
        let refused = BTreeMap::from([(Role::Instructions, Errno::NOENT), (Role::Cycles, Errno::NOENT)]);
        let none = Available { groups: Vec::new(), modes: Modes::All, refused, unlisted: BTreeMap::new() };
        assert_eq!(cause(&none, Role::LlcMisses), why::Cause::Refused(Errno::NOENT));
        let names = vec!["ll_cache_miss_rd"];
        let listed = Available { unlisted: [(Role::LlcMisses, names.clone())].into(), ..none };
        assert_eq!(cause(&listed, Role::LlcMisses), why::Cause::Unlisted(names));
        let hidden = Available { refused: BTreeMap::new(), unlisted: BTreeMap::new(), ..listed };
        assert_eq!(cause(&hidden, Role::LlcMisses), why::Cause::Unlisted(Vec::new()));
    }
}
