//! The order for a boot, and the lines that answer it, as JSON. It knows commands, CPU numbers and
//! files; it refuses to know policies: what a contender is, the laboratory has resolved into
//! commands before.

use crate::counters::Counters;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a guest does from its boot to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Whether the machine is modelled (numasim's plugin is present); without it counters are
    /// absent and times mean nothing.
    pub modelled: bool,
    /// Guest seconds that a run may take, set-up included.
    pub limit_seconds: f64,
    /// In this order.
    pub runs: Vec<Run>,
}

/// Some jobs together, under one regime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Names the run among those of its boot.
    pub id: String,
    /// What governs placement.
    pub regime: Regime,
    /// The ways that every thread may fill in these LLCs while the run lasts; in the others, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Ways>,
    /// What runs.
    pub jobs: Vec<Job>,
}

/// The ways of an LLC that its class 0 may fill, which all CPUs have unless something gives them
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ways {
    /// The LLC.
    pub llc: u32,
    /// A bit for each way.
    pub mask: u64,
}

/// What governs placement in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// The kernel's automatic NUMA balancing (`/proc/sys/kernel/numa_balancing`).
    pub numa_balancing: bool,
    /// Transparent huge pages are switched off, for this run and those that follow in its boot;
    /// else they are as the kernel has them.
    #[serde(default)]
    pub no_huge_pages: bool,
    /// resctrl is mounted on `/sys/fs/resctrl` while the run lasts, and its groups have the
    /// machine's ways ([`RESCTRL`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resctrl: bool,
    /// A program that moves threads, pages or ways beside the jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Daemon>,
    /// A command that is run once for each measured job when all are set up, and that must succeed;
    /// `{pid}` becomes the job's process id, `{program}` its name without the number of the
    /// instance. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
}

/// A program that runs beside the jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Daemon {
    /// Command and arguments; `{pids}` becomes `-p PID` of every job, as several arguments.
    pub argv: Vec<String>,
    /// Files that are written before it starts: path to content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Seconds for which it runs before the jobs start.
    #[serde(default)]
    pub lead_seconds: f64,
    /// A file that it writes for itself and that belongs to its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file: Option<String>,
    /// Whether it leaves the foreground by itself; its pid is then read from this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_file: Option<String>,
    /// Files that it writes and that are brought out of the guest when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bring: Vec<String>,
}

/// A program that is measured, or that only keeps the machine busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Names it within its run.
    pub name: String,
    /// Command and arguments; the director adds `--ready-file` and `--start-file`.
    pub argv: Vec<String>,
    /// The CPUs of its set-up: its memory lands on their node.
    pub setup_cpus: Vec<u32>,
    /// The CPUs that its threads are brought to after set-up and held on until all jobs run;
    /// `None`: they are released after set-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_cpus: Option<Vec<u32>>,
    /// The CPUs that it is confined to after set-up; `None`: all.
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
    /// A file that the daemon of a run wrote, before the line of that run.
    File(Box<Brought>),
    /// A run is over.
    Run(Box<Ran>),
    /// Where the pages of a traced command were when it ended.
    Pages(Box<Pages>),
    /// Something that concerns the whole boot went wrong.
    Failed {
        /// In one line.
        why: String,
    },
    /// All runs are over.
    Done,
}

impl Line {
    /// What came of a run, where it says that.
    #[must_use]
    pub fn ran(&self) -> Option<&Ran> {
        if let Self::Run(ran) = self { Some(ran) } else { None }
    }
}

/// A file of the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brought {
    /// [`Run::id`].
    pub run: String,
    /// Its name, without its folder.
    pub name: String,
    /// What it held, in hexadecimal digits.
    pub content: String,
}

/// The address space of a command, just before it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// Its exit status; `None`: a signal ended it.
    pub status: Option<i32>,
    /// `/proc/PID/maps`.
    pub maps: String,
    /// Numbers of the virtual pages that had memory, ascending, and of the physical page of each.
    pub frames: Vec<(u64, u64)>,
}

/// The first line of the file of a page trace, as JSON; the second is a [`Pages`]; those of the
/// plugin follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageTraceHead {
    /// The version of the file, [`PAGE_TRACE_VERSION`].
    pub numasim_pages: u32,
    /// The machine's name.
    pub machine: String,
    /// Its nodes.
    pub nodes: u32,
    /// Its CPUs.
    pub cpus: u32,
    /// Nanoseconds of guest time in a slice.
    pub slice_ns: u64,
    /// The command.
    pub command: Vec<String>,
}

/// The version of the file of a page trace.
pub const PAGE_TRACE_VERSION: u32 = 1;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// [`Run::id`].
    pub id: String,
    /// In the order of [`Run::jobs`].
    pub jobs: Vec<JobRan>,
    /// Guest seconds from the start of the measured part to the end of the last job that is
    /// measured.
    pub seconds: f64,
    /// What keeps the run from counting, if anything.
    pub problem: Option<String>,
    /// The machine's counters over the measured part, as the plugin saw it; `None`: nothing is
    /// modelled.
    pub counters: Option<Counters>,
    /// What `/proc/vmstat` counted over the measured part.
    pub vmstat: BTreeMap<String, u64>,
    /// What became of the daemon.
    pub daemon: Option<DaemonRan>,
    /// What the commands before the measured part did, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeRan>,
}

/// What the commands of [`Regime::before`] did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeforeRan {
    /// Pages that were moved meanwhile, as the kernel counted (`pgmigrate_success`).
    pub pages_moved: u64,
    /// What each wrote to standard output, by job; the last [`MOST_LOG`] bytes.
    pub said: BTreeMap<String, String>,
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRan {
    /// [`Job::name`].
    pub name: String,
    /// Whether it only kept the machine busy.
    pub background: bool,
    /// The line that it printed.
    pub line: Option<Value>,
    /// Why it counts for nothing, if so: its exit status and the last line of its errors.
    pub problem: Option<String>,
    /// How often its threads changed their CPU, from `/proc/PID/sched` (`se.nr_migrations`);
    /// `None`: the kernel does not say.
    pub migrations: Option<u64>,
    /// Its pages by node when its measured part began and when it was seen last.
    pub pages: Option<[Vec<u64>; 2]>,
}

/// What became of a daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DaemonRan {
    /// Whether it was there from the start to the end, and ended in order.
    pub problem: Option<String>,
    /// What it wrote: standard output, then its own log file; the last [`MOST_LOG`] bytes.
    pub log: String,
    /// What it wrote to standard error, the last [`MOST_LOG`] bytes.
    pub errors: String,
    /// CPU seconds that it used.
    pub cpu_seconds: Option<f64>,
}

/// What precedes the command of a boot whose page trace is wanted.
pub const PAGE_TRACE: &str = "--page-trace";

/// What precedes the command of a boot that is to have resctrl.
pub const WITH_RESCTRL: &str = "--resctrl";
/// The package, and the program in the guest, that mounts resctrl.
pub const RESCTRL: &str = "numasim-resctrl";

/// As much of a log is handed out.
pub const MOST_LOG: usize = 1 << 20;
/// The most bytes of a file that is brought out.
pub const MOST_FILE: u64 = 32 << 20;

/// Where the order lies in the guest.
pub const ORDER_FILE: &str = "/etc/order.json";
/// The virtio-serial port for the lines.
pub const RESULTS_PORT: &str = "results";
/// The virtio-serial port for what a command prints.
pub const OUTPUT_PORT: &str = "output";

/// The guest's verdict: the director finished its order; QEMU ends with twice this and one.
pub const VERDICT_DONE: i32 = 8;
/// Guest's verdict: the director could not go on.
pub const VERDICT_FAILED: i32 = 9;
