//! RMIDs and their counts: `alloc_rmid`, `free_rmid` and `mon_event_count` of fs/resctrl/monitor.c,
//! `rdtgroup_mondata_show` of ctrlmondata.c. Bytes stay with the RMID under which they were moved,
//! as in hardware.

use std::collections::{BTreeMap, VecDeque};

use rustix::io::Errno;

use super::{GroupId, Node, Resctrl};
use crate::faults::matches;
use crate::machine::{Event, Machine};
use crate::refusal::Refusal;

/// RMIDs and their counts.
#[derive(Debug)]
pub(super) struct Rmids {
    /// The next RMID to be allocated is at the front (`rmid_free_lru`).
    free: VecDeque<u32>,
    /// Bytes that tests moved, by RMID and domain.
    bytes: BTreeMap<(u32, u32), u64>,
    /// The hardware's counts when an RMID was taken.
    base: BTreeMap<(u32, u32, Event), u64>,
    planned: Vec<(String, String)>,
}

impl Rmids {
    /// All RMIDs but 0, which is the default group's.
    pub fn of(machine: &Machine) -> Self {
        Self { free: (1..machine.rmids).collect(), bytes: BTreeMap::new(), base: BTreeMap::new(), planned: Vec::new() }
    }

    /// `free_rmid`.
    pub fn give_back(&mut self, rmid: u32) {
        self.free.push_back(rmid);
    }
}

impl Resctrl {
    /// Makes every counter whose path matches this pattern (`*` stands for any characters) show
    /// this reading from now on, such as `Unavailable` (`rdtgroup_mondata_show`).
    pub fn plan_reading(&mut self, path: &str, reading: &str) {
        self.rmids.planned.push((path.to_owned(), reading.to_owned()));
    }

    /// Records that a task has moved these bytes in a domain: they count for the RMID of its group.
    pub fn move_bytes(&mut self, tid: u32, domain: u32, bytes: u64) {
        self.settle();
        let group = self.members.get(&tid).and_then(|member| self.groups.get(&member.group));
        if let Some(group) = group {
            *self.rmids.bytes.entry((group.rmid, domain)).or_default() += bytes;
        }
    }

    /// `mkdir_rdt_prepare_rmid_alloc`; a new group's bytes start at 0 (`mon_add_all_files` reads
    /// each counter once, `first`).
    pub(super) fn take_rmid(&mut self) -> Result<u32, Refusal> {
        let rmid = self.rmids.free.pop_front().ok_or_else(|| Refusal::new(Errno::NOSPC, "Out of RMIDs"))?;
        self.rmids.bytes.retain(|(other, _), _| *other != rmid);
        for domain in &self.machine.domains {
            for event in [Event::TotalBytes, Event::LocalBytes] {
                let now = self.hardware.as_ref().and_then(|hardware| hardware.count(event, rmid, *domain));
                self.rmids.base.insert((rmid, *domain, event), now.unwrap_or(0));
            }
        }
        Ok(rmid)
    }

    /// The count of an RMID, since it was taken if the count is a sum; `None` if it is not
    /// available.
    fn count(&self, event: Event, rmid: u32, domain: u32) -> Option<u64> {
        match &self.hardware {
            Some(hardware) => {
                let base = self.rmids.base.get(&(rmid, domain, event)).copied().unwrap_or(0);
                Some(hardware.count(event, rmid, domain)?.saturating_sub(base))
            }
            None if event == Event::TotalBytes => Some(self.rmids.bytes.get(&(rmid, domain)).copied().unwrap_or(0)),
            None => Some(0),
        }
    }

    /// `rdtgroup_mondata_show`: a control group's own count plus those of its monitor groups.
    pub(super) fn show_count(&self, id: GroupId, domain: u32, event: Event) -> String {
        let path = self.path(Node::Count(id, domain, event));
        if let Some((_, reading)) = self.rmids.planned.iter().find(|(pattern, _)| matches(pattern, &path)) {
            return format!("{reading}\n");
        }
        let family = self.groups.iter().filter(|(other, group)| **other == id || group.parent == Some(id));
        let sum: Option<u64> = family.map(|(_, group)| self.count(event, group.rmid, domain)).sum();
        sum.map_or_else(|| "Unavailable\n".to_owned(), |sum| format!("{sum}\n"))
    }
}
