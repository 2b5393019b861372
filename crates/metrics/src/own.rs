//! The resource use of isobar itself, as measured by the process that serves the metrics.

use crate::family::{Families, named};

/// The resource use of isobar itself. `None` for what cannot be known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// CPU time, user and system, since the start.
    pub cpu_seconds: Option<f64>,
    /// Resident memory.
    pub resident_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_descriptors: Option<u64>,
    /// Maximum number of open file descriptors.
    pub max_descriptors: Option<u64>,
    /// Number of its threads.
    pub threads: Option<u64>,
    /// When it started, in seconds since 1970.
    pub start_seconds: Option<f64>,
    /// Seconds since the last epoch ended.
    pub last_epoch_age_seconds: Option<f64>,
    /// Lines of output that were dropped because no reader took them.
    pub dropped_lines: Option<u64>,
    /// Size of the recording that is being made.
    pub recording_bytes: Option<u64>,
    /// Number of scrapes answered, including this one.
    pub scrapes: u64,
    /// Number of connections and requests that were refused.
    pub turned_away: u64,
}

fn float(count: Option<u64>) -> Option<f64> {
    count.map(isobar_model::num::float)
}

impl Own {
    /// The values as families.
    #[must_use]
    pub fn families(&self) -> Families {
        let mut all = Families::default();
        all.seconds(
            named("process_cpu", "seconds", "CPU time that isobar itself used, user and system"),
            self.cpu_seconds,
        );
        all.one(
            named("process_resident_memory", "bytes", "Resident memory of isobar itself"),
            float(self.resident_bytes),
        );
        all.one(named("process_open_fds", "", "File descriptors that isobar has open"), float(self.open_descriptors));
        all.one(
            named("process_max_fds", "", "File descriptors that isobar may have open"),
            float(self.max_descriptors),
        );
        all.one(named("process_threads", "", "Threads of isobar itself"), float(self.threads));
        all.one(
            named("process_start_time", "seconds", "When isobar started, in seconds since 1970"),
            self.start_seconds,
        );
        all.one(
            named("last_epoch_age", "seconds", "Time since the last epoch ended, at this scrape"),
            self.last_epoch_age_seconds,
        );
        let lines = self.dropped_lines.map(|lines| (Vec::new(), lines));
        all.counter(
            named("output_dropped_lines", "", "Lines of output that were dropped because they had no reader"),
            lines,
        );
        all.one(named("recording", "bytes", "Size of the recording of this run"), float(self.recording_bytes));
        all.counter(
            named("scrapes", "", "Scrapes that were answered, this one included"),
            [(Vec::new(), self.scrapes)],
        );
        all.counter(
            named(
                "requests_turned_away",
                "",
                "Requests and connections to the metrics endpoint that were refused or cut",
            ),
            [(Vec::new(), self.turned_away)],
        );
        all
    }
}
