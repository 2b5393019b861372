//! Builds a static study from what was typed, with the files that it uses.

use crate::failure::bad_input;
use crate::input;
use crate::progress::Progress;
use crate::signals::StopFlag;
use isobar_profiles::Profiles;
use isobar_study::{Ask, Counted, MACHINE, Row, SearchState, Source, Study, Watch, thousands};
use std::path::Path;
use std::time::{Duration, Instant};

/// The algorithms, one line each, for the help.
pub fn described() -> String {
    let algorithms = isobar_study::described();
    let width = algorithms.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    algorithms.iter().map(|(name, summary)| format!("  {name:width$}  {summary}\n")).collect()
}

/// The study that was asked for.
///
/// # Errors
/// Bad input: a file that cannot be read or is inconsistent, or a request that makes no sense.
pub fn prepare(args: &super::Study) -> anyhow::Result<Study> {
    let profiles = profiles(args.profiles.as_deref().unwrap_or_default())?;
    let workloads = args.workloads.as_deref().map(|file| read(file, input::LIST, "a list of workloads")).transpose()?;
    let solutions = args.solution.as_deref().map(|file| read(file, input::LIST, "solutions in JSON")).transpose()?;
    Study::new(&ask(args), profiles, workloads.as_ref().map(source), solutions.as_ref().map(source)).map_err(bad_input)
}

/// The sizes of the search spaces that were asked for.
///
/// # Errors
/// Bad input, as [`prepare`].
pub fn counts(args: &super::Study) -> anyhow::Result<Vec<Counted>> {
    let list = args.workloads.as_deref().map(|file| read(file, input::LIST, "a list of workloads")).transpose()?;
    let ways = match (args.ways, args.profiles.as_deref()) {
        (Some(ways), _) => ways,
        (None, Some(file)) => profiles(file)?.ways(),
        (None, None) => return Err(bad_input("--count needs the ways of a cache: add --ways W or --profiles FILE")),
    };
    isobar_study::counts(args.apps, list.as_ref().map(source), args.groups.unwrap_or(1), args.cores, ways)
        .map_err(bad_input)
}

/// Computes all answers. Each row is passed to `sink` in order.
///
/// # Errors
/// Errors of `sink`, and threads that cannot be started.
pub fn run(
    study: &Study,
    jobs: usize,
    progress: &Progress,
    stop: &StopFlag,
    sink: impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    study.run(jobs, &Watcher { progress, stop, begun: Instant::now() }, sink)
}

struct Watcher<'a> {
    progress: &'a Progress,
    stop: &'a StopFlag,
    begun: Instant,
}

impl Watch for Watcher<'_> {
    fn stopped(&self) -> bool {
        self.stop.is_raised()
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn done(&self, done: usize, all: usize) {
        self.progress.notify(done, all);
    }

    fn search(&self, now: &SearchState<'_>) {
        let best = now.best.map_or_else(String::new, |best| format!(", best {best:.5}"));
        let gap = now.gap_percent.map_or_else(String::new, |gap| format!(", gap {gap:.2} %"));
        let SearchState { algorithm, workload, nodes, .. } = now;
        self.progress.standing(&format!("workload {workload} {algorithm}{best}{gap}, {} nodes", thousands(nodes)));
    }
}

fn ask(args: &super::Study) -> Ask {
    Ask {
        algorithms: args.algorithm.clone(),
        model: args.model.clone(),
        max_bandwidth: args.max_bandwidth,
        groups: args.groups,
        uma: args.uma,
        cores: args.cores,
        ways: args.ways,
        objective: args.objective.clone(),
        machine: args.machine.clone(),
        // A limit longer than a Duration can be is no limit.
        time_limit: args.time_limit.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
    }
}

fn profiles(name: &str) -> anyhow::Result<Profiles> {
    match name.strip_prefix(MACHINE) {
        Some(machine) => isobar_study::of_machine(machine).map_err(bad_input),
        None => {
            let (file, text) = read(Path::new(name), input::TABLE, "a table of programs, or machine:NAME")?;
            isobar_profiles::read(&file, &text).map_err(bad_input)
        }
    }
}

fn read(file: &Path, limit: u64, expected: &str) -> anyhow::Result<(String, String)> {
    let name = file.display().to_string();
    let text = input::text(file, limit)
        .map_err(|error| bad_input(format!("{name}: cannot be read: {error}: expected {expected}")))?;
    Ok((name, text))
}

fn source((file, text): &(String, String)) -> Source<'_> {
    Source { file, text }
}
