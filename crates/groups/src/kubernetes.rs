//! Recognises Kubernetes pods. The kubelet names a pod's cgroup `podUID` below the cgroup of its
//! class of service. With systemd's driver the name is `kubepods-CLASS-podUID.slice`, and dashes in
//! the UID become underscores (pkg/kubelet/cm: `pod_container_manager_linux.go`,
//! `cgroup_manager_linux.go`).

use crate::group::{Group, Qos};

/// A pod, from a segment of a path; `above` is the segment above it.
pub fn pod(segment: &str, above: Option<&str>) -> Option<Group> {
    match segment.strip_suffix(".slice") {
        Some(slice) => of_slice(slice),
        None => of_folder(segment, above),
    }
}

/// `kubepods-burstable-pod0f1e_...`, after the names of any slices above it, such as `kubelet-`.
fn of_slice(slice: &str) -> Option<Group> {
    let (above, uid) = slice.rsplit_once("-pod")?;
    let (_, class) = above.split_once("kubepods").filter(|(before, _)| before.is_empty() || before.ends_with('-'))?;
    let uid = uid_of(&uid.replace('_', "-"))?;
    Some(Group::Pod { uid, qos: class_of(class.trim_start_matches('-'))? })
}

/// `pod0f1e-...` in `kubepods`, or in `burstable` or `besteffort` below that.
fn of_folder(folder: &str, above: Option<&str>) -> Option<Group> {
    let uid = uid_of(folder.strip_prefix("pod")?)?;
    let class = above.map(|above| if above.ends_with("kubepods") { "" } else { above })?;
    Some(Group::Pod { uid, qos: class_of(class)? })
}

fn class_of(text: &str) -> Option<Qos> {
    match text {
        "" => Some(Qos::Guaranteed),
        "burstable" => Some(Qos::Burstable),
        "besteffort" => Some(Qos::BestEffort),
        _ => None,
    }
}

/// A UID: 32 hexadecimal digits. UIDs of pods that the API server knows also have four dashes.
fn uid_of(text: &str) -> Option<String> {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes = text.bytes().filter(|byte| *byte == b'-').count();
    (digits == 32 && digits + dashes == text.len() && [0, 4].contains(&dashes)).then(|| text.to_ascii_lowercase())
}
