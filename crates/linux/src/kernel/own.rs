//! Measures what this process itself uses of the machine, from its own files in procfs. This file
//! knows nothing of budgets. Figures that cannot be read are `None`.

use procfs::process::{LimitValue, Process};

/// What this process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnUse {
    /// Resident memory.
    pub resident_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_descriptors: Option<u64>,
    /// Maximum number of open file descriptors; `None` also if there is no limit.
    pub max_descriptors: Option<u64>,
    /// Its threads.
    pub threads: Option<u64>,
    /// When it started, in seconds since 1970.
    pub start_seconds: Option<f64>,
}

/// What this process uses now.
#[must_use]
pub fn own_use() -> OwnUse {
    let Ok(own) = Process::myself() else { return OwnUse::default() };
    let stat = own.stat().ok();
    let limit = own.limits().ok().map(|limits| limits.max_open_files.soft_limit);
    OwnUse {
        resident_bytes: stat.as_ref().map(|stat| stat.rss * procfs::page_size()),
        // The folder itself is open while it is read, so one is subtracted.
        open_descriptors: own.fd_count().ok().and_then(|count| u64::try_from(count).ok()?.checked_sub(1)),
        max_descriptors: limit.and_then(|limit| if let LimitValue::Value(most) = limit { Some(most) } else { None }),
        threads: stat.as_ref().and_then(|stat| u64::try_from(stat.num_threads).ok()),
        start_seconds: stat.and_then(|stat| started(stat.starttime)),
    }
}

fn started(ticks: u64) -> Option<f64> {
    let float = isobar_model::num::float;
    Some(float(procfs::boot_time_secs().ok()?) + float(ticks) / float(procfs::ticks_per_second()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn this_process_is_measured_and_started_just_now() {
        let own = own_use();
        assert!(own.resident_bytes.unwrap() > 100_000 && own.threads.unwrap() >= 1, "{own:?}");
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        let more = own_use();
        drop(file);
        assert!(more.open_descriptors.unwrap() >= 4, "{more:?}");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        let age = now - own.start_seconds.unwrap();
        assert!((-2.0..3600.0).contains(&age), "{age}");
    }
}
