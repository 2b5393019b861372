//! Runs a daemon in a folder of its own, and talks to it.

use super::processes::eventually;
use super::{CommandOutput, command, said};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A daemon with its folder; dropping this kills it.
pub struct Daemon {
    pub child: Child,
    pub folder: tempfile::TempDir,
}

impl Daemon {
    /// Starts a daemon with a configuration, and waits until it answers.
    pub fn start(config: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("isobar.toml"), config).unwrap();
        Self::start_in(folder, more)
    }

    pub fn start_in(folder: tempfile::TempDir, more: &[&str]) -> Self {
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (config, log) = (path("isobar.toml"), fs::File::create(folder.path().join("log")).unwrap());
        let mut command = command(&["daemon", "--config", &config]);
        command.args(more).env("RUNTIME_DIRECTORY", path("run")).stdout(Stdio::null()).stderr(log);
        let daemon = Self { child: command.spawn().unwrap(), folder };
        eventually("the daemon answers", || daemon.ask(&["status"]).code == Some(0) || daemon.has_ended());
        daemon
    }

    /// Whether it is gone, or has ended and waits for its exit code to be read.
    pub fn has_ended(&self) -> bool {
        !PathBuf::from(format!("/proc/{}/cwd", self.child.id())).exists()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("run/control.sock")
    }

    pub fn ask(&self, words: &[&str]) -> CommandOutput {
        let socket = self.socket().display().to_string();
        said(&command(words).args(["--socket", &socket]).output().unwrap())
    }

    pub fn status(&self) -> serde_json::Value {
        self.ask(&["status", "--json"]).document()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    pub fn configure(&self, config: &str) {
        fs::write(self.folder.path().join("isobar.toml"), config).unwrap();
        self.signal("HUP");
    }

    pub fn signal(&self, name: &str) {
        Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
    }

    /// Ends it in order. Returns its exit code, its log and its folder.
    pub fn stop(mut self) -> (Option<i32>, String, tempfile::TempDir) {
        self.signal("TERM");
        let code = self.child.wait().unwrap().code();
        let log = self.log();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        (code, log, folder)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
