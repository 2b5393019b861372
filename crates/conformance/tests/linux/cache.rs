//! Where cache ways are set: the resctrl file system that `ISOBAR_RESCTRL_ROOT` names, else the
//! kernel's own where it is mounted, else a double of it that is mounted for the time of the test,
//! on the LLC that the kernel reports. Where there is none of them it prints so.

use isobar_linux::resctrl::DEFAULT_ROOT;
use isobar_linux::{topology, tree::Tree};
use isobar_model::CpuSet;
use isobar_resctrl_double::{Machine, Mounted, ProcThreads, Resctrl as Double};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Few, so that few threads use them up.
const CLASSES: u32 = 5;

/// A resctrl file system; a double ends with this. Fields are dropped in their order: the mount
/// before its folder.
pub struct Resctrl {
    _double: Option<Mounted>,
    _folder: Option<TempDir>,
    root: PathBuf,
}

impl Resctrl {
    /// The first of the three that exists.
    pub fn find() -> Self {
        let elsewhere = std::env::var_os("ISOBAR_RESCTRL_ROOT").map(PathBuf::from);
        let root = elsewhere.unwrap_or_else(|| DEFAULT_ROOT.into());
        if root.join("schemata").exists() || root != Path::new(DEFAULT_ROOT) {
            return Self { _double: None, _folder: None, root };
        }
        let folder = tempfile::tempdir().unwrap();
        match double(folder.path()) {
            Ok(double) => Self { root: double.folder().to_owned(), _double: Some(double), _folder: Some(folder) },
            Err(why) => {
                eprintln!("SKIPPED: no cache ways are tried: resctrl is not mounted, and {why}");
                Self { _double: None, _folder: None, root }
            }
        }
    }

    /// Where it is mounted, or would be.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn double(folder: &Path) -> Result<Mounted, String> {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        return Err("a double of it needs root and /dev/fuse".to_owned());
    }
    let topology = topology::read(&Tree::live()).map_err(|error| error.to_string())?;
    let cpus =
        |llc| -> Vec<u32> { topology.cpus_of_llc(llc).into_iter().flat_map(CpuSet::iter).map(|cpu| cpu.0).collect() };
    let domains: Vec<(u32, Vec<u32>)> = topology.llcs().iter().map(|llc| (llc.id.0, cpus(llc.id))).collect();
    if topology.llcs().iter().any(|llc| llc.level != 3) || domains.is_empty() {
        return Err("the kernel tells of no L3 that a double could have".to_owned());
    }
    let domains: Vec<(u32, &[u32])> = domains.iter().map(|(id, cpus)| (*id, &cpus[..])).collect();
    let mut machine = Machine::with_domains(&domains);
    machine.caches.iter_mut().for_each(|cache| cache.closids = CLASSES);
    Mounted::on(folder, Double::new(machine, Box::new(ProcThreads))).map_err(|error| error.to_string())
}
