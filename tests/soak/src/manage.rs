//! Runs isobar: `manage` as a user would start it for a kind of end, and `restore`.

use crate::evidence::Cpus;
use crate::family::{Family, in_words, pid, until};
use crate::kinds::Kind;
use crate::outlet::Outlet;
use crate::random::{Random, below, millis, one_in};
use crate::setup::Setup;
use anyhow::Result;
use rustix::process::{Signal, WaitStatus};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A running `isobar manage`.
pub struct Manage {
    /// The process that was started: isobar, or the command that runs it.
    pub child: i32,
    /// The process of isobar itself.
    pub isobar: i32,
    /// Where its output goes.
    pub outlet: Outlet,
    /// The command line.
    pub typed: String,
}

impl Manage {
    /// Starts isobar; returns once it runs or has already ended.
    pub fn start(
        setup: &Setup,
        family: &mut Family,
        kind: Kind,
        words: &[String],
        random: &mut Random,
    ) -> Result<Self> {
        let mut command = command(setup, kind, random);
        let mut outlet = if kind.on_terminal() {
            let outlet = Outlet::terminal()?;
            Outlet::drained(&mut command);
            command.args(["terminal", outlet.path()]).arg(&setup.isobar);
            outlet
        } else {
            Outlet::of(kind, &mut command, family, random)?
        };
        command.args(words);
        let typed = typed(&command);
        let mut child = family.start(&mut command)?;
        outlet.attach(&mut child);
        let child = pid(&child);
        let isobar = found(setup, family, child).unwrap_or(child);
        Ok(Self { child, isobar, outlet, typed })
    }

    /// Whether isobar, and the command that runs it, have ended.
    pub fn is_over(&self, setup: &Setup, family: &mut Family) -> bool {
        family.end_of(self.child).is_some() && !family.living().values().any(|stat| setup.is_isobar(stat))
    }
}

/// The command to start, up to isobar's own arguments.
fn command(setup: &Setup, kind: Kind, random: &mut Random) -> Command {
    if kind.on_terminal() {
        return Command::new(&setup.churn);
    }
    if kind != Kind::Timeout {
        let mut command = Command::new(&setup.isobar);
        if kind == Kind::Group {
            command.process_group(0);
        }
        return command;
    }
    let mut command = Command::new("timeout");
    let seconds = millis(random, 400, 2500).as_secs_f64();
    command.args(["-s", ["TERM", "INT", "HUP"][below(random, 3)], &format!("{seconds:.2}")]).arg(&setup.isobar);
    command
}

/// The files that isobar writes.
pub struct Files {
    /// The state file: what isobar would have to put back.
    pub state: PathBuf,
    /// The recording of the run.
    pub recording: PathBuf,
}

/// Arguments that make isobar move threads at every decision: threads are counted by age, and they
/// come and go.
pub fn words(setup: &Setup, kind: Kind, name: &str, files: &Files, random: &mut Random) -> Vec<String> {
    let interval = ["0.05", "0.1", "0.25"][below(random, 3)];
    let duration = if kind == Kind::For { millis(random, 300, 2000) } else { Duration::from_secs(100) };
    let seconds = duration.as_secs_f64();
    let mut words: Vec<String> =
        ["manage", "--policy", "fixed", "--only", name, "--interval", interval].map(str::to_owned).into();
    words.extend(["--for".to_owned(), format!("{seconds:.2}")]);
    let settings = [
        places(&setup.cpus, name, random),
        "manage.min_cpu_percent=0".to_owned(),
        format!("manage.state_file={}", files.state.display()),
    ];
    words.extend(["--record".to_owned(), files.recording.display().to_string()]);
    words.extend(settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]));
    words.extend(one_in(random, 2).then(|| "--json".to_owned()));
    words
}

fn places(cpus: &Cpus, name: &str, random: &mut Random) -> String {
    let cpus: Vec<usize> = cpus.iter().copied().collect();
    let cpu = |random: &mut Random| cpus[below(random, cpus.len())];
    let count = 3 + below(random, 5);
    let mut places: Vec<String> = (0..count).map(|index| format!("{name}/{index}={}", cpu(random))).collect();
    places.extend((!one_in(random, 3)).then(|| format!("{name}={}", cpu(random))));
    format!("fixed.threads={}", places.join(" "))
}

/// Isobar's id among our descendants.
fn found(setup: &Setup, family: &mut Family, child: i32) -> Option<i32> {
    let mut isobar = None;
    until(Duration::from_secs(5), || {
        isobar = family.living().iter().find(|(_, stat)| setup.is_isobar(stat)).map(|(pid, _)| *pid);
        isobar.is_some() || family.end_of(child).is_some()
    });
    isobar
}

/// The output of a finished isobar, and how it ended.
pub struct Said {
    pub words: String,
    pub end: String,
    pub code: Option<i32>,
}

/// Runs `isobar restore`.
pub fn restore(setup: &Setup, family: &mut Family, state: &Path) -> Result<Said> {
    run(setup, family, &["restore".as_ref(), "--state".as_ref(), state.as_os_str()])
}

/// Runs isobar to its end.
pub fn run(setup: &Setup, family: &mut Family, words: &[&OsStr]) -> Result<Said> {
    let mut command = Command::new(&setup.isobar);
    command.args(words);
    let mut outlet = Outlet::drained(&mut command);
    let mut child = family.start(&mut command)?;
    outlet.attach(&mut child);
    let pid = pid(&child);
    if !until(setup.limit, || family.end_of(pid).is_some()) {
        family.signal(pid, Signal::KILL);
        until(setup.limit, || family.end_of(pid).is_some());
    }
    let status = family.end_of(pid);
    let end = status.map_or_else(|| "did not end".to_owned(), in_words);
    let code = status.and_then(WaitStatus::exit_status);
    Ok(Said { words: outlet.since(&[]), end, code })
}

fn typed(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args()).map(|word| word.to_string_lossy());
    let quoted = words.map(|word| if word.contains(' ') { format!("'{word}'") } else { word.into_owned() });
    quoted.collect::<Vec<_>>().join(" ")
}
