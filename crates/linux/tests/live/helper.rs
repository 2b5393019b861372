//! Runs the test program again as a helper process: an ignored test, which gets its orders in an
//! environment variable and speaks through pipes. It can also run as another user.

use super::Kept;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

/// The orders of a helper, one per line.
const ORDERS: &str = "ISOBAR_TEST_HELPER";

/// A helper: this test program again, running one ignored test, with a pipe to it and from it.
pub struct Helper {
    pub process: Kept,
    lines: BufReader<ChildStdout>,
}

impl Helper {
    pub fn start(test: &str, orders: &[&dyn Display]) -> Self {
        Self::start_as(&mut Command::new(std::env::current_exe().unwrap()), test, orders)
    }

    /// Starts it with a command that runs the test program, given its arguments.
    pub fn start_as(command: &mut Command, test: &str, orders: &[&dyn Display]) -> Self {
        let orders: String = orders.iter().map(|order| format!("{order}\n")).collect();
        command.args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"]).env(ORDERS, orders);
        let mut process = Kept(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(process.0.stdout.take().unwrap());
        Self { process, lines }
    }

    /// Returns the rest of the helper's next line that contains this word, from after the word.
    pub fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the helper ended before it said `{word}`");
            // libtest writes its own text before the helper's on the same line.
            if let Some(at) = line.find(word) {
                return line[at + word.len()..].trim().to_owned();
            }
        }
    }

    pub fn send(&mut self, line: &str) {
        writeln!(self.process.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

/// The orders of this helper; `None` in a run of all ignored tests.
pub fn orders<const N: usize>() -> Option<[String; N]> {
    let orders = std::env::var(ORDERS).ok()?;
    let orders: Vec<String> = orders.lines().map(str::to_owned).collect();
    Some(orders.try_into().unwrap())
}

/// Copies this test program to a place where any user may run it. Another process makes the copy:
/// if this process had the file open for writing, a process that another test forks at that moment
/// would hold it open too, and the copy could not be executed (ETXTBSY).
pub fn public_copy(folder: &Path, name: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = folder.join(name);
    let copied = Command::new("cp").arg("--").arg(std::env::current_exe().unwrap()).arg(&copy).status().unwrap();
    assert!(copied.success(), "cp failed");
    for path in [folder, &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    copy
}

/// `setpriv` as nobody, in front of a program; `None`, with the reason on stderr, if the test does
/// not run as root or there is no `setpriv`.
pub fn as_nobody(program: &Path) -> Option<Command> {
    let there = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !rustix::process::getuid().is_root() || !there {
        eprintln!("SKIPPED: needs root and setpriv to become another user");
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]);
    command.arg(program);
    Some(command)
}
