//! Reads the kernel's clocks. This file knows nothing of what is timed, nor of budgets.

use isobar_model::Seconds;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The time on a clock.
#[must_use]
pub fn now(clock: ClockId) -> Duration {
    // No clock that is read here begins before 0, so the conversion cannot fail.
    clock_gettime(clock).try_into().unwrap_or_default()
}

/// CPU time, user and system, of all threads of this process since it started
/// (`CLOCK_PROCESS_CPUTIME_ID`, `clock_gettime(2)`). Threads that have ended are included, child
/// processes are not.
#[must_use]
pub fn own_cpu_time() -> Seconds {
    Seconds(now(ClockId::ProcessCPUTime).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn it_grows_with_work_and_stays_below_all_cpus() {
        let (before, start) = (own_cpu_time(), Instant::now());
        let mut sum = 0_u64;
        while own_cpu_time().0 - before.0 < 0.02 && start.elapsed() < Duration::from_secs(20) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let used = own_cpu_time().0 - before.0;
        assert!(used >= 0.02, "{used}");
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let most = start.elapsed().as_secs_f64() * isobar_model::num::float_len(cpus) + 0.1;
        assert!(used <= most, "{used} s of at most {most} s");
    }
}
