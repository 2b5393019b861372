//! Shows threads that their owner pinned as free within their cpuset, if the user wants them moved,
//! too (`move_pinned`): a policy then treats them like others. The actuators still know their masks
//! and put them back exactly.

use isobar_model::{CpuSet, Pid, Sample};

/// Shows pinned threads as free within the CPUs that `permitted` gives for their process (`None` =
/// any online).
pub(super) fn unpin(sample: &mut Sample, mut permitted: impl FnMut(Pid) -> Option<CpuSet>) {
    let online = sample.topology.online().clone();
    for process in &mut sample.processes {
        if !process.threads.iter().any(|thread| thread.pinned) {
            continue;
        }
        let cpuset = permitted(process.pid).map_or_else(|| online.clone(), |cpuset| cpuset.intersection(&online));
        for thread in process.threads.iter_mut().filter(|thread| thread.pinned) {
            thread.pinned = false;
            thread.allowed = Some(cpuset.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{cpus, sample};
    use isobar_model::{ProcessSample, ThreadSample, Tid};

    fn process(pid: u32, pinned: bool) -> ProcessSample {
        let allowed = Some(cpus(if pinned { "1" } else { "0-3" }));
        let thread = ThreadSample { tid: Tid(pid), start: 1, allowed, pinned, ..ThreadSample::default() };
        ProcessSample {
            pid: Pid(pid),
            start: 1,
            name: "p".into(),
            cgroup: None,
            pages: None,
            accessed_pages: None,
            threads: vec![thread],
        }
    }

    #[test]
    fn pinned_threads_become_free_within_their_cpuset() {
        let processes = vec![process(1, true), process(2, true), process(3, false)];
        let mut sample = sample("node:2 core:2", 0.0, processes);
        unpin(&mut sample, |pid| (pid == Pid(1)).then(|| cpus("1-2,9")));
        let seen: Vec<_> =
            sample.processes.iter().map(|p| (p.threads[0].pinned, p.threads[0].allowed.clone())).collect();
        assert_eq!(seen, ["1-2", "0-3", "0-3"].map(|list| (false, Some(cpus(list)))));
    }
}
