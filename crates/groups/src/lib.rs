//! Names a group of processes, from its cgroup path, as people name it: systemd's units and slices,
//! the containers of Docker, containerd, CRI-O, podman and LXC, Kubernetes's pods, libvirt's
//! domains.
//!
//! The crate knows how each of these programs writes paths, on cgroup version 1 and 2, with
//! systemd's driver and without; `tests/paths.txt` holds captured paths with their sources. It
//! refuses to guess: only the runtime knows a container's name, so a container is named by its id,
//! and a path of unknown form has no groups. No input causes a panic.
//!
//! If a caller knows the runtime's name of a container or pod, it may pass the name beside the
//! path.
//!
//! [`of_path`] returns all groups of a path, the outermost first. [`label`] returns the group by
//! which a person would name the processes. [`Selector`] matches groups against what a person
//! types.

#![forbid(unsafe_code)]

mod escape;
mod group;
mod kubernetes;
mod path;
mod segment;
mod selector;

pub use group::{Group, Qos, Runtime};
pub use path::{label, label_named, of_path};
pub use selector::{KINDS, Selector};
