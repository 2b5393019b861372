//! A small file system that a test may fill, and mount read-only.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A tmpfs; dropping this unmounts it.
pub struct Small(tempfile::TempDir);

impl Small {
    /// Mounts one of 64 KiB; `None`, with the reason on stderr, if it cannot be mounted.
    pub fn mount() -> Option<Self> {
        Self::of("64k")
    }

    /// Mounts one of this size.
    pub fn of(size: &str) -> Option<Self> {
        let small = Self(tempfile::tempdir().unwrap());
        if small.run("mount", &["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "tmpfs"]) {
            return Some(small);
        }
        eprintln!("SKIPPED: needs root to mount a tmpfs; a full file system was not tested");
        None
    }

    /// The folder where it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills it to the last byte.
    pub fn fill(&self) {
        let mut file = fs::File::create(self.path().join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Frees what [`Small::fill`] took.
    pub fn free(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }

    /// Remounts it with an option: `ro`, `rw`.
    pub fn remount(&self, option: &str) {
        assert!(self.run("mount", &["-o", &format!("remount,{option}")]), "remount,{option}");
    }

    fn run(&self, program: &str, args: &[&str]) -> bool {
        let mut command = Command::new(program);
        command.args(args).arg(self.path()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.run("umount", &["-l"]);
    }
}
