//! Finds the CPUs that a process's cgroup lets it use: cgroup v2 `cpuset.cpus.effective`
//! (`Documentation/admin-guide/cgroup-v2.rst`), or v1 `cpuset.effective_cpus`
//! (`cgroup-v1/cpusets.rst`), found through the mount table and `/proc/PID/cgroup`. If no cpuset is
//! in force, the answer is `None`: any CPU.

use super::proc_fs::read_text;
use isobar_model::CpuSet;
use std::collections::BTreeMap;
use std::path::Path;

/// A mounted cgroup hierarchy that can hold cpusets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Version 1 (a `cpuset` controller of its own) or 2 (the unified hierarchy).
    pub version: u8,
    /// The part of the hierarchy that is mounted: `/`, or a container's own cgroup.
    pub root: String,
    /// Where it is mounted.
    pub mount_point: String,
}

/// The hierarchy that governs CPUs, from the text of `/proc/self/mountinfo`
/// (`proc_pid_mountinfo(5)`). A v1 hierarchy with the `cpuset` controller takes precedence: the
/// controller is in one hierarchy at a time, and v2 may be mounted beside it.
#[must_use]
pub fn hierarchy(mountinfo: &str) -> Option<Hierarchy> {
    let mut found: Vec<_> = mountinfo.lines().filter_map(mounted).collect();
    found.sort_by_key(|hierarchy| hierarchy.version);
    found.into_iter().next()
}

fn mounted(line: &str) -> Option<Hierarchy> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount_point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup2" => 2,
        "cgroup" if kind.nth(1)?.split(',').any(|option| option == "cpuset") => 1,
        _ => return None,
    };
    Some(Hierarchy { version, root: unescaped(root), mount_point: unescaped(mount_point) })
}

/// The kernel writes space, tab, newline and backslash in mount tables as octal.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// The path of a process in the hierarchy, from the text of `/proc/PID/cgroup` (`cgroups(7)`).
#[must_use]
pub fn path_in<'a>(hierarchy: &Hierarchy, cgroup: &'a str) -> Option<&'a str> {
    cgroup.lines().find_map(|line| {
        let (id, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let ours = match hierarchy.version {
            2 => id == "0" && controllers.is_empty(),
            _ => controllers.split(',').any(|controller| controller == "cpuset"),
        };
        ours.then_some(path)
    })
}

/// The path that a process is known by, from the text of `/proc/PID/cgroup`: on version 2 there is
/// only one. If hierarchies of version 1 are mounted, systemd's (`name=systemd`) is preferred,
/// because it is kept in step with the others. Version 2's comes next, then any other. A path that
/// is the root counts only if all are.
#[must_use]
pub fn known_path(cgroup: &str) -> Option<&str> {
    let lines = cgroup.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let rank = |controllers: &str| match controllers {
        "name=systemd" => 0,
        "" => 1,
        _ => 2,
    };
    let best = lines.min_by_key(|(controllers, path)| (*path == "/", rank(controllers)));
    best.map(|(_, path)| path).filter(|path| path.starts_with('/'))
}

impl Hierarchy {
    /// The folders to read, nearest first: the cgroup's own, then its parents (a v2 cgroup without
    /// the cpuset controller has no file of its own and is governed by its parent). Empty if the
    /// cgroup lies outside the part of the hierarchy that is mounted.
    fn folders<'a>(&'a self, path: &'a str) -> impl Iterator<Item = String> + 'a {
        let root = self.root.trim_end_matches('/');
        let below = path.strip_prefix(root).filter(|below| !below.contains(".."));
        let mut next = below.map(|below| below.trim_end_matches('/'));
        std::iter::from_fn(move || {
            let below = next?;
            next = below.rfind('/').map(|slash| &below[..slash]);
            Some(format!("{}{below}", self.mount_point))
        })
    }
}

/// The cpusets of the machine, each read once until [`Self::forget`].
#[derive(Debug)]
pub struct Cpusets {
    hierarchy: Option<Hierarchy>,
    known: BTreeMap<String, Option<CpuSet>>,
}

impl Cpusets {
    /// The cpusets of the running machine.
    #[must_use]
    pub fn live() -> Self {
        let hierarchy = read_text("/proc/self/mountinfo").and_then(|text| hierarchy(&text));
        Self { hierarchy, known: BTreeMap::new() }
    }

    /// Drops what was read, so that changed cpusets are seen.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// The CPUs that a process's cgroup lets it use, given the text of its `/proc/PID/cgroup`.
    pub fn permitted(&mut self, cgroup: &str) -> Option<CpuSet> {
        let hierarchy = self.hierarchy.as_ref()?;
        let path = path_in(hierarchy, cgroup)?;
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let cpus = hierarchy.folders(path).find_map(|folder| read_cpus(hierarchy.version, &folder));
        self.known.insert(path.to_owned(), cpus.clone());
        cpus
    }

    /// Whether no cpuset keeps a process from any CPU, not even from those that come online: it is
    /// in the machine's root cgroup, as far as cpusets are concerned.
    #[must_use]
    pub fn is_unlimited(&self, cgroup: &str) -> bool {
        let Some(hierarchy) = &self.hierarchy else { return true };
        let Some(path) = path_in(hierarchy, cgroup) else { return true };
        let governs = |folder: &String| read_cpus(hierarchy.version, folder).is_some();
        let governing = hierarchy.folders(path).find(governs);
        governing.is_none_or(|folder| match hierarchy.version {
            // The root of version 2 has no such file, but that of a container has.
            2 => !Path::new(&folder).join("cpuset.cpus").exists(),
            _ => hierarchy.root == "/" && folder == hierarchy.mount_point,
        })
    }
}

/// An empty list means no limit: a v1 cgroup whose cpuset was never filled in holds no process.
fn read_cpus(version: u8, folder: &str) -> Option<CpuSet> {
    let files: &[&str] =
        if version == 2 { &["cpuset.cpus.effective"] } else { &["cpuset.effective_cpus", "cpuset.cpus"] };
    let text = files.iter().find_map(|file| read_text(format!("{folder}/{file}")))?;
    text.parse::<CpuSet>().ok().filter(|cpus| !cpus.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{folder, write};
    use proptest::prelude::*;

    const V2: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const MIXED: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        36 31 0:33 /box /sys/fs/cgroup/cpu\\040set rw - cgroup cgroup rw,cpuset\n\
        40 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_cpuset_controller_decides_the_hierarchy() {
        let v2 = hierarchy(V2).unwrap();
        assert_eq!((v2.version, v2.mount_point.as_str()), (2, "/sys/fs/cgroup"));
        let v1 = hierarchy(MIXED).unwrap();
        assert_eq!((v1.version, v1.root.as_str(), v1.mount_point.as_str()), (1, "/box", "/sys/fs/cgroup/cpu set"));
        assert_eq!(hierarchy("22 27 0:21 / /proc rw - proc proc rw\n"), None);
    }

    #[test]
    fn a_process_is_found_in_its_hierarchy() {
        let cgroup = "9:name=systemd:/\n4:cpu,cpuset:/box/a:b\n0::/user.slice/x\n";
        assert_eq!(path_in(&hierarchy(V2).unwrap(), cgroup), Some("/user.slice/x"));
        assert_eq!(path_in(&hierarchy(MIXED).unwrap(), cgroup), Some("/box/a:b"));
        assert_eq!(path_in(&hierarchy(V2).unwrap(), "4:cpuset:/\n"), None);
    }

    #[test]
    fn a_process_is_known_by_the_path_that_says_most() {
        for (text, path) in [
            ("0::/system.slice/redis.service\n", Some("/system.slice/redis.service")),
            ("9:name=systemd:/docker/x\n4:memory:/y\n0::/system.slice/containerd.service\n", Some("/docker/x")),
            ("9:name=systemd:/\n4:memory:/batch\n0::/\n", Some("/batch")),
            ("4:memory:/\n0::/\n", Some("/")),
            ("nonsense\n5:x\n", None),
            ("0::relative\n", None),
            ("", None),
        ] {
            assert_eq!(known_path(text), path, "{text}");
        }
    }

    #[test]
    fn parents_are_asked_in_turn_and_nothing_outside_of_the_mount() {
        let folders = |hierarchy: &Hierarchy, path: &str| hierarchy.folders(path).collect::<Vec<_>>();
        let v2 = hierarchy(V2).unwrap();
        assert_eq!(folders(&v2, "/a/b"), ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]);
        assert_eq!(folders(&v2, "/"), ["/sys/fs/cgroup"]);
        assert!(folders(&v2, "/../../else").is_empty());
        let boxed = hierarchy(MIXED).unwrap();
        assert_eq!(folders(&boxed, "/box/a"), ["/sys/fs/cgroup/cpu set/a", "/sys/fs/cgroup/cpu set"]);
        assert!(folders(&boxed, "/other").is_empty());
    }

    #[test]
    fn the_nearest_file_wins() {
        let mount = folder(&[("a/cpuset.cpus.effective", "2-3\n"), ("cpuset.cpus.effective", "0-3\n"), ("a/b/x", "")]);
        let mount_point = mount.path().to_string_lossy().into_owned();
        let hierarchy = Some(Hierarchy { version: 2, root: "/".into(), mount_point });
        let mut cpusets = Cpusets { hierarchy, known: BTreeMap::new() };
        assert_eq!(cpusets.permitted("0::/a/b\n").unwrap().to_string(), "2-3");
        assert_eq!(cpusets.permitted("0::/\n").unwrap().to_string(), "0-3");
        assert_eq!(cpusets.permitted("1:cpuset:/\n"), None);
        assert!(cpusets.is_unlimited("0::/\n"), "the machine's root");
        write(mount.path(), &[("a/cpuset.cpus", "2-7\n")]);
        assert!(!cpusets.is_unlimited("0::/a/b\n"));
        write(mount.path(), &[("cpuset.cpus", "0-7\n")]);
        assert!(!cpusets.is_unlimited("0::/\n"), "the root of a container");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(mounts in "[0-9a-z /\\\\,:\n-]{0,120}", cgroup in "[0-9a-z/.:,\n]{0,80}") {
            if let Some(hierarchy) = hierarchy(&mounts).or_else(|| hierarchy(MIXED)) {
                let path = path_in(&hierarchy, &cgroup).unwrap_or("/box/../x");
                prop_assert!(hierarchy.folders(path).count() <= path.len() + 1);
            }
        }
    }
}
