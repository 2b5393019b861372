//! Runs the `isobar` binary and checks the rules for its output: one line on stderr, and exit codes
//! 0, 1 and 2.

pub mod daemon;
pub mod processes;
pub mod small_disk;

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Every policy, in the order of the registry.
pub fn policies() -> Vec<&'static str> {
    isobar_runtime::policies::names()
}

/// The output and exit code of a run.
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs the binary with nothing on standard input.
pub fn isobar(args: &[&str]) -> CommandOutput {
    isobar_with(args, "")
}

/// Runs the binary with words that contain no spaces.
pub fn run(words: &str) -> CommandOutput {
    isobar(&words.split_whitespace().collect::<Vec<_>>())
}

/// Runs the binary with a text on standard input.
pub fn isobar_with(args: &[&str], input: &str) -> CommandOutput {
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    // A program that refuses its arguments does not read its input, so a closed pipe is no failure
    // here.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    said(&child.wait_with_output().unwrap())
}

/// The binary, with its output piped.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
    // Tests run side by side, and perhaps beside a real isobar.
    command.env("ISOBAR_TEST_MANAGER_LOCK", "none");
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The result of a finished run as text.
pub fn said(output: &Output) -> CommandOutput {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    CommandOutput { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

impl CommandOutput {
    /// Checks for bad input: exit code 2, one line on stderr that contains every given piece, and
    /// nothing on stdout.
    #[track_caller]
    pub fn refused(&self, pieces: &[&str]) {
        self.failed(2, pieces);
        assert_eq!(self.out, "", "nothing is printed for bad input; stderr: {}", self.err);
    }

    /// Checks for a failure with this exit code, explained in one line that contains every given
    /// piece.
    #[track_caller]
    pub fn failed(&self, code: i32, pieces: &[&str]) {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        assert_eq!(self.err.lines().count(), 1, "one line expected: {}", self.err);
        assert!(self.err.starts_with("isobar: ") && self.err.ends_with('\n'), "{}", self.err);
        assert!(!self.err.trim_end().contains(char::is_control), "{:?}", self.err);
        for piece in pieces {
            assert!(self.err.contains(piece), "`{piece}` expected in: {}", self.err);
        }
    }

    /// Checks for success without output on stderr. Returns the output.
    #[track_caller]
    pub fn done(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "stdout: {}", self.out);
        &self.out
    }

    /// Checks for success. Returns the JSON documents, one on each line.
    #[track_caller]
    pub fn documents(&self) -> Vec<Value> {
        documents(self.done())
    }

    /// Checks for success. Returns the only JSON document.
    #[track_caller]
    pub fn document(&self) -> Value {
        serde_json::from_str(self.done()).unwrap()
    }

    /// Checks for success of a run that logs JSON. Returns its epochs and its summary, after
    /// `decide` has made the same plans from the observations.
    #[track_caller]
    pub fn decided_again(&self, policy: &str) -> (Vec<Value>, Value) {
        let mut epochs = self.documents();
        let summary = epochs.pop().unwrap()["summary"].take();
        let input: String = epochs.iter().map(|epoch| format!("{}\n", epoch["observation"])).collect();
        let plans: Vec<Value> = epochs.iter().map(|epoch| epoch["plan"].clone()).collect();
        assert_eq!(isobar_with(&["decide", "--policy", policy, "-"], &input).documents(), plans);
        (epochs, summary)
    }
}

/// JSON documents, one on each line.
pub fn documents(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A file in a folder of its own, which is deleted with the returned guard.
pub fn file(name: &str, text: impl AsRef<[u8]>) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// One observation of four domains of two cores. Each process has one thread with the given MPKI,
/// in CPU order.
pub fn observation(mpki: &[u64]) -> Value {
    let cpus: Vec<_> =
        (0..8).map(|id| serde_json::json!({"id": id, "core": id, "llc": id / 2, "node": id / 2})).collect();
    let nodes: Vec<_> = (0..4).map(|id| serde_json::json!({"id": id, "memory_bytes": 1u64 << 32})).collect();
    let llcs: Vec<_> = (0..4)
        .map(|id| serde_json::json!({"id": id, "ways": 16, "cpus": [2 * id, 2 * id + 1], "nodes": [id]}))
        .collect();
    let processes: Vec<_> = mpki.iter().zip(0usize..).map(|(mpki, index)| process(*mpki, index)).collect();
    serde_json::json!({
        "time": 1, "interval": 1, "latency_ns": null, "latency_cycles": null, "processes": processes,
        "machine": {"nodes": nodes, "llcs": llcs, "cpus": cpus, "distances": null},
    })
}

fn process(mpki: u64, index: usize) -> Value {
    let mut pages = [0; 4];
    pages[index / 2 % 4] = 1000;
    let thread = serde_json::json!({"tid": 100 + index, "cpu": index % 8, "instructions": 1_000_000, "cycles": 2_000_000,
        "llc_misses": mpki * 1000});
    serde_json::json!({"pid": 100 + index, "name": format!("p{index}"), "pages": pages, "threads": [thread]})
}

/// Copies a program in order to execute it. Another process does the copying: if this process had
/// the copy open for writing, a child that another test forks at that moment would keep it open,
/// and the copy could not be executed (ETXTBSY).
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg("--").arg(from.as_ref()).arg(to.as_ref()).status().unwrap();
    assert!(copied.success(), "cp failed");
}
