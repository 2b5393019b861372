//! Where cache ways are set: the resctrl file system that `ISOBAR_RESCTRL_ROOT` names, otherwise
//! the kernel's own if it is mounted, otherwise a double of it that is mounted for the duration of
//! the test, on the LLC that the kernel reports. If there is none of these, a message says so.

use isobar_linux::resctrl::DEFAULT_ROOT;
use isobar_linux::{topology, tree::Tree};
use isobar_resctrl_double::{Machine, Mounted, can_mount};
use std::path::{Path, PathBuf};

/// Few classes, so that few threads use them up.
const CLASSES: u32 = 5;

/// A resctrl file system. A double is unmounted when this is dropped.
pub struct Resctrl {
    _double: Option<Mounted>,
    root: PathBuf,
}

impl Resctrl {
    /// The first of the three that is available.
    pub fn find() -> Self {
        let elsewhere = std::env::var_os("ISOBAR_RESCTRL_ROOT").map(PathBuf::from);
        let root = elsewhere.unwrap_or_else(|| DEFAULT_ROOT.into());
        if root.join("schemata").exists() || root != Path::new(DEFAULT_ROOT) {
            return Self { _double: None, root };
        }
        match double() {
            Ok(double) => Self { root: double.folder().to_owned(), _double: Some(double) },
            Err(why) => {
                eprintln!("SKIPPED: no cache ways are tried: resctrl is not mounted, and {why}");
                Self { _double: None, root }
            }
        }
    }

    /// Where the file system is mounted, or would be.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn double() -> Result<Mounted, String> {
    if !can_mount() {
        return Err("a double of it needs root and /dev/fuse".to_owned());
    }
    let topology = topology::read(&Tree::live()).map_err(|error| error.to_string())?;
    if topology.llcs().iter().any(|llc| llc.level != 3) || topology.llcs().is_empty() {
        return Err("the kernel lists no L3 that a double could have".to_owned());
    }
    let domains = topology.llcs().iter().map(|llc| llc.id.0);
    let machine = Machine { closids: CLASSES, ..Machine::with_domains(domains) };
    Mounted::temporary(machine).map_err(|error| error.to_string())
}
