//! A disk of a few pages that can be filled up: a tmpfs of its own.

use anyhow::{Context, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file that fills it.
pub const FILL: &str = "fill";

/// A mounted disk, which is unmounted when dropped.
pub struct Disk {
    at: PathBuf,
}

impl Disk {
    /// Mounts a disk, which needs root.
    pub fn mount(at: &Path) -> Result<Self> {
        mount("soak", at, "tmpfs", MountFlags::empty(), Some(c"size=128k,mode=0700")).context("mounting a tmpfs")?;
        Ok(Self { at: at.to_owned() })
    }

    /// Writes until nothing more fits.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(self.at.join(FILL))?;
        while file.write_all(&[0; 1024]).is_ok() {}
        while file.write_all(&[0]).is_ok() {}
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.at.join(FILL));
        let _ = unmount(&self.at, UnmountFlags::DETACH);
    }
}
