//! What is worth telling about tables and programs under the model that is asked of them: used all the same, and no mistake. One line for
//! each kind of oddity, with how many programs it is and one of them.

use super::ask::{ModelKind, Setup};
use super::profiles::Profiles;
use isobar_model::profile::Property;
use isobar_sim::Program;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All there is to tell about these programs.
pub(super) fn all(
    setup: &Setup,
    profiles: &Profiles,
    names: &[&str],
    programs: &BTreeMap<String, Arc<Program>>,
) -> Vec<String> {
    let mut told = profiles.remarks(names, setup.ways);
    let mut tell = |which: Vec<&str>, what: &str| {
        if let [first, rest @ ..] = which.as_slice() {
            let others = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            told.push(format!("{}: {first}{others}: {what}", profiles.file()));
        }
    };
    let here = || names.iter().filter_map(|name| programs.get_key_value(*name));
    let those = |which: fn(&Program) -> bool| {
        here().filter(|(_, program)| which(program)).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    match setup.model {
        ModelKind::Queueing => {
            let rises =
                "misses rise with a way more somewhere; the queueing model takes the nearest curve that never rises";
            tell(those(|program| !program.mpki.rises().is_empty()), rises);
            tell(those(|program| !program.phase.is_empty()), "has phases; their mean is taken");
            tell(those(|program| program.threads > 1), "has several threads; one is taken");
        }
        ModelKind::Stalls => {
            let silent = |name: &&&str| {
                let profile = profiles.profile(name);
                profile.is_some_and(|profile| profile.column(Property::StallsTotal).iter().all(|part| *part <= 0.0))
            };
            let which = names.iter().filter(silent).copied().collect();
            tell(which, "no stalls are known; under pbbcache-stalls bandwidth slows it by nothing");
        }
        ModelKind::Simple => {}
    }
    told
}
