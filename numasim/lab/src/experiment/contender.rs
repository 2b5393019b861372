//! Contenders: what places programs and memory while an experiment's programs run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What places programs and memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Contender {
    /// Stock Linux.
    Linux {
        /// Its name in tables.
        #[serde(default)]
        name: Option<String>,
        /// Automatic NUMA balancing.
        numa_balancing: bool,
        /// A command that is run once for each measured program when all programs are set up, such
        /// as a command that moves the program's pages. Words are separated by blanks; `{pid}`
        /// stands for the process id and `{program}` for the program's name. If the command fails,
        /// so does the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        /// The package of this workspace that contains this command. Without it the guest must have
        /// the command already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        package: Option<String>,
    },
    /// Debian's numad; NUMA balancing off, as its manual page advises.
    Numad {
        /// Its name in tables.
        #[serde(default)]
        name: Option<String>,
        /// Seconds between its scans (its `-i`, both bounds).
        #[serde(default = "numad_interval")]
        interval_seconds: u32,
    },
    /// Programs placed by hand with numactl; NUMA balancing off.
    Numactl {
        /// Its name in tables.
        #[serde(default)]
        name: Option<String>,
        /// By program name, the place of all its instances.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        bind: BTreeMap<String, Bind>,
        /// By program name, one place for each instance in turn.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        bind_each: BTreeMap<String, Vec<Bind>>,
    },
    /// Any program that runs beside the jobs: it is started before them, and ended with SIGTERM
    /// after them.
    Daemon {
        /// Its name in tables.
        name: String,
        /// The command. Words are separated by blanks, and `{pids}` stands for `-p PID` of every
        /// job.
        run: String,
        /// The package of this workspace that contains the program. Without it the guest must have
        /// the program already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        package: Option<String>,
        /// Whether automatic NUMA balancing is on beside it.
        #[serde(default)]
        numa_balancing: bool,
        /// Files that it writes in the guest, such as a recording. With `--keep` they are copied
        /// into the folder of the boot, as `files/NAME OF THE CONTENDER/NAME OF THE FILE`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bring: Vec<String>,
    },
}

/// Where numactl puts a program: on CPUs and memory of nodes, or as numactl's own options say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// `--cpunodebind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_of: Option<u32>,
    /// `--membind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_of: Option<u32>,
    /// Options of numactl as they are, such as `--physcpubind=0-1 --interleave=all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
}

impl Bind {
    /// The words that numactl is given.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let cpus = self.cpus_of.map(|node| format!("--cpunodebind={node}"));
        let memory = self.memory_of.map(|node| format!("--membind={node}"));
        let options = self.options.iter().flat_map(|options| options.split_whitespace()).map(str::to_owned);
        cpus.into_iter().chain(memory).chain(options).collect()
    }

    pub(super) fn check(&self, program: &str) -> Result<(), String> {
        let words = self.words();
        let option = |word: &String| word.starts_with("--");
        let right = !words.is_empty() && words.iter().all(option);
        right.then_some(()).ok_or_else(|| {
            format!(
                "contender.bind of `{program}`: expected cpus_of, memory_of, or options that begin with --, such as \
                 \"--interleave=all\""
            )
        })
    }
}

const fn numad_interval() -> u32 {
    1
}

impl Contender {
    /// The package whose program it needs in the guest.
    #[must_use]
    pub fn package(&self) -> Option<&str> {
        match self {
            Self::Linux { package, .. } | Self::Daemon { package, .. } => package.as_deref(),
            Self::Numad { .. } | Self::Numactl { .. } => None,
        }
    }

    /// Its name in tables: the given one, or the usual name of its kind.
    #[must_use]
    pub fn name(&self) -> String {
        let (name, usual) = match self {
            Self::Linux { name, numa_balancing: true, .. } => (name, "linux".to_owned()),
            Self::Linux { name, numa_balancing: false, .. } => (name, "linux, balancing off".to_owned()),
            Self::Numad { name, .. } => (name, "numad".to_owned()),
            Self::Numactl { name, .. } => (name, "numactl".to_owned()),
            Self::Daemon { name, .. } => return name.clone(),
        };
        name.clone().unwrap_or(usual)
    }
}
