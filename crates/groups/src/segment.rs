//! What one folder of a path stands for, by the naming rules of each program that creates cgroups.

use crate::escape::unescape;
use crate::group::{Group, Runtime, is_id};

/// How the names of containers' scopes and folders begin, and which runtime uses the prefix. The
/// monitors of containers (`crio-conmon-`, `libpod-conmon-`) run beside the containers and are not
/// part of them. Their prefixes come first in this list and stand for no group.
const CONTAINERS: [(&str, Option<Runtime>); 8] = [
    ("crio-conmon-", None),
    ("libpod-conmon-", None),
    ("cri-containerd-", Some(Runtime::Containerd)),
    ("nerdctl-", Some(Runtime::Containerd)),
    ("docker-", Some(Runtime::Docker)),
    ("crio-", Some(Runtime::Crio)),
    ("libpod-", Some(Runtime::Podman)),
    ("podman-", Some(Runtime::Podman)),
];

/// A container, from its scope or folder; `above` is the folder above it.
pub fn container(segment: &str, above: Option<&str>) -> Option<Group> {
    let bare = segment.strip_suffix(".scope").unwrap_or(segment);
    let known = CONTAINERS.iter().find_map(|(head, runtime)| Some((*runtime, bare.strip_prefix(head)?)));
    if let Some((runtime, id)) = known {
        return of_id(runtime?, id);
    }
    named(segment).or_else(|| match above {
        Some("docker") => of_id(Runtime::Docker, segment),
        Some("libpod_parent") => of_id(Runtime::Podman, segment),
        Some("lxc") => Some(Group::Container { runtime: Runtime::Lxc, id: segment.to_owned() }),
        // The form `SLICE:PREFIX:ID` of systemd's driver, if the runtime was not configured to use
        // it.
        _ => segment.split_once(":cri-containerd:").and_then(|(_, id)| of_id(Runtime::Containerd, id)),
    })
}

/// A container in a pod's folder, whose name is only its id.
pub fn in_pod(segment: &str) -> Option<Group> {
    of_id(Runtime::Unknown, segment)
}

fn of_id(runtime: Runtime, id: &str) -> Option<Group> {
    is_id(id).then(|| Group::Container { runtime, id: id.to_ascii_lowercase() })
}

/// Containers that have names: LXC payloads and machines of systemd-nspawn.
fn named(segment: &str) -> Option<Group> {
    let named = |runtime, id: &str| Group::Container { runtime, id: unescape(id) };
    if let Some(name) = segment.strip_prefix("lxc.payload.") {
        return Some(named(Runtime::Lxc, name));
    }
    if let Some(name) = segment.strip_prefix("systemd-nspawn@").and_then(|rest| rest.strip_suffix(".service")) {
        return Some(named(Runtime::Nspawn, name));
    }
    let machine = unescape(segment.strip_prefix("machine-")?.strip_suffix(".scope")?);
    match machine.strip_prefix("lxc-").and_then(without_number) {
        Some(name) => Some(named(Runtime::Lxc, name)),
        // The other drivers of libvirt make virtual machines.
        None if is_libvirt(&machine) => None,
        None => Some(Group::Container { runtime: Runtime::Nspawn, id: machine }),
    }
}

/// Drivers of libvirt that register machines with systemd (src/util/virsystemd.c,
/// `virSystemdMakeScopeName`: `machine-DRIVER-ID-NAME.scope`, escaped).
const DRIVERS: [&str; 5] = ["qemu", "kvm", "xen", "ch", "bhyve"];

fn is_libvirt(machine: &str) -> bool {
    domain_of(machine).is_some()
}

fn domain_of(machine: &str) -> Option<&str> {
    let (driver, rest) = machine.split_once('-')?;
    DRIVERS.contains(&driver).then(|| without_number(rest)).flatten()
}

/// Removes the number from `3-web`: it changes at every start.
fn without_number(text: &str) -> Option<&str> {
    let (number, name) = text.split_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !name.is_empty()).then_some(name)
}

/// A virtual machine; `above` is the folder above it.
pub fn domain(segment: &str, above: Option<&str>) -> Option<Group> {
    let scope = segment.strip_suffix(".scope");
    if let Some(machine) = scope.and_then(|scope| scope.strip_prefix("machine-")) {
        return domain_of(&unescape(machine)).map(|name| Group::Domain(name.to_owned()));
    }
    // Proxmox: qemu.slice/VMID.scope.
    if let (Some(number), Some("qemu.slice")) = (scope, above) {
        return number.bytes().all(|byte| byte.is_ascii_digit()).then(|| Group::Domain(number.to_owned()));
    }
    // libvirt without systemd: machine/qemu-3-web.libvirt-qemu, and older machine/web.libvirt-qemu.
    let name = unescape(segment.strip_suffix(".libvirt-qemu")?);
    Some(Group::Domain(domain_of(&name).map_or_else(|| name.clone(), str::to_owned)))
}

/// Suffixes of units that hold processes (systemd.unit(5)).
const UNITS: [&str; 6] = [".service", ".scope", ".socket", ".mount", ".swap", ".slice"];

/// A systemd unit or slice.
pub fn unit(segment: &str) -> Option<Group> {
    let end = UNITS.iter().find(|end| segment.len() > end.len() && segment.ends_with(**end))?;
    let name = unescape(segment);
    Some(if *end == ".slice" { Group::Slice(name) } else { Group::Unit(name) })
}
