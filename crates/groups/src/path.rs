//! A whole path: its groups from the outside in, and the one that names it.

use crate::group::Group;
use crate::{kubernetes, segment};

/// The groups of a path, the outermost first. What is inside of a container or a virtual machine
/// belongs to that, but for pods and containers in it (Kubernetes in containers): units there are
/// those of another system.
#[must_use]
pub fn of_path(path: &str) -> Vec<Group> {
    let (mut found, mut above): (Vec<Group>, Option<&str>) = (Vec::new(), None);
    for name in path.split('/').filter(|name| !name.is_empty()) {
        found.extend(of_segment(name, above, &found));
        above = Some(name);
    }
    found
}

fn of_segment(name: &str, above: Option<&str>, outer: &[Group]) -> Option<Group> {
    let is_inside = outer.iter().any(is_sealed);
    let in_pod = || matches!(outer.last(), Some(Group::Pod { .. })).then(|| segment::in_pod(name)).flatten();
    let pod = kubernetes::pod(name, above).or_else(in_pod).or_else(|| segment::container(name, above));
    if is_inside || pod.is_some() {
        return pod;
    }
    segment::domain(name, above).or_else(|| segment::unit(name).filter(|_| !is_monitor(name)))
}

/// Whether what is inside is another system.
const fn is_sealed(group: &Group) -> bool {
    matches!(group, Group::Container { .. } | Group::Domain(_))
}

/// The process beside a container that watches it.
fn is_monitor(name: &str) -> bool {
    name.contains("-conmon-")
}

/// What a person calls the processes of a path: their pod, virtual machine or container, else their
/// service. Programs that a user runs in a session have names of their own, and so have those of
/// slices alone: `None`.
#[must_use]
pub fn label(path: &str) -> Option<Group> {
    let groups = of_path(path);
    let pod = groups.iter().rev().find(|group| matches!(group, Group::Pod { .. }));
    let sealed = || groups.iter().find(|group| is_sealed(group));
    let service = || groups.iter().rev().find(|group| matches!(group, Group::Unit(name) if is_service(name)));
    pod.or_else(sealed).or_else(service).cloned()
}

/// The same in words, with the name that its runtime has for it in place of an id, where that is
/// known: `pod:default/web`, `docker:web`.
#[must_use]
pub fn label_named(path: &str, name: Option<&str>) -> Option<String> {
    let label = label(path)?;
    Some(match (name, label.named_kind()) {
        (Some(name), Some(kind)) => format!("{kind}:{name}"),
        _ => label.to_string(),
    })
}

/// Whether a unit is more than the frame of a user's programs.
fn is_service(name: &str) -> bool {
    let is_session = name.starts_with("session-") && name.ends_with(".scope");
    !(is_session || name == "init.scope" || name.starts_with("user@"))
}
