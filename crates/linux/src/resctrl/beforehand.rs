//! Finds what can be known before anything is tried: how many classes of service others leave to
//! isobar, and which requests no write could fulfil.

use super::layout::TooMany;
use super::request::Request;
use super::root::Root;
use super::view::View;
use crate::kernel::identity;
use isobar_model::{ActionOutcome, Topology};
use rustix::fs::FlockOperation;
use std::path::Path;
use std::time::Duration;

/// The machine with the classes of service that others leave to isobar, so that a policy does not
/// plan with those that groups of others hold. The machine is returned unchanged if resctrl cannot
/// be read.
#[must_use]
pub fn without_others(topology: Topology, root: &Path) -> Topology {
    let level = topology.llcs().iter().map(|llc| llc.level).max();
    let root = Root::new(root);
    let look = |level| {
        let _lock = root.lock(FlockOperation::NonBlockingLockShared, Duration::from_millis(500))?;
        let ours = root.groups()?.into_iter().filter(|group| group.starts_with(&prefix())).collect();
        View::read(&root, level, &ours)
    };
    let Some(view) = level.and_then(|level| look(level).ok()) else { return topology };
    let mut parts = topology.clone().into_parts();
    if let Some(allocation) = &mut parts.allocation {
        allocation.num_closids = isobar_model::num::narrow(view.groups_to_be_had() + 1).min(allocation.num_closids);
    }
    Topology::new(parts).unwrap_or(topology)
}

/// Checks a request for what is known to be impossible before anything is tried.
pub(super) fn possible(view: &View, request: &Request) -> Result<(), ActionOutcome> {
    let refused = |why: String| Err(ActionOutcome::Refused { errno: None, why });
    let llc = request.key.llc;
    if view.info.cache.is_none() {
        return refused(
            "resctrl is mounted, but offers no cache allocation (no info/L3): see `isobar topo`".to_owned(),
        );
    }
    let domains = view.domains();
    if !domains.contains(&llc.0) {
        let known = domains.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return refused(format!("llc {llc} is not a cache domain of resctrl, whose domains are {known}"));
    }
    match (request.percent, view.bandwidth_in_percent(llc.0)) {
        (Some(_), false) => refused(
            "memory_bandwidth_percent: this machine has no memory-bandwidth allocation in per cent \
             (info/MB); leave it out"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Why there are not enough classes of service, which groups hold them, and what to do.
pub(super) fn too_many(many: &TooMany, view: &View, root: &Root) -> String {
    let TooMany { llc, needed } = many;
    let (left, others) = (view.groups_to_be_had(), view.others.join(", ").escape_debug().to_string());
    let classes = view.classes();
    let held = if others.is_empty() {
        "one belongs to the default group".to_owned()
    } else {
        format!("one belongs to the default group, {} to groups of other programs ({others})", view.others.len())
    };
    format!(
        "llc {llc} needs {needed} classes of service, but {left} of {classes} are left ({held}): remove groups that \
         are not needed (`rmdir {}/NAME`), or let the policy use fewer clusters",
        root.path().display()
    )
}

/// The prefix of the names of our groups. It contains our process id, so that two isobars do not
/// collide.
pub(super) fn prefix() -> String {
    format!("isobar-{}-", identity::own_pid())
}
