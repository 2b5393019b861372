//! A mount that lasts as long as a value. It uses the mount system call (root, and `/dev/fuse`), so
//! that neither libfuse nor fusermount is needed, and unmounts when dropped, lazily if files are
//! still open.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use fuser::{BackgroundSession, Config, MountOption, SessionACL};
use rustix::mount::{UnmountFlags, unmount};
use tempfile::TempDir;

use crate::faults::{Entry, Fault};
use crate::fuse::{ResctrlFileSystem, Shared, locked};
use crate::machine::Machine;
use crate::resctrl::Resctrl;
use crate::threads;

/// Whether this process can mount: it is root and has `/dev/fuse`.
#[must_use]
pub fn can_mount() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists()
}

/// Why the mount failed.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot mount: {error}; this needs an existing folder, root and /dev/fuse (modprobe fuse)", .folder.display())]
pub struct MountError {
    folder: PathBuf,
    error: std::io::Error,
}

/// A mounted double.
pub struct Mounted {
    place: Place,
    shared: Shared,
    session: Option<BackgroundSession>,
    /// The folder, if it is our own: removed after the unmount.
    own: Option<TempDir>,
}

impl Mounted {
    /// Mounts on this folder, for the tasks of this system. As with resctrl, every user may enter,
    /// and the kernel checks the permission bits.
    ///
    /// # Errors
    /// If the folder is missing, or the kernel refuses.
    pub fn on(folder: &Path, machine: Machine) -> Result<Self, MountError> {
        let refused = |error| MountError { folder: folder.to_owned(), error };
        let folder = folder.canonicalize().map_err(refused)?;
        let shared = Shared::new(Mutex::new(Resctrl::new(machine, Box::new(threads::of_this_system))));
        let place = Place { folder: folder.clone(), device: Arc::default() };
        let own = place.clone();
        let face = ResctrlFileSystem::new(shared.clone(), Box::new(move || own.detach()));
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("resctrl".to_owned()),
            MountOption::DefaultPermissions,
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoExec,
        ];
        config.acl = SessionACL::All;
        // One thread may look at all tasks while the other answers a request that a task waits for
        // (see `ResctrlFileSystem::flush`).
        config.n_threads = Some(2);
        let session = fuser::spawn_mount(face, &folder, &config).map_err(refused)?;
        place.remember();
        Ok(Self { place, shared, session: Some(session), own: None })
    }

    /// Mounts on a temporary folder of its own.
    ///
    /// # Errors
    /// If there is no such folder, or the kernel refuses.
    pub fn temporary(machine: Machine) -> Result<Self, MountError> {
        let own = tempfile::tempdir().map_err(|error| MountError { folder: std::env::temp_dir(), error })?;
        let mut mounted = Self::on(own.path(), machine)?;
        mounted.own = Some(own);
        Ok(mounted)
    }

    /// The folder on which it is mounted.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// Reads or changes the state between two operations on the files. Every other user of the
    /// mount waits meanwhile, so `look` must not use it.
    pub fn with<T>(&self, look: impl FnOnce(&mut Resctrl) -> T) -> T {
        look(&mut locked(&self.shared))
    }

    /// Plans a fault.
    pub fn plan(&self, fault: Fault) {
        self.with(|state| state.plan(fault));
    }

    /// The operations so far.
    #[must_use]
    pub fn journal(&self) -> Vec<Entry> {
        self.with(|state| state.journal().to_vec())
    }

    /// Whether the file system is still where it was mounted.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.place.is_ours()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.place.detach();
        let Some(session) = self.session.take() else { return };
        let start = std::time::Instant::now();
        while !session.guard.is_finished() && start.elapsed() < LONGEST_WAIT {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        // If files are still open, the session goes on serving them until they are closed. Dropping
        // it would unmount whatever is on the folder by then.
        if !session.guard.is_finished() {
            std::mem::forget(session);
        }
    }
}

/// How long an unmount may take before files are assumed to be still open.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_millis(500);

/// The mount point, and the device number that distinguishes this mount from another one on the
/// same folder.
#[derive(Debug, Clone)]
struct Place {
    folder: PathBuf,
    device: Arc<OnceLock<String>>,
}

impl Place {
    /// Remembers the present mount there as ours.
    fn remember(&self) {
        if let Some(device) = self.topmost() {
            // Set once, right after the mount.
            let _ = self.device.set(device);
        }
    }

    fn is_ours(&self) -> bool {
        self.topmost().is_some_and(|device| self.device.get() == Some(&device))
    }

    /// Unmounts lazily, and only our own mount.
    fn detach(&self) {
        if self.is_ours() {
            // It does not matter if the mount is gone already.
            let _ = unmount(&self.folder, UnmountFlags::DETACH);
        }
    }

    /// The device of the uppermost mount there, as `0:39`; read without using the file system
    /// itself (proc_pid_mountinfo(5): the third field is the device, the fifth the mount point,
    /// with blanks escaped; later mounts come later).
    fn topmost(&self) -> Option<String> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let here = |line: &str| {
            let mut fields = line.split(' ').skip(2);
            let (device, point) = (fields.next()?.to_owned(), fields.nth(1)?.replace("\\040", " "));
            (Path::new(&point) == self.folder).then_some(device)
        };
        mounts.lines().filter_map(here).next_back()
    }
}
