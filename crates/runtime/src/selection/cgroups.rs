//! The cgroups of a process, one in each hierarchy: `/proc/PID/cgroup` as text (cgroups(7)).
//! Version 2 has one hierarchy, version 1 has one for each controller or group of controllers, and
//! many machines have both.

/// The cgroups of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroups(Vec<Cgroup>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cgroup {
    /// Controllers as the kernel lists them (`cpu,cpuacct`, `name=systemd`); empty on version 2.
    controllers: String,
    /// Below the root of the hierarchy, without slashes around it.
    path: String,
}

impl Cgroups {
    /// Reads `/proc/PID/cgroup`, with lines such as `4:memory:/a` or `0::/a`. Lines of another form
    /// are skipped.
    pub fn parse(text: &str) -> Self {
        let cgroup = |line: &str| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            Some(Cgroup { controllers: controllers.to_owned(), path: path.trim_matches('/').to_owned() })
        };
        Self(text.lines().filter_map(cgroup).collect())
    }

    /// The cgroups of a process of which one path is known.
    pub fn unified(path: &str) -> Self {
        Self(vec![Cgroup { controllers: String::new(), path: path.trim_matches('/').to_owned() }])
    }

    /// The paths below the roots of all hierarchies, without slashes around them.
    pub fn paths(&self) -> Vec<String> {
        self.0.iter().map(|cgroup| cgroup.path.clone()).collect()
    }

    /// The paths below `/sys/fs/cgroup`. A hierarchy of version 1 is mounted under the names of its
    /// controllers, with a link for each of them. A hierarchy of version 2 is mounted on the folder
    /// itself, or on `unified` if there are others.
    pub fn mounted(&self) -> Vec<String> {
        self.0.iter().flat_map(Cgroup::mounted).collect()
    }
}

impl Cgroup {
    fn mounted(&self) -> Vec<String> {
        let below = |folder: &str| format!("{folder}/{}", self.path).trim_matches('/').to_owned();
        if self.controllers.is_empty() {
            return vec![self.path.clone(), below("unified")];
        }
        let names = self.controllers.split(',').chain([self.controllers.as_str()]);
        names.map(|name| below(name.strip_prefix("name=").unwrap_or(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str =
        "9:name=systemd:/init.scope\n4:cpu,cpuacct:/batch/a:b\n3:memory:/\n0::/user.slice\nnonsense\n5:x\n";

    #[test]
    fn every_hierarchy_counts() {
        assert_eq!(Cgroups::parse(HYBRID).paths(), ["init.scope", "batch/a:b", "", "user.slice"]);
        assert_eq!(Cgroups::parse(""), Cgroups::default());
    }

    #[test]
    fn version_1_is_mounted_by_controller() {
        let mounted = Cgroups::parse(HYBRID).mounted();
        for path in ["systemd/init.scope", "cpu/batch/a:b", "cpuacct/batch/a:b", "cpu,cpuacct/batch/a:b", "memory"] {
            assert!(mounted.contains(&path.to_owned()), "{path}: {mounted:?}");
        }
        assert!(mounted.contains(&"user.slice".to_owned()) && mounted.contains(&"unified/user.slice".to_owned()));
    }
}
