//! The engine that sees every access of one program, through QEMU's emulation (`qemu-x86_64`) and
//! our plugin in it. Threads run in parallel, on all CPUs.

use crate::engine::{Engine, Job, Refusal, Traced, TracerError, Tracing};
use crate::{finish, program};
use isobar_pages::trace::{End, Header};
use isobar_tracer_plugin::orders::{Note, Orders, VARIABLE};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// The plugin: in the folder of isobar, or in ../lib/isobar.
const PLUGIN: &str = "libisobar_tracer_plugin.so";
/// The library that is preloaded into the program. Without it the trace is complete except for
/// names.
const NAMES: &str = "libisobar_tracer_names.so";
/// Name of the emulator. Distributions call the static one `qemu-x86_64-static`, which loads no
/// plugins.
const EMULATOR: &str = "qemu-x86_64";
const PAGE_BYTES: u64 = 4096;

/// The engine.
#[derive(Clone, Copy, Debug)]
pub struct QemuUser;

impl Engine for QemuUser {
    fn name(&self) -> &'static str {
        "qemu-user"
    }

    fn about(&self) -> &'static str {
        "every load and store of one process, 20 to 50 times slower than without"
    }

    fn samples(&self) -> bool {
        false
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Tracing>, TracerError> {
        let words = |why: &str, remedy: &str| Refusal { why: why.to_owned(), remedy: remedy.to_owned() };
        let version = version().ok_or_else(|| {
            words("qemu-x86_64 is not installed", "apt-get install qemu-user, or dnf install qemu-user")
        })?;
        let plugin = beside(PLUGIN).ok_or_else(|| {
            words(
                &format!("{PLUGIN} is neither beside isobar nor in ../lib/isobar"),
                "cargo build -p isobar-tracer-plugin, or reinstall isobar",
            )
        })?;
        let first = job.command.first().ok_or_else(|| TracerError::command(job, "no command"))?;
        let (path, words) = program::resolve(first).map_err(|why| TracerError::command(job, why))?;
        let notes = tempfile::NamedTempFile::new().map_err(|error| TracerError::io(job, &error))?.into_temp_path();
        let header = Header {
            engine: format!("qemu-user {version}"),
            sampled: None,
            page_bytes: PAGE_BYTES,
            slice_ns: u64::try_from(job.slice.as_nanos()).unwrap_or(u64::MAX),
            command: job.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        };
        let trace = std::path::absolute(&job.file).map_err(|error| TracerError::file(job, error))?;
        let orders = Orders { trace, notes: notes.to_path_buf(), header };
        let orders = serde_json::to_string(&orders).map_err(|error| TracerError::command(job, error.to_string()))?;
        let mut command = Command::new(EMULATOR);
        command.env(VARIABLE, orders).args(["-U", VARIABLE, "-plugin"]).arg(option(&plugin));
        if let Some(preload) = preload(&path).filter(|_| job.names) {
            command.arg("-E").arg(preload);
        }
        command.arg("-0").arg(if words.is_empty() { first.clone() } else { path.clone().into_os_string() });
        command.arg(path).args(words).args(&job.command[1..]);
        Ok(Box::new(Run { job: job.clone(), command, notes }))
    }
}

/// A path as an option of QEMU, in which each comma is doubled.
fn option(path: &Path) -> OsString {
    path.to_string_lossy().replace(',', ",,").into()
}

/// The version that QEMU prints.
fn version() -> Option<String> {
    let said = Command::new(EMULATOR).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = text.split_once("version ")?.1.split_whitespace().next()?;
    Some(version.to_owned())
}

/// The environment variable that makes a program's loader load the library of names before all
/// others.
fn preload(program: &Path) -> Option<OsString> {
    let library = beside(NAMES).filter(|_| program::has_gnu_loader(program))?;
    let all = match std::env::var("LD_PRELOAD") {
        Ok(others) if !others.is_empty() => format!("{}:{others}", library.to_str()?),
        _ => library.to_str()?.to_owned(),
    };
    // QEMU splits the value at commas, and the loader splits it at blanks and colons.
    let whole = !all.contains(',') && !library.to_str()?.contains([' ', ':']);
    whole.then(|| format!("LD_PRELOAD={all}").into())
}

/// The path of one of our libraries.
fn beside(library: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?;
    // Cargo leaves the libraries that it was asked to build in `deps`, for the tests there.
    let places = ["deps", ".", "../lib/isobar", ".."].map(|place| folder.join(place).join(library));
    places.into_iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok())
}

/// A traced run.
struct Run {
    job: Job,
    command: Command,
    notes: tempfile::TempPath,
}

impl Tracing for Run {
    fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    fn finish(self: Box<Self>, status: ExitStatus, ran: Duration) -> Result<Traced, TracerError> {
        let notes: Vec<Note> =
            fs::read_to_string(&self.notes).unwrap_or_default().lines().filter_map(Note::parse).collect();
        let missing = notes.iter().filter_map(|note| match note {
            Note::Missing(text) => Some(text.clone()),
            Note::Failed(_) => None,
        });
        let ran_ns = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        let end = End { ran_ns, status: status.code(), missing: missing.collect() };
        if let Some(Note::Failed(why)) = notes.iter().find(|note| matches!(note, Note::Failed(_))) {
            return Err(TracerError::Failed(format!("{why}; the trace can be read up to there")));
        }
        // The plugin writes the beginning of the file before the program runs.
        if fs::metadata(&self.job.file).is_ok_and(|file| file.len() == 0) {
            let why = "QEMU did not load isobar's plugin, for the reason that it gave above (tried with QEMU 7.2)";
            return Err(TracerError::command(&self.job, why));
        }
        finish::complete(&self.job, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_of_a_path_stand_twice() {
        assert_eq!(option(Path::new("/a,b/c.so")), "/a,,b/c.so");
    }
}
