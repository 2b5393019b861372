//! Finds the names of pods and containers, whose cgroup paths hold an id only, in the files in
//! which the kubelet, Docker and podman keep them. If a file is missing or may not be read, there
//! is no name, and the id is shown.
//!
//! - pods: the kubelet's folder of logs is called `NAMESPACE_NAME_UID`, and neither part has an
//!   underscore (pkg/kubelet/kuberuntime/helpers.go, `BuildPodLogsDirectory`).
//! - Docker: the key `Name` of a container's `config.v2.json`, with a slash before it
//!   (moby, daemon/container/container.go).
//! - podman: `id` and `names` in the list of its store (containers/storage, containers.go).

use isobar_groups::{Group, Runtime, label};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

const PODS: &str = "var/log/pods";
const DOCKER: &str = "var/lib/docker/containers";
const PODMAN: [&str; 2] = [
    "var/lib/containers/storage/overlay-containers/containers.json",
    "run/containers/storage/overlay-containers/volatile-containers.json",
];

/// The most bytes that are read of a file: the configuration of a container takes some kilobytes.
const LARGEST: u64 = 4 << 20;
/// The longest name that is accepted: a pod's name with its namespace.
const LONGEST: usize = 253 + 1 + 63;

/// The names of this machine, each looked up once until [`Self::forget`].
#[derive(Debug)]
pub struct GroupNames {
    root: PathBuf,
    known: BTreeMap<String, Option<String>>,
    /// The pods' names by their UIDs.
    pods: Option<BTreeMap<String, String>>,
    /// podman's containers by their ids.
    podman: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Docker {
    #[serde(rename = "Name")]
    name: String,
}

#[derive(Deserialize)]
struct Podman {
    id: String,
    #[serde(default)]
    names: Vec<String>,
}

impl GroupNames {
    /// The names of the running machine.
    #[must_use]
    pub fn live() -> Self {
        Self::below(Path::new("/"))
    }

    /// The names in files below a folder.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), known: BTreeMap::new(), pods: None, podman: None }
    }

    /// Drops what was read, so that new names are seen.
    pub fn forget(&mut self) {
        self.known.clear();
        (self.pods, self.podman) = (None, None);
    }

    /// The name of the pod or container that a cgroup path belongs to.
    pub fn of(&mut self, path: &str) -> Option<String> {
        let group = label(path)?;
        if !matches!(group, Group::Pod { .. } | Group::Container { .. }) {
            return None;
        }
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let name = self.look_up(&group).filter(|name| !name.is_empty() && name.len() <= LONGEST);
        self.known.insert(path.to_owned(), name.clone());
        name
    }

    fn look_up(&mut self, group: &Group) -> Option<String> {
        match group {
            Group::Pod { uid, .. } => self.pods.get_or_insert_with(|| pods(&self.root.join(PODS))).get(uid).cloned(),
            Group::Container { runtime: Runtime::Docker, id } => docker(&self.root.join(DOCKER).join(id)),
            Group::Container { runtime: Runtime::Podman, id } => {
                self.podman.get_or_insert_with(|| podman(&self.root)).get(id).cloned()
            }
            _ => None,
        }
    }
}

fn pods(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let pod = |folder: String| {
        let mut parts = folder.splitn(3, '_');
        let (namespace, name, uid) = (parts.next()?, parts.next()?, parts.next()?);
        Some((uid.to_ascii_lowercase(), format!("{namespace}/{name}")))
    };
    entries.filter_map(|entry| pod(entry.file_name().into_string().ok()?)).collect()
}

fn docker(folder: &Path) -> Option<String> {
    let config: Docker = json(&folder.join("config.v2.json"))?;
    Some(config.name.trim_start_matches('/').to_owned())
}

fn podman(root: &Path) -> BTreeMap<String, String> {
    let lists = PODMAN.iter().filter_map(|path| json::<Vec<Podman>>(&root.join(path)));
    let named = |one: Podman| Some((one.id, one.names.into_iter().next()?));
    lists.flatten().filter_map(named).collect()
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    let mut text = String::new();
    File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;

    const ID: &str = "3f2a51b0c9d4e8f7061524334251607f8e9d0c1b2a394857665748392a1b0c9d";
    const UID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

    #[test]
    fn names_are_found_where_each_program_keeps_them() {
        let config = format!("var/lib/docker/containers/{ID}/config.v2.json");
        let pod = format!("var/log/pods/default_web-7d4b_{UID}/web/0.log");
        let podman = format!(r#"[{{"id": "{ID}", "names": ["db"], "layer": "x"}}, {{"id": "y"}}]"#);
        let root = folder(&[
            (&config, r#"{"ID": "x", "Name": "/cache", "State": {"Pid": 1}}"#),
            (&pod, ""),
            ("var/lib/containers/storage/overlay-containers/containers.json", &podman),
        ]);
        let mut names = GroupNames::below(root.path());
        for (path, name) in [
            (format!("/system.slice/docker-{ID}.scope"), Some("cache")),
            (format!("/kubepods/besteffort/pod{UID}/{ID}"), Some("default/web-7d4b")),
            (format!("/machine.slice/libpod-{ID}.scope/container"), Some("db")),
            (format!("/system.slice/docker-{}.scope", ID.replace('3', "4")), None),
            ("/system.slice/redis.service".to_owned(), None),
            ("/".to_owned(), None),
        ] {
            assert_eq!(names.of(&path).as_deref(), name, "{path}");
        }
    }

    #[test]
    fn what_is_no_name_is_none_and_a_new_one_is_seen_once_the_old_is_forgotten() {
        let config = format!("var/lib/docker/containers/{ID}/config.v2.json");
        let path = format!("/docker/{ID}");
        for text in ["", "[]", "{\"Name\": 3}", "{\"Name\": \"/\"}", "{"] {
            assert_eq!(GroupNames::below(folder(&[(&config, text)]).path()).of(&path), None, "{text}");
        }
        let root = folder(&[(&config, r#"{"Name": "/a"}"#)]);
        let mut names = GroupNames::below(root.path());
        assert_eq!(names.of(&path).as_deref(), Some("a"));
        fs::write(root.path().join(&config), r#"{"Name": "/b"}"#).unwrap();
        assert_eq!(names.of(&path).as_deref(), Some("a"));
        names.forget();
        assert_eq!(names.of(&path).as_deref(), Some("b"));
    }
}
