//! Monitor groups: one for each process in each of our control groups. Their `mbm_total_bytes`
//! count the bytes that the process moves to and from memory
//! (`Documentation/filesystems/resctrl.rst`, "Resource monitoring rules").
//!
//! A task that changes its control group leaves its monitor group, and a group that is removed
//! takes its counts with it. So groups are read before anything changes, and a sample receives the
//! running total of what was read ([`Monitored`]). A counter that runs backwards, is not available
//! or has no hardware counter assigned is not measured, and never 0. Monitoring is optional: if the
//! kernel refuses (monitoring ids are few), this is reported and isobar does without.

use super::root::{Root, join};
use isobar_model::{Count, LlcId, Monitored, Pid, Sample, Seconds, Tid, num};
use std::collections::{BTreeMap, BTreeSet};

/// Number of readings without a value after which a process counts as not monitored.
const SILENT: u32 = 3;

/// Values of the event by cache domain; `None` if there is none.
type Values = BTreeMap<u32, Option<u64>>;

/// Our monitor groups.
#[derive(Debug, Default)]
pub struct Monitors {
    groups: BTreeMap<(Pid, String), Monitor>,
    /// What groups have counted since the last sample, saved before they were changed or removed.
    banked: BTreeMap<Pid, Option<u64>>,
    /// The totals at the last sample, for processes that had any then.
    totals: BTreeMap<Pid, Count>,
    /// The time of the last sample.
    time: Seconds,
}

#[derive(Debug, Default)]
struct Monitor {
    threads: BTreeSet<Tid>,
    last: Values,
    /// Domains on which its threads were last seen.
    domains: BTreeSet<u32>,
    silent: u32,
}

impl Monitors {
    /// Whether no process is monitored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.banked.is_empty()
    }

    /// Notes where threads run: a domain that they do not run on need not count for them.
    fn see(&mut self, sample: &Sample) {
        for process in &sample.processes {
            for ((_, _), monitor) in
                self.groups.range_mut((process.pid, String::new())..).take_while(|((pid, _), _)| *pid == process.pid)
            {
                let threads = process.threads.iter().filter(|thread| monitor.threads.contains(&thread.tid));
                let llcs = threads.filter_map(|thread| sample.topology.llc_of(thread.cpu?));
                monitor.domains.extend(llcs.map(|LlcId(id)| id));
            }
        }
    }

    /// Reads every group and saves what it counted, before groups change.
    pub fn bank(&mut self, root: &Root) {
        for ((pid, control), monitor) in &mut self.groups {
            let bytes = monitor.advance(values(root, &path(control, *pid)));
            let sum = self.banked.entry(*pid).or_insert(Some(0));
            *sum = sum.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes));
        }
    }

    /// What each process with groups has moved, for a sample. A process whose counters have had no
    /// value for long is left out, and begins at 0 again.
    pub fn read(&mut self, root: &Root, sample: &Sample) -> BTreeMap<Pid, Monitored> {
        self.see(sample);
        self.bank(root);
        let before = std::mem::replace(&mut self.time, sample.time);
        let span = num::round((sample.time.0 - before.0).max(0.0) * 1e9);
        let totals = std::mem::take(&mut self.totals);
        let mut all = BTreeMap::new();
        for (pid, bytes) in std::mem::take(&mut self.banked) {
            let monitors = self.groups.range((pid, String::new())..).take_while(|((other, _), _)| *other == pid);
            let monitors: Vec<&Monitor> = monitors.map(|(_, monitor)| monitor).collect();
            if monitors.iter().any(|monitor| monitor.silent < SILENT) {
                let threads = monitors.iter().flat_map(|monitor| monitor.threads.iter().copied()).collect();
                let total = advanced(totals.get(&pid).copied().unwrap_or_default(), bytes, span);
                self.totals.insert(pid, total);
                all.insert(pid, Monitored { bytes: total, threads });
            }
        }
        self.groups.values_mut().for_each(|monitor| monitor.domains.clear());
        all
    }

    /// Keeps the monitor groups of the control groups that still exist: a removed control group
    /// took its monitor groups with it.
    pub fn retain_groups(&mut self, controls: &BTreeSet<String>) {
        self.groups.retain(|(_, control), _| controls.contains(control));
    }

    /// Makes the groups that are wanted and removes the others. Isobar uses at most half of the
    /// monitoring ids. Returns a remark if processes were left out.
    pub fn arrange(&mut self, root: &Root, wanted: BTreeMap<(Pid, String), BTreeSet<Tid>>, ids: u32) -> Option<String> {
        self.groups.retain(|key @ (pid, control), _| {
            wanted.contains_key(key) || {
                // What was counted is saved, and if the removal fails, the group goes with its
                // control group.
                let _ = root.remove(&path(control, *pid));
                false
            }
        });
        let most = num::index(ids) / 2;
        let (mut without, mut why) = (0_usize, format!("half of the {ids} monitoring ids are in use"));
        for (key, threads) in wanted {
            if !self.groups.contains_key(&key) {
                if self.groups.len() >= most {
                    without += 1;
                    continue;
                }
                if let Err(error) = root.make(&path(&key.1, key.0)) {
                    (without, why) = (without + 1, error.to_string());
                    continue;
                }
                let last = values(root, &path(&key.1, key.0));
                self.groups.insert(key.clone(), Monitor { last, ..Monitor::default() });
            }
            if let Some(monitor) = self.groups.get_mut(&key) {
                monitor.fill(root, &path(&key.1, key.0), threads);
            }
        }
        (without > 0).then(|| {
            format!("{without} processes have no monitor group ({why}): their bandwidth is estimated from LLC misses")
        })
    }
}

impl Monitor {
    /// Puts threads into the group that are not in it. A thread that cannot be put there is not
    /// measured by it.
    fn fill(&mut self, root: &Root, path: &str, mut threads: BTreeSet<Tid>) {
        let inside = root.tasks(path).unwrap_or_default();
        threads.retain(|tid| inside.contains(tid) || root.put(*tid, path).is_ok());
        self.threads = threads;
    }

    /// Returns what was counted since the last values, and replaces these by `now`.
    fn advance(&mut self, now: Values) -> Option<u64> {
        let bytes = counted(&self.last, &now, &self.domains);
        self.silent = if now.values().any(Option::is_some) { 0 } else { self.silent.saturating_add(1) };
        self.last = now;
        bytes
    }
}

/// The path of our monitor group of a process in a control group of ours.
fn path(control: &str, pid: Pid) -> String {
    join(control, &format!("mon_groups/p{pid}"))
}

/// A total after an interval.
const fn advanced(total: Count, bytes: Option<u64>, span: u64) -> Count {
    let enabled = total.enabled.saturating_add(span);
    match bytes {
        Some(bytes) => {
            Count { value: total.value.saturating_add(bytes), enabled, running: total.running.saturating_add(span) }
        }
        None => Count { enabled, ..total },
    }
}

/// Bytes between two readings, over all domains; `None` if a domain that matters has no value or
/// ran backwards. A domain that never had a value and that no thread runs on does not matter: some
/// machines count only where there is something to count.
fn counted(last: &Values, now: &Values, used: &BTreeSet<u32>) -> Option<u64> {
    let mut sum = None;
    for (domain, value) in now {
        match (last.get(domain).copied().flatten(), *value) {
            (Some(last), Some(now)) => sum = Some(now.checked_sub(last)?.saturating_add(sum.unwrap_or(0_u64))),
            (None, None) if !used.contains(domain) => {}
            _ => return None,
        }
    }
    sum
}

/// The values of a group; empty if it is gone.
fn values(root: &Root, group: &str) -> Values {
    let data = join(group, "mon_data");
    let domains = root.folders(&data).unwrap_or_default();
    let domains = domains.iter().filter_map(|name| Some((name, domain(name)?)));
    let read = |name: &str| value(&root.read(&format!("{data}/{name}/mbm_total_bytes")).ok()?);
    domains.map(|(name, domain)| (domain, read(name))).collect()
}

/// The domain of a folder of `mon_data`: `mon_L3_01` is domain 1; `None` for any other folder.
#[must_use]
pub fn domain(name: &str) -> Option<u32> {
    name.strip_prefix("mon_L3_")?.parse().ok()
}

/// The bytes that an event file of `mon_data` shows; `None` for `Unavailable`, `Unassigned` and
/// `Error`.
#[must_use]
pub fn value(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{folder, sample, write};

    #[test]
    fn words_are_not_measured_and_never_zero() {
        assert_eq!(value("16234000\n"), Some(16_234_000));
        for word in ["Unavailable\n", "Unassigned\n", "Error\n", "", "-1\n"] {
            assert_eq!(value(word), None);
        }
        assert_eq!((domain("mon_L3_00"), domain("mon_L3_12"), domain("mon_sub_L3_01")), (Some(0), Some(12), None));
    }

    #[test]
    fn domains_add_up_and_one_without_a_value_spoils_the_sum_if_it_matters() {
        let at = |zero, one| Values::from([(0, zero), (1, one)]);
        let used = BTreeSet::from([0]);
        assert_eq!(counted(&at(Some(10), Some(5)), &at(Some(110), Some(5)), &used), Some(100));
        assert_eq!(counted(&at(Some(10), None), &at(Some(110), None), &used), Some(100));
        assert_eq!(counted(&at(Some(10), None), &at(Some(110), None), &BTreeSet::from([0, 1])), None);
        assert_eq!(counted(&at(Some(10), None), &at(Some(110), Some(7)), &used), None, "it may have counted before");
        assert_eq!(counted(&at(Some(10), Some(5)), &at(Some(110), None), &used), None);
        assert_eq!(counted(&at(Some(10), Some(5)), &at(Some(9), Some(5)), &used), None, "it was reset");
        assert_eq!(counted(&Values::new(), &Values::new(), &used), None);
    }

    #[test]
    fn what_was_counted_before_a_change_is_not_lost_and_a_reset_is_not_measured_once() {
        let folder = folder(&[]);
        let root = Root::new(folder.path());
        let count = |control: &str, text: &str| {
            write(folder.path(), &[(&format!("{control}/mon_groups/p7/mon_data/mon_L3_00/mbm_total_bytes"), text)]);
        };
        let mut monitors = Monitors::default();
        let monitor =
            |bytes| Monitor { threads: [Tid(7)].into(), last: [(0, Some(bytes))].into(), ..Monitor::default() };
        monitors.groups.insert((Pid(7), "a".into()), monitor(100));
        let mut seconds = 0.0;
        let mut next = |monitors: &mut Monitors| {
            seconds += 1.0;
            monitors.read(&root, &sample("node:1 core:2", seconds, Vec::new()))
        };
        let mut last = Count::default();
        // The bytes since the last reading, as an observation computes them.
        let mut read = |monitors: &mut Monitors| {
            let now = next(monitors)[&Pid(7)].bytes;
            now.since(std::mem::replace(&mut last, now))
        };
        count("a", "150\n");
        assert_eq!(read(&mut monitors), Some(50));
        // The old group counts 30 more, then the new one 20.
        count("a", "180\n");
        monitors.bank(&root);
        monitors.retain_groups(&["b".to_owned()].into());
        monitors.groups.insert((Pid(7), "b".into()), monitor(0));
        count("b", "20\n");
        assert_eq!(read(&mut monitors), Some(50));
        count("b", "5\n");
        assert_eq!(read(&mut monitors), None);
        count("b", "12\n");
        assert_eq!(read(&mut monitors), Some(7));
        count("b", "Unassigned\n");
        assert_eq!([read(&mut monitors), read(&mut monitors)], [None, None]);
        assert!(next(&mut monitors).is_empty(), "silent for long: estimated from misses");
        count("b", "700\n");
        assert_eq!(next(&mut monitors)[&Pid(7)].bytes.value, 0, "it begins at 0 again");
    }
}
