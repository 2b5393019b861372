//! Runs a target in a process of its own, and says on which input it failed.
//!
//! The process writes down each input before it runs it. Whatever ends it then (a panic, a signal
//! after the stack or the memory was used up, the watch on its time), the input is known. What it
//! said on its way is shown only if it failed.
//!
//! | variable | what it sets |
//! |---|---|
//! | `ISOBAR_FUZZED_RUNS` | runs this many times as many inputs |
//! | `ISOBAR_FUZZED_SEED` | makes other inputs: a number (1 unless said otherwise) |
//! | `ISOBAR_FUZZED_INPUT` | runs this one input instead, in hex |
//! | `ISOBAR_FUZZED_KEEP` | writes every input to a file in `FOLDER/TARGET` |

use crate::heard::{Heard, listen};
use crate::mutate::Mutator;
use crate::table::{Body, Target};
use crate::text;
use anyhow::{Context, Result, anyhow};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The first argument of a process that runs a target.
const CHILD: &str = "--run-target";

/// Most memory that a target may use, and bytes of its stack.
const MOST_MEMORY: u64 = 1 << 30;
const STACK: usize = 8 << 20;

/// By how much time may pass on a busy machine until a target has had its CPU time.
const PATIENCE: u32 = 12;

/// Most that is shown of what a target wrote.
const MOST_SHOWN: usize = 6000;

/// Runs a target from the seeds in a folder, in a child of the running program, which must call
/// [`as_child`] first of all. An error says on which input it failed.
pub fn judge(target: &Target, seeds: &Path) -> Result<(), String> {
    let run = || -> Result<_> {
        let record = tempfile::NamedTempFile::new()?;
        let mut child = Command::new(std::env::current_exe()?);
        child.args([CHILD, target.name]).arg(seeds).arg(record.path()).env("RUST_BACKTRACE", "1");
        Ok((child.output()?, std::fs::read(record.path())?))
    };
    let (output, record) = run().map_err(|error| format!("{}: {error:#}", target.name))?;
    if output.status.success() { Ok(()) } else { Err(report(target, &output, &record)) }
}

/// What a person needs to know of a failure.
fn report(target: &Target, output: &Output, record: &[u8]) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let mut report = format!("{}: {}\n{}\n", target.name, output.status, text::first(said.trim(), MOST_SHOWN));
    let Some((number, input)) = record.split_first_chunk() else { return report };
    let _ = write!(
        report,
        "input {} of seed {}, of {} bytes, which begins: {}\nonce more: ISOBAR_FUZZED_INPUT={} \
         cargo test -p isobar-fuzzed --test targets -- --exact {}",
        u64::from_le_bytes(*number),
        setting("ISOBAR_FUZZED_SEED"),
        input.len(),
        input[..input.len().min(400)].escape_ascii(),
        hex::encode(input),
        target.name,
    );
    report
}

/// A number from the environment; 1 if it is not there.
fn setting(name: &str) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(1)
}

/// In a process that [`judge`] started, runs what it was started for, and says that it did.
pub fn as_child<'a>(targets: impl IntoIterator<Item = &'a Target>) -> Result<bool> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let [_, flag, name, seeds, record] = arguments.as_slice() else { return Ok(false) };
    if flag != CHILD {
        return Ok(false);
    }
    let target = targets.into_iter().find(|target| *target.name == **name).context("no such target")?;
    let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Data, limit(MOST_MEMORY))?;
    setrlimit(Resource::Core, limit(0))?;
    let record = File::options().write(true).open(record)?;
    let child = Child { target, record, number: watch(target.limit), keep: keep(target)? };
    let seeds = read(Path::new(seeds))?;
    std::thread::scope(|scope| {
        // On a stack of its own, because that of the process may have no limit.
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || run(&child, &seeds))?;
        thread.join().map_err(|_| anyhow!("it panicked"))?
    })?;
    Ok(true)
}

/// The inputs in a folder, in the order of their names.
pub fn read(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let files = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    files.iter().map(|file| Ok(std::fs::read(file)?)).collect()
}

/// The folder to which inputs are written, if they are to be.
fn keep(target: &Target) -> Result<Option<std::path::PathBuf>> {
    let Some(folder) = std::env::var_os("ISOBAR_FUZZED_KEEP") else { return Ok(None) };
    let folder = Path::new(&folder).join(target.name);
    std::fs::create_dir_all(&folder)?;
    Ok(Some(folder))
}

/// A process that runs a target.
struct Child<'a> {
    target: &'a Target,
    /// The number of the input that runs, and the input.
    record: File,
    number: Arc<AtomicU64>,
    keep: Option<std::path::PathBuf>,
}

fn run(child: &Child<'_>, seeds: &[Vec<u8>]) -> Result<()> {
    if let Ok(input) = std::env::var("ISOBAR_FUZZED_INPUT") {
        return child.try_one(&hex::decode(input)?).map(drop);
    }
    let text = matches!(child.target.body, Body::Text(_));
    let mut mutator = Mutator::new(setting("ISOBAR_FUZZED_SEED"), child.target.name, text, seeds);
    for seed in seeds {
        mutator.learn(seed, &child.try_one(seed)?);
    }
    for _ in 0..u64::from(child.target.runs) * setting("ISOBAR_FUZZED_RUNS") {
        let input = mutator.next_input();
        mutator.learn(&input, &child.try_one(&input)?);
    }
    Ok(())
}

impl Child<'_> {
    /// Runs one input, and returns what the target said about it.
    fn try_one(&self, input: &[u8]) -> Result<Heard> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.record.write_all_at(&[&number.to_le_bytes(), input].concat(), 0)?;
        self.record.set_len(8 + u64::try_from(input.len())?)?;
        if let Some(folder) = &self.keep {
            std::fs::write(folder.join(number.to_string()), input)?;
        }
        Ok(listen(|| self.target.run(input)))
    }
}

/// Ends the process when one input takes longer than this. Returns the counter of inputs that the
/// watch follows.
fn watch(limit: Duration) -> Arc<AtomicU64> {
    let number = Arc::new(AtomicU64::new(0));
    let watched = Arc::clone(&number);
    std::thread::spawn(move || {
        let (mut seen, mut begun) = (0, (used(), Instant::now()));
        loop {
            std::thread::sleep(limit / 20);
            let now = watched.load(Ordering::Relaxed);
            if now != seen {
                (seen, begun) = (now, (used(), Instant::now()));
            } else if used().saturating_sub(begun.0) > limit || begun.1.elapsed() > limit * PATIENCE {
                eprintln!("took more than {limit:?}");
                std::process::exit(1);
            }
        }
    });
    number
}

/// CPU time of this process.
fn used() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}
