//! The command under test, run as a user would: to its end, or in the background while the suite
//! checks.

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// The output of a run of the command, and how it ended.
pub struct Said {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Fails unless the run ended with exit code 0.
    pub fn fine(&self) -> Result<&Self> {
        ensure!(self.status.success(), "isobar ended with {}: {}", self.status, self.err.trim());
        Ok(self)
    }

    /// The total number of pages that it reports as moved.
    pub fn pages_moved(&self) -> Result<u64> {
        self.summary()?["pages_moved"].as_u64().context("no number of pages")
    }

    /// The summary of a run that ended well.
    pub fn summary(&self) -> Result<Value> {
        self.fine()?.lines()?.pop().and_then(|mut last| last.get_mut("summary").map(Value::take)).context("no summary")
    }

    /// The JSON documents that it printed, one per line.
    pub fn lines(&self) -> Result<Vec<Value>> {
        let read = |line: &str| serde_json::from_str(line).with_context(|| format!("no JSON: {line}"));
        self.out.lines().map(read).collect()
    }
}

/// The arguments of `manage --json` with these options and settings, on the programs with these
/// names (if there are none, on all programs).
pub fn manage(options: &str, names: &[&str], settings: &[&str]) -> Vec<String> {
    let mut words: Vec<String> =
        ["manage", "--json"].into_iter().chain(options.split(' ')).map(str::to_owned).collect();
    for (option, values) in [("--only", names), ("--set", settings)] {
        words.extend(values.iter().flat_map(|value| [option.to_owned(), (*value).to_owned()]));
    }
    words
}

/// Runs isobar to its end.
pub fn run(words: &[impl AsRef<OsStr>]) -> Result<Said> {
    let output = Command::new("isobar").args(words).output().context("isobar")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Said { status: output.status, out: text(&output.stdout), err: text(&output.stderr) })
}

/// The one JSON document that a run prints.
pub fn json(words: &[&str]) -> Result<Value> {
    let said = run(words)?;
    Ok(serde_json::from_str(&said.fine()?.out)?)
}

/// Number of runs of `manage` so far.
static RUNS: AtomicU32 = AtomicU32::new(1);

/// `isobar manage`, running in the background.
pub struct Manage {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Manage {
    /// Starts it on the programs with these names and with these settings, under the placement
    /// policy whose decision is known: four decisions a second, including idle threads. It ends by
    /// itself after two minutes.
    pub fn fixed(names: &[&str], settings: &[&str]) -> Result<Self> {
        let settings = [settings, &["manage.min_cpu_percent=0"]].concat();
        Self::start(&manage("--policy fixed --interval 0.25 --for 120", names, &settings))
    }

    /// Starts isobar with these arguments.
    pub fn start(words: &[String]) -> Result<Self> {
        Self::start_by(Command::new("isobar").args(words))
    }

    /// Starts a command that becomes isobar.
    pub fn start_by(command: &mut Command) -> Result<Self> {
        // The output of each run is copied out of the guest, for the analysis of failures.
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let file = |kind: &str| PathBuf::from(format!("/results/manage-{number}.{kind}"));
        let (out, err) = (file("out"), file("err"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .spawn()
            .context("isobar manage")?;
        Ok(Self { child, out, err })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `reached` is true. Fails if isobar ends before that or, so that nothing hangs,
    /// after two minutes.
    pub fn until(&mut self, what: &str, mut reached: impl FnMut() -> Result<bool>) -> Result<()> {
        for _ in 0..600 {
            if reached()? {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                let said = fs::read_to_string(&self.err)?;
                anyhow::bail!("isobar ended ({status}) before {what}: {}", said.trim());
            }
            sleep(Duration::from_millis(200));
        }
        anyhow::bail!("isobar never came to: {what}; its last epoch: {}", self.last_line())
    }

    /// Waits until it has printed these words.
    pub fn until_told(&mut self, words: &str) -> Result<()> {
        let out = self.out.clone();
        self.until(words, || Ok(fs::read_to_string(&out)?.contains(words)))
    }

    /// The epochs that it has reported so far.
    pub fn reported(&self) -> Result<Vec<Value>> {
        let out = fs::read_to_string(&self.out)?;
        // The last line may be incomplete.
        let whole = out.rfind('\n').map_or("", |end| &out[..end]);
        whole.lines().map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))).collect()
    }

    /// Waits for this number of further decisions.
    pub fn epochs(&mut self, count: usize) -> Result<()> {
        let out = self.out.clone();
        let printed = move || -> Result<usize> { Ok(fs::read_to_string(&out)?.lines().count()) };
        let aim = printed()? + count;
        self.until("further epochs", || Ok(printed()? >= aim))
    }

    /// Sends a signal and waits for the end.
    pub fn end_by(mut self, signal: Signal) -> Result<Said> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("no process id")?;
        kill_process(pid, signal)?;
        self.finish()
    }

    /// Waits for its end.
    pub fn end(mut self) -> Result<Said> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Said> {
        let status = self.child.wait()?;
        Ok(Said { status, out: fs::read_to_string(&self.out)?, err: fs::read_to_string(&self.err)? })
    }

    fn last_line(&self) -> String {
        let out = fs::read_to_string(&self.out).unwrap_or_default();
        out.lines().last().unwrap_or("none").chars().take(600).collect()
    }
}

impl Drop for Manage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
