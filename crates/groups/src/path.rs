//! Interprets a whole path: its groups from the outside in, and the one that names it.

use crate::group::Group;
use crate::{kubernetes, segment};

/// The groups of a path, the outermost first. Inside a container or a virtual machine only pods and
/// containers count (Kubernetes in containers). Units there belong to another system and are left
/// out.
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

/// Whether the inside of the group is another system.
const fn is_sealed(group: &Group) -> bool {
    matches!(group, Group::Container { .. } | Group::Domain(_))
}

/// Whether a unit is the monitor process beside a container.
fn is_monitor(name: &str) -> bool {
    name.contains("-conmon-")
}

/// The group by which a person would name the processes of a path: their pod, virtual machine or
/// container, otherwise their service. `None` for programs that a user runs in a session and for
/// programs that only a slice holds, because these programs have names of their own.
#[must_use]
pub fn label(path: &str) -> Option<Group> {
    let groups = of_path(path);
    let pod = groups.iter().rev().find(|group| matches!(group, Group::Pod { .. }));
    let sealed = || groups.iter().find(|group| is_sealed(group));
    let service = || groups.iter().rev().find(|group| matches!(group, Group::Unit(name) if is_service(name)));
    pod.or_else(sealed).or_else(service).cloned()
}

/// The same as text. If the runtime's name is known, it replaces the id: `pod:default/web`,
/// `docker:web`.
#[must_use]
pub fn label_named(path: &str, name: Option<&str>) -> Option<String> {
    let label = label(path)?;
    Some(match (name, label.named_kind()) {
        (Some(name), Some(kind)) => format!("{kind}:{name}"),
        _ => label.to_string(),
    })
}

/// Whether a unit is a service and not just the session that holds a user's programs.
fn is_service(name: &str) -> bool {
    let is_session = name.starts_with("session-") && name.ends_with(".scope");
    !(is_session || name == "init.scope" || name.starts_with("user@"))
}
