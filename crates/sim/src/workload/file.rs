//! A workload as written in TOML. Every reference is resolved and every value is checked here, so
//! that nothing can fail later.

use super::entry::{AppEntry, MOST};
use super::{Run, Workload};
use crate::error::{SimError, within};
use crate::machine::{MachineSpec, find, positive};
use crate::program::{Program, shipped};
use serde::Deserialize;
use std::ops::RangeInclusive;
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    machine: String,
    #[serde(default)]
    run: Run,
    #[serde(default)]
    app: Vec<AppEntry>,
    #[serde(default)]
    program: Vec<Program>,
}

/// The most threads of a workload per CPU. The time of a run grows with the square of the number:
/// 64 threads on each of 8 CPUs take seconds, 1000 take minutes.
const MOST_PER_CPU: u32 = 64;

impl Workload {
    /// Reads a workload that needs no other file; `file` only appears in errors. `machine` is the
    /// name of a shipped machine, or a synthetic one such as `node:2 llc:1 core:4`.
    ///
    /// # Errors
    /// [`SimError`], one line, for anything that is wrong.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, SimError> {
        Self::from_toml_with(file, text, &|_| Err("no other file can be read here".to_owned()))
    }

    /// Reads a workload. `read` returns the text of a `program_file`, or of a `machine` whose name
    /// ends in `.toml`, named as in the workload, or says why it cannot.
    ///
    /// # Errors
    /// [`SimError`], one line, for anything that is wrong.
    pub fn from_toml_with(
        file: &str,
        text: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, SimError> {
        let written: File = crate::error::parse(file, text)?;
        let mut library = shipped()?;
        library.add(file, written.program)?;
        written.run.validate(file)?;
        let machine = machine(file, &written.machine, read)?;
        if written.app.is_empty() {
            return Err(SimError::value(
                file,
                "app",
                "is missing: a workload has at least one [[app]] with a `program`",
            ));
        }
        let mut apps = Vec::new();
        let mut threads = ThreadCount::on(&machine);
        for (number, entry) in written.app.iter().enumerate() {
            entry.validate(file, &machine)?;
            let program = entry.growing(entry.program(file, &library, read)?);
            threads.take(file, u64::from(entry.count) * u64::from(entry.threads.unwrap_or(program.threads)))?;
            let job = entry.job(file, number)?;
            apps.extend(entry.apps(file, &program, &written.run, job.as_ref())?);
        }
        Ok(Self { machine: Arc::new(machine), apps, run: written.run })
    }
}

/// The number of threads of a workload, and the most that the machine can be asked to run.
struct ThreadCount {
    threads: u64,
    most: u64,
    cpus: usize,
}

impl ThreadCount {
    fn on(machine: &MachineSpec) -> Self {
        let cpus = machine.topology.cpus().len();
        let most = u64::try_from(cpus).unwrap_or(u64::MAX).saturating_mul(u64::from(MOST_PER_CPU));
        Self { threads: 0, most: most.min(u64::from(MOST)), cpus }
    }

    /// Counts threads before anything is made for them.
    fn take(&mut self, file: &str, threads: u64) -> Result<(), SimError> {
        self.threads += threads;
        let Self { threads, most, cpus } = *self;
        if threads <= most {
            return Ok(());
        }
        let problem = format!(
            "makes {threads} threads or more for {cpus} CPUs; list at most {most} ({MOST_PER_CPU} a CPU, {MOST} in all)"
        );
        Err(SimError::value(file, "app", problem))
    }
}

fn machine(file: &str, name: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Result<MachineSpec, SimError> {
    if name.to_ascii_lowercase().ends_with(".toml") {
        let unread = |why: String| SimError::value(file, "machine", format!("names {name}: {why}"));
        return MachineSpec::from_toml(name, &read(name).map_err(unread)?);
    }
    if name.starts_with("node:") {
        return MachineSpec::synthetic(name).map_err(|error| SimError::value(file, "machine", error.to_string()));
    }
    if crate::machine::shipped().contains(&name) {
        return find(name);
    }
    Err(SimError::unknown(file, "machine", "machine", name, &crate::machine::shipped()))
}

/// Allowed length of steps and epochs, in seconds: with shorter ones, a second would take minutes.
const STEPS: RangeInclusive<f64> = 0.001..=86_400.0;

fn step(file: &str, key: &str, seconds: f64) -> Result<(), SimError> {
    let problem = || format!("is {seconds}; it must be from {} to {} seconds", STEPS.start(), STEPS.end());
    STEPS.contains(&seconds).then_some(()).ok_or_else(|| SimError::value(file, key, problem()))
}

impl Run {
    fn validate(&self, file: &str) -> Result<(), SimError> {
        positive(file, "run.runs", f64::from(self.runs))?;
        positive(file, "run.instructions_factor", self.instructions_factor)?;
        positive(file, "run.max_seconds", self.max_seconds)?;
        step(file, "run.step_seconds", self.step_seconds)?;
        step(file, "run.epoch_seconds", self.epoch_seconds)?;
        self.judged_run
            .map_or(Ok(()), |run| within(file, "run.judged_run", f64::from(run), 1.0..=f64::from(self.runs)))?;
        within(file, "run.min_cpu_percent", self.min_cpu_percent, 0.0..=100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Job;
    use isobar_model::Cgroup;

    fn error(text: &str) -> String {
        let error = Workload::from_toml("w.toml", text).unwrap_err().to_string();
        assert!(error.starts_with("w.toml: ") && !error.contains(char::is_control), "{error}");
        error
    }

    #[test]
    fn copies_are_numbered() {
        let text = "machine = \"node:2 core:2\"\n[[app]]\nprogram = \"milc\"\ncount = 2\n[[app]]\nprogram = \"namd\"";
        let workload = Workload::from_toml("w.toml", text).unwrap();
        let names: Vec<_> = workload.apps.iter().map(|app| app.name.as_str()).collect();
        assert_eq!(names, ["milc.1", "milc.2", "namd"]);
    }

    #[test]
    fn copies_wait_for_each_other_and_for_those_of_their_job() {
        let text = "machine = \"node:2 core:4\"\n[[app]]\nprogram = \"milc\"\ncount = 2\nbarrier_billion = 0.5\n\
                    [[app]]\nprogram = \"namd\"\njob = \"a\"\nbarrier_billion = 1\n[[app]]\nprogram = \"mcf\"\n\
                    job = \"a\"\nbarrier_billion = 2\n[[app]]\nprogram = \"lbm\"";
        let workload = Workload::from_toml("w.toml", text).unwrap().with_barrier_factor(2.0);
        let jobs: Vec<_> = workload.apps.iter().map(|app| app.job.clone()).collect();
        let job = |name: &str, barrier_billion| Some(Job { name: name.to_owned(), barrier_billion });
        assert_eq!(jobs, [job("[[app]] 1", 1.0), job("[[app]] 1", 1.0), job("a", 2.0), job("a", 4.0), None]);
        assert_eq!(workload.alone(&workload.apps[0]).apps[0].job, None);
    }

    #[test]
    fn a_program_may_be_in_a_control_group() {
        let app = |lines: &str| format!("machine = \"node:2 core:2\"\n[[app]]\nprogram = \"milc\"\n{lines}");
        let read = |lines: &str| Workload::from_toml("w.toml", &app(lines)).unwrap().apps.remove(0).cgroup;
        assert_eq!(read(""), None);
        assert_eq!(read("cgroup = \"/a.slice\"").as_deref(), Some(&Cgroup::at("/a.slice")));
        let named = read("cgroup = \"/docker/x\"\ncgroup_name = \"web\"").unwrap();
        assert_eq!(named.name.as_deref(), Some("web"));
        assert!(error(&app("cgroup = \"a.slice\"")).contains("`app.cgroup` must be a path that begins with `/`"));
        assert!(error(&app("cgroup_name = \"web\"")).contains("`app.cgroup_name` names a pod or container"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let app = |line: &str| format!("machine = \"node:2 core:2\"\n[[app]]\n{line}");
        assert!(error(&app("program = \"mlic\"")).contains("did you mean milc"));
        assert!(error(&app("program = \"milc\"\ncuont = 2")).contains("line 4"));
        assert!(error(&app("program = \"milc\"\ncount = 0")).contains("app.count"));
        assert!(error(&app("program = \"milc\"\ncpu = 9")).contains("0-3"));
        assert!(error(&app("program = \"milc\"\npinned = true")).contains("`start_node`"));
        assert!(error(&app("program = \"milc\"\npinned = true\nstart_node = 0\ncpu = 1")).contains("`cpu`"));
        assert!(error(&app("program = \"milc\"\nmemory_node = 2")).contains("memory_node"));
        assert!(error("machine = \"barcelona\"").contains("barcelona-4x4"));
        assert!(error("machine = \"node:2\"").contains("at least one [[app]]"));
        assert!(error(&app("count = 2")).contains("`app.program` is missing"));
        assert!(error(&app("program_file = \"x.csv\"")).contains("names x.csv: no other file can be read here"));
        assert!(error(&app("program = \"milc\"\ntouch_share = 2.0")).contains("app.touch_share"));
        let spread = |text: &str| error(&app(&format!("program = \"milc\"\n{text}")));
        assert!(spread("spread = [{ node = 4, weight = 1 }]").contains("`app.spread` is 4"));
        assert!(spread("spread = [{ node = 1, weight = 0 }]").contains("app.spread"));
        assert!(spread("memory_node = 0\nspread = [{ node = 1, weight = 1 }]").contains("memory_node"));
        assert!(error(&app("program = \"milc\"\nmeasured_on = \"nehalem-2x4\"")).contains("app.measured_on"));
        assert!(error(&app("program = \"milc\"\njob = \"a\"")).contains("`app.barrier_billion` is missing"));
        assert!(error(&app("program = \"milc\"\nbarrier_billion = 0.0")).contains("from 0.001"));
        assert!(
            error("machine = \"node:2\"\n[run]\njudged_run = 4")
                .contains("`run.judged_run` is 4; it must be from 1 to 3")
        );
        assert!(error("machine = \"node:2\"\n[run]\nmin_cpu_percent = 101").contains("it must be from 0 to 100"));
        for key in ["step_seconds", "epoch_seconds"] {
            for seconds in ["0", "1e-9", "1e6", "nan"] {
                let message = error(&format!("machine = \"node:2\"\n[run]\n{key} = {seconds}"));
                assert!(
                    message.contains(&format!("`run.{key}` is ")) && message.contains("from 0.001 to 86400"),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn more_threads_than_a_run_can_take_are_refused_before_they_are_made() {
        let text = |entries: usize, count: u32| {
            let entry = format!("[[app]]\nprogram = \"milc\"\ncount = {count}\n");
            format!("machine = \"nehalem-2x4\"\n{}", entry.repeat(entries))
        };
        assert!(Workload::from_toml("w.toml", &text(1, 512)).is_ok());
        let message = error(&text(1, 1000));
        assert!(
            message.contains("`app` makes 1000 threads or more for 8 CPUs; list at most 512 (64 a CPU"),
            "{message}"
        );
        assert!(error(&text(10_000, 512)).contains("makes 1024 threads or more for 8 CPUs"));
    }

    #[test]
    fn names_from_the_file_stay_on_the_line() {
        let app = |line: &str| format!("machine = \"node:2 core:2\"\n[[app]]\n{line}");
        assert!(error(&app(r#"program = "mi\nlc\u001b[2J""#)).contains(r"`mi\nlc\u{1b}[2J`"));
        assert!(error(&app(r#""\u001b[2J" = 1"#)).contains(r"\u{1b}[2J"));
    }

    /// Both workloads would advance in steps of a nanosecond: hours for a simulated second.
    #[test]
    fn runs_that_end_at_once_are_refused() {
        let small = |cpi: &str, factor: &str| {
            let program = "instructions_billion = 1\nmpki = { streaming = 1, reuse = 1, half_mib = 1 }\nmlp = 1\n\
                           write_back = 0\nfootprint_mib = 1";
            format!(
                "machine = \"node:2\"\n[run]\ninstructions_factor = {factor}\n[[app]]\nprogram = \"a\"\n[[program]]\n\
                 name = \"a\"\nbase_cpi = {cpi}\n{program}"
            )
        };
        assert!(Workload::from_toml("w.toml", &small("0.05", "0.001")).is_ok());
        assert!(error(&small("0.04", "0.001")).contains("`a.base_cpi` is 0.04; it must be from 0.05"));
        assert!(
            error(&small("0.05", "0.0009"))
                .contains("`run.instructions_factor` leaves 0.0009 billion instructions of a")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = Workload::from_toml("w.toml", &text);
        }
    }
}
