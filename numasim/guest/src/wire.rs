//! The order for a boot, and the lines that answer it, as JSON. The protocol knows commands, CPU
//! numbers and files. It knows no policies: numasim has resolved each contender into commands
//! before.

use crate::counters::Counters;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a guest does from its boot to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Whether the machine is modelled, that is, whether numasim's plugin is present. Without it
    /// there are no counters, and times mean nothing.
    pub modelled: bool,
    /// Guest seconds that a run may take, set-up included.
    pub limit_seconds: f64,
    /// The runs, in the order in which they are executed.
    pub runs: Vec<Run>,
}

/// Some jobs together, under one regime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name of the run, which is unique in its boot.
    pub id: String,
    /// What governs placement.
    pub regime: Regime,
    /// The ways of these LLCs that every thread may fill while the run lasts. In other LLCs threads
    /// may fill all ways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Ways>,
    /// The jobs that run.
    pub jobs: Vec<Job>,
}

/// The ways of an LLC that its class 0 may fill. All CPUs have this class unless something gives
/// them another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ways {
    /// The LLC.
    pub llc: u32,
    /// One bit per way.
    pub mask: u64,
}

/// What governs placement in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// Whether the kernel's automatic NUMA balancing is on (`/proc/sys/kernel/numa_balancing`).
    pub numa_balancing: bool,
    /// Whether transparent huge pages are switched off, for this run and the runs that follow in
    /// its boot. If not, they are as the kernel has them.
    #[serde(default)]
    pub no_huge_pages: bool,
    /// Whether resctrl is mounted on `/sys/fs/resctrl` while the run lasts. Its groups control the
    /// machine's ways ([`RESCTRL`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resctrl: bool,
    /// A program that moves threads, pages or ways beside the jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Daemon>,
    /// A command that is run once for each measured job when all jobs are set up, and that must
    /// succeed. `{pid}` is replaced by the job's process id, `{program}` by its name without the
    /// number of the instance. Empty if there is no such command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
}

/// A program that runs beside the jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Daemon {
    /// Command and arguments; `{pids}` is replaced by `-p PID` of every job, as several arguments.
    pub argv: Vec<String>,
    /// Files that are written before it starts, by path; the value is the content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Seconds for which it runs before the jobs start.
    #[serde(default)]
    pub lead_seconds: f64,
    /// A file that it writes itself and that is part of its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file: Option<String>,
    /// If it leaves the foreground by itself, the file from which its pid is then read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_file: Option<String>,
    /// Files that it writes, and that are sent out of the guest when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bring: Vec<String>,
}

/// A program that is measured, or that only keeps the machine busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Its name within its run.
    pub name: String,
    /// Command and arguments; the director adds `--ready-file` and `--start-file`.
    pub argv: Vec<String>,
    /// The CPUs of its set-up; its memory lands on their node.
    pub setup_cpus: Vec<u32>,
    /// The CPUs that its threads are brought to after set-up, and held on until all jobs run;
    /// `None` if they are released after set-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_cpus: Option<Vec<u32>>,
    /// The CPUs that it is confined to after set-up; `None` stands for all.
    pub run_cpus: Option<Vec<u32>>,
    /// Whether it only keeps the machine busy: it runs until the others are done.
    #[serde(default)]
    pub background: bool,
    /// Whether the arguments place it (`numactl`, `--each-on`): the director then leaves its
    /// affinity alone.
    #[serde(default)]
    pub placed_by_hand: bool,
}

/// A line from the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Line {
    /// The guest is up.
    Hello {
        /// `uname -r`.
        kernel: String,
        /// CPUs that are online, as the kernel lists them.
        online: String,
    },
    /// A file that the daemon of a run wrote. It precedes the line of that run.
    File(Box<GuestFile>),
    /// A run is over.
    Run(Box<Ran>),
    /// Where the pages of a traced command were when it ended.
    Pages(Box<Pages>),
    /// Something that concerns the whole boot went wrong.
    Failed {
        /// The reason, in one line.
        why: String,
    },
    /// All runs are over.
    Done,
}

impl Line {
    /// The result of a run, if the line contains one.
    #[must_use]
    pub fn ran(&self) -> Option<&Ran> {
        if let Self::Run(ran) = self { Some(ran) } else { None }
    }
}

/// A file of the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestFile {
    /// [`Run::id`].
    pub run: String,
    /// Its name, without its folder.
    pub name: String,
    /// Its content, in hexadecimal digits.
    pub content: String,
}

/// The address space of a command, just before it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// Contents of `/proc/PID/maps`.
    pub maps: String,
    /// Numbers of the virtual pages that had memory, in ascending order, each with the number of
    /// its physical page.
    pub frames: Vec<(u64, u64)>,
}

/// The first line of the file of a page trace, as JSON. The second line is a [`Pages`]; the lines
/// of the plugin follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageTraceHead {
    /// The version of the file, [`PAGE_TRACE_VERSION`].
    pub numasim_pages: u32,
    /// The machine's name.
    pub machine: String,
    /// Number of its nodes.
    pub nodes: u32,
    /// Number of its CPUs.
    pub cpus: u32,
    /// Guest time of a slice, in nanoseconds.
    pub slice_ns: u64,
    /// The command.
    pub command: Vec<String>,
}

/// The version of the file of a page trace.
pub const PAGE_TRACE_VERSION: u32 = 1;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// [`Run::id`].
    pub id: String,
    /// The results of its jobs, in the order of [`Run::jobs`].
    pub jobs: Vec<JobRan>,
    /// Guest seconds from the start of the measured part to the end of the last measured job.
    pub seconds: f64,
    /// Why the run does not count; `None` if it does.
    pub problem: Option<String>,
    /// The machine's counters over the measured part, as the plugin counted; `None` if nothing is
    /// modelled.
    pub counters: Option<Counters>,
    /// What `/proc/vmstat` counted over the measured part.
    pub vmstat: BTreeMap<String, u64>,
    /// The result of the daemon.
    pub daemon: Option<DaemonRan>,
    /// What the commands before the measured part did, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<SetupResult>,
}

/// What the commands of [`Regime::before`] did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupResult {
    /// Pages that were moved meanwhile, as the kernel counted (`pgmigrate_success`).
    pub pages_moved: u64,
    /// What each command wrote to standard output, by job; the last [`MOST_LOG`] bytes.
    pub said: BTreeMap<String, String>,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRan {
    /// [`Job::name`].
    pub name: String,
    /// Whether it only kept the machine busy.
    pub background: bool,
    /// The line that it printed.
    pub line: Option<Value>,
    /// Why it does not count: its exit status and the last line of its errors; `None` if it does.
    pub problem: Option<String>,
    /// How often its threads changed their CPU, from `/proc/PID/sched` (`se.nr_migrations`); `None`
    /// if the kernel does not report it.
    pub migrations: Option<u64>,
    /// Its pages by node, when its measured part began and when it was last seen.
    pub pages: Option<[Vec<u64>; 2]>,
}

/// The result of a daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DaemonRan {
    /// Why it did not run from start to end, or did not end in order; `None` if it did both.
    pub problem: Option<String>,
    /// What it wrote: standard output, then its own log file; the last [`MOST_LOG`] bytes.
    pub log: String,
    /// What it wrote to standard error, the last [`MOST_LOG`] bytes.
    pub errors: String,
    /// CPU time that it used, in seconds.
    pub cpu_seconds: Option<f64>,
}

/// Option that precedes the command of a boot whose page trace is wanted.
pub const PAGE_TRACE: &str = "--page-trace";

/// Option that precedes the command of a boot that is to have resctrl.
pub const WITH_RESCTRL: &str = "--resctrl";
/// The package that mounts resctrl; its program in the guest has the same name.
pub const RESCTRL: &str = "numasim-resctrl";

/// Most bytes of a log that are reported.
pub const MOST_LOG: usize = 1 << 20;
/// Most bytes of a file that is sent out of the guest.
pub const MOST_FILE: u64 = 32 << 20;

/// The path of the order in the guest.
pub const ORDER_FILE: &str = "/etc/order.json";
/// The virtio-serial port for the lines.
pub const RESULTS_PORT: &str = "results";
/// The virtio-serial port for what a command prints.
pub const OUTPUT_PORT: &str = "output";

/// The guest's verdict that the director finished its order. QEMU ends with twice this number plus
/// one.
pub const VERDICT_DONE: i32 = 8;
/// The guest's verdict that the director could not go on.
pub const VERDICT_FAILED: i32 = 9;
