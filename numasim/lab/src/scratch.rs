//! A folder that exists as long as this process lives, however the process ends. A small shell
//! waits on a pipe whose other end this process holds. When the pipe closes, because the folder is
//! dropped or the process was killed, the shell removes the folder. The shell has a process group
//! of its own, so that Ctrl-C does not end it first.

use crate::error::LabError;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Removes its folder when its input ends. Programs that were killed a moment ago may still write
/// there, so it tries for some seconds.
const REMOVE: &str = r#"cat > /dev/null; for _ in 1 2 3 4 5; do rm -rf "$1" && exit; sleep 1; done"#;

/// A folder that exists as long as this process lives; see the head of the file.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    remover: Child,
}

impl Scratch {
    /// A new folder, which no other user may enter, in the folder for temporary files (`$TMPDIR`).
    ///
    /// # Errors
    /// The folder for temporary files cannot be written, or there is no `sh`.
    pub fn new() -> Result<Self, LabError> {
        let within = std::env::temp_dir();
        let made = tempfile::Builder::new().prefix("numasim-").tempdir_in(&within);
        let path = made.map_err(|error| LabError::io(&within, error))?.keep();
        let mut command = Command::new("sh");
        command.args(["-c", REMOVE, "sh"]).arg(&path).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let remover = command.spawn().map_err(|error| {
            let _ = std::fs::remove_dir_all(&path);
            LabError::missing("sh", error.to_string())
        })?;
        Ok(Self { path, remover })
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
        drop(self.remover.stdin.take());
        let _ = self.remover.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_goes_when_it_is_dropped_and_when_its_owner_is_killed() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        std::fs::write(path.join("file"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());

        // As if the owner were killed: only the closed pipe reaches the remover.
        let mut scratch = std::mem::ManuallyDrop::new(Scratch::new().unwrap());
        std::fs::write(scratch.path().join("file"), "x").unwrap();
        drop(scratch.remover.stdin.take());
        scratch.remover.wait().unwrap();
        assert!(!scratch.path().exists());
    }
}
