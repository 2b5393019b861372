//! Remarks on tables and programs that the model of a study uses although they are odd. One line
//! for each kind of oddity, with the number of programs and the name of one of them.

use crate::ask::ModelKind;
use crate::setup::Setup;
use isobar_model::profile::Property;
use isobar_profiles::Profiles;
use isobar_sim::Program;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All remarks on these programs.
pub(crate) fn all(
    setup: &Setup,
    profiles: &Profiles,
    names: &[&str],
    programs: &BTreeMap<String, Arc<Program>>,
) -> Vec<String> {
    let mut remarks = profiles.remarks(names, setup.ways);
    let mut remark = |which: Vec<&str>, what: &str| {
        if let [first, rest @ ..] = which.as_slice() {
            let others = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            remarks.push(format!("{}: {first}{others}: {what}", profiles.file()));
        }
    };
    let all = || names.iter().filter_map(|name| programs.get_key_value(*name));
    let names_of = |which: fn(&Program) -> bool| {
        all().filter(|(_, program)| which(program)).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    match setup.model {
        ModelKind::Queueing => {
            let rises = "misses rise with one way more at some point; the queueing model uses the nearest curve that \
                         never rises";
            remark(names_of(|program| !program.mpki.rises().is_empty()), rises);
            remark(names_of(|program| !program.phase.is_empty()), "has phases; their mean is used");
            remark(names_of(|program| program.threads > 1), "has several threads; one is used");
        }
        ModelKind::Stalls => {
            let unknown = |name: &&&str| {
                let profile = profiles.profile(name);
                profile.is_some_and(|profile| profile.column(Property::StallsTotal).iter().all(|part| *part <= 0.0))
            };
            let which = names.iter().filter(unknown).copied().collect();
            remark(which, "stalls are not known; under pbbcache-stalls, bandwidth has no effect");
        }
        ModelKind::Simple => {}
    }
    remarks
}
