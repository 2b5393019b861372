//! RMIDs and what they count: `alloc_rmid`, `free_rmid`, `__check_limbo` and `mon_event_count` of
//! fs/resctrl/monitor.c, `rdtgroup_mondata_show` of ctrlmondata.c, `max_threshold_occ_write` of
//! rdtgroup.c. Bytes stay with the RMID under which they were moved, as in hardware; the occupancy
//! follows the tasks at once, where hardware waits until the lines are evicted.

use std::collections::{BTreeMap, VecDeque};

use rustix::io::Errno;

use super::{Event, GroupId, Node, Resctrl};
use crate::faults::matches;
use crate::machine::Monitoring;
use crate::numbers::unsigned;
use crate::refusal::Refusal;
use crate::traffic::{Traffic, TrafficMap};

/// What a counter that gives no number reads (`rdtgroup_mondata_show`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The hardware has no count now.
    Unavailable,
    /// It reports an error.
    Error,
    /// No counter is assigned (`mbm_event` mode, 6.18).
    Unassigned,
}

/// RMIDs and their counts.
#[derive(Debug, Default)]
pub(super) struct Rmids {
    /// The next one to be allocated is at the front (`rmid_free_lru`).
    free: VecDeque<u32>,
    /// Freed but not clean, with the number of groups that must still be requested.
    limbo: Vec<(u32, u32)>,
    bytes: BTreeMap<(u32, u32), Traffic>,
    last: TrafficMap,
    planned: Vec<(String, Reading)>,
    threshold: u64,
}

impl Rmids {
    /// RMID 0 is the default group's.
    pub fn of(monitoring: Option<&Monitoring>) -> Self {
        let Some(monitoring) = monitoring else { return Self::default() };
        let largest = monitoring.domains.values().map(|domain| domain.bytes).max().unwrap_or(0);
        // "As a default: the size of the cache by the number of RMIDs" (rdt_get_mon_l3_config).
        Self {
            free: (1..monitoring.rmids).collect(),
            threshold: largest / u64::from(monitoring.rmids.max(1)),
            ..Self::default()
        }
    }

    /// A group is requested: those in limbo get a step cleaner.
    pub fn group_requested(&mut self) {
        self.limbo.iter_mut().for_each(|(_, requests)| *requests = requests.saturating_sub(1));
        let clean: Vec<u32> = self.limbo.iter().filter(|(_, requests)| *requests == 0).map(|(rmid, _)| *rmid).collect();
        self.limbo.retain(|(_, requests)| *requests > 0);
        self.free.extend(clean);
    }
}

impl Resctrl {
    /// Makes every event whose path matches this one (`*` stands for any characters) read so from
    /// now on.
    pub fn plan_reading(&mut self, path: &str, reading: Reading) {
        self.rmids.planned.push((path.to_owned(), reading));
    }

    pub(super) fn monitored_domains(&self) -> impl Iterator<Item = u32> + '_ {
        self.machine.monitoring.iter().flat_map(|monitoring| monitoring.domains.keys().copied())
    }

    pub(super) fn events(&self) -> Vec<Event> {
        let Some(monitoring) = &self.machine.monitoring else { return Vec::new() };
        let offered = [
            (Event::Occupancy, monitoring.occupancy),
            (Event::Total, monitoring.total),
            (Event::Local, monitoring.local),
        ];
        offered.into_iter().filter(|(_, offered)| *offered).map(|(event, _)| event).collect()
    }

    /// `mkdir_rdt_prepare_rmid_alloc`; a new group's bytes start at 0 (`mon_add_all_files` reads
    /// each once, `first`).
    pub(super) fn take_rmid(&mut self) -> Result<u32, Refusal> {
        if self.machine.monitoring.is_none() {
            return Ok(0);
        }
        let errno = if self.rmids.limbo.is_empty() { Errno::NOSPC } else { Errno::BUSY };
        let rmid = self.rmids.free.pop_front().ok_or_else(|| Refusal::new(errno, "Out of RMIDs"))?;
        self.rmids.bytes.retain(|(other, _), _| *other != rmid);
        Ok(rmid)
    }

    /// `free_rmid`: into limbo where occupancy is counted.
    pub(super) fn give_rmid_back(&mut self, rmid: u32) {
        let Some(monitoring) = self.machine.monitoring.as_ref().filter(|_| rmid != 0) else { return };
        if monitoring.occupancy && monitoring.limbo_requests > 0 {
            self.rmids.limbo.push((rmid, monitoring.limbo_requests));
        } else {
            self.rmids.free.push_back(rmid);
        }
    }

    /// Credits what every task moved since the last look to the RMID of the group that it was in.
    pub(super) fn credit_traffic(&mut self) {
        let mut now = self.given.clone();
        now.extend(self.traffic_file.as_ref().map(crate::traffic::TrafficFile::read).unwrap_or_default());
        for ((tid, domain), traffic) in &now {
            let last = self.rmids.last.get(&(*tid, *domain)).copied().unwrap_or_default();
            let Some(rmid) = self.members.get(tid).and_then(|member| Some(self.groups.get(&member.group)?.rmid)) else {
                continue;
            };
            let count = self.rmids.bytes.entry((rmid, *domain)).or_default();
            count.total += traffic.total.saturating_sub(last.total);
            count.local += traffic.local.saturating_sub(last.local);
        }
        self.rmids.last = now;
    }

    /// `rdtgroup_mondata_show`: a control group's own count and those of its monitor groups.
    pub(super) fn show_event(&mut self, id: GroupId, domain: u32, event: Event) -> String {
        self.settle();
        let path = self.path(Node::Event(id, domain, event));
        if let Some((_, reading)) = self.rmids.planned.iter().find(|(pattern, _)| matches(pattern, &path)) {
            return format!("{reading:?}\n");
        }
        let counted = self.groups.get(&id).is_some_and(|group| group.counted);
        if event != Event::Occupancy && !counted {
            return format!("{:?}\n", Reading::Unassigned);
        }
        let family = self.groups.iter().filter(|(other, group)| **other == id || group.parent == Some(id));
        let value: u64 = family.map(|(group, _)| self.count(*group, domain, event)).sum();
        let silent = self.machine.monitoring.as_ref().is_some_and(|monitoring| monitoring.silent_until_traffic);
        if silent && event != Event::Occupancy && value == 0 {
            return format!("{:?}\n", Reading::Unavailable);
        }
        format!("{value}\n")
    }

    fn count(&self, id: GroupId, domain: u32, event: Event) -> u64 {
        let rmid = self.groups.get(&id).map_or(0, |group| group.rmid);
        let bytes = self.rmids.bytes.get(&(rmid, domain)).copied().unwrap_or_default();
        match event {
            Event::Total => bytes.total,
            Event::Local => bytes.local,
            Event::Occupancy => {
                let inside = |tid: &u32| self.members.get(tid).is_some_and(|member| member.group == id);
                let here = self.rmids.last.iter().filter(|((tid, at), _)| *at == domain && inside(tid));
                here.map(|(_, traffic)| traffic.occupancy).sum()
            }
        }
    }

    /// Counters that no group has, in each domain (`available_mbm_cntrs`); None outside of
    /// `mbm_event` mode.
    pub(super) fn counters_left(&self) -> Option<u32> {
        let all = self.machine.monitoring.as_ref()?.counters?;
        let holders = self.groups.values().filter(|group| group.counted).count();
        Some(all.saturating_sub(u32::try_from(holders).unwrap_or(u32::MAX).saturating_mul(self.counters_a_group())))
    }

    /// Whether a new group finds counters for its events ("mbm_assign_on_mkdir").
    pub(super) fn counter_free(&self) -> bool {
        self.counters_left().is_none_or(|left| left >= self.counters_a_group())
    }

    fn counters_a_group(&self) -> u32 {
        u32::from(self.events().contains(&Event::Total)) + u32::from(self.events().contains(&Event::Local))
    }

    pub(super) fn threshold(&self) -> u64 {
        self.rmids.threshold
    }

    /// `max_threshold_occ_write`: at most the cache; it leaves the status alone.
    pub(super) fn write_threshold(&mut self, text: &str) -> Result<(), Refusal> {
        let bytes = unsigned(text, 0)
            .filter(|bytes| u32::try_from(*bytes).is_ok())
            .ok_or_else(|| Refusal::silent(Errno::INVAL))?;
        let domains = self.machine.monitoring.iter().flat_map(|monitoring| monitoring.domains.values());
        if bytes > domains.map(|domain| domain.bytes).max().unwrap_or(0) {
            return Err(Refusal::silent(Errno::INVAL));
        }
        self.rmids.threshold = bytes;
        Ok(())
    }
}
