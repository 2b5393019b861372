//! The resources that can be allocated, as the list of schemata: `schemata_list_create`, and the
//! masks that a group starts with: `rdtgroup_init_alloc`, `__init_one_rdt_domain` and
//! `cbm_ensure_valid` of fs/resctrl/rdtgroup.c.

use rustix::io::Errno;

use super::{GroupId, Resctrl};
use crate::hardware::Allocation;
use crate::machine::Machine;
use crate::refusal::Refusal;

/// A line of `schemata`.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub name: &'static str,
    /// The value that a CLOSID starts with (`resctrl_get_default_ctrl`).
    pub full: u32,
}

impl Schema {
    /// Whether its values are masks of ways, rather than per cent of the bandwidth.
    pub fn is_cache(&self) -> bool {
        self.name != "MB"
    }

    /// The other schema of the same cache under CDP: both masks share the hardware.
    pub fn peer(&self) -> Option<&'static str> {
        match self.name {
            "L3CODE" => Some("L3DATA"),
            "L3DATA" => Some("L3CODE"),
            _ => None,
        }
    }
}

/// The schemata in the order in which they are shown: each is put before the last
/// (`schemata_list_add`).
pub(super) fn schemas(machine: &Machine) -> Vec<Schema> {
    let caches: &[&str] = if machine.cdp { &["L3DATA", "L3CODE"] } else { &["L3"] };
    let caches = caches.iter().map(|name| Schema { name, full: machine.all_ways() });
    machine.bandwidth.then_some(Schema { name: "MB", full: 100 }).into_iter().chain(caches).collect()
}

impl Resctrl {
    pub(super) fn control(&self, schema: usize, domain: u32, closid: u32) -> u32 {
        self.controls.get(&(schema, domain, closid)).copied().unwrap_or(0)
    }

    /// Gives this CLOSID everything, as the hardware does at the start.
    pub(super) fn open_all(&mut self, closid: u32) {
        for (index, schema) in self.schemas.iter().enumerate() {
            let domains = self.machine.domains.iter();
            self.controls.extend(domains.map(|domain| ((index, *domain, closid), schema.full)));
        }
    }

    /// The values that a new group starts with: unlimited bandwidth, and in every cache the ways
    /// that are shareable or unused.
    pub(super) fn open_usable(&mut self, closid: u32) -> Result<(), Refusal> {
        let mut fresh = Vec::new();
        for (index, schema) in self.schemas.iter().enumerate() {
            for domain in &self.machine.domains {
                let cache = schema.is_cache();
                let value = if cache { self.usable_ways(index, *domain, closid)? } else { schema.full };
                fresh.push(((index, *domain, closid), value));
            }
        }
        self.controls.extend(fresh);
        Ok(())
    }

    /// The allocation in force now, for the hardware.
    pub(super) fn allocation(&self) -> Allocation {
        let Some(index) = self.schemas.iter().position(Schema::is_cache) else { return Allocation::default() };
        let domains = |rmid: u32, closid: u32| {
            self.machine.domains.iter().map(move |domain| ((rmid, *domain), self.ways_of(index, *domain, closid)))
        };
        let members = self.members.iter().filter(|(_, member)| member.group != GroupId::DEFAULT);
        let rmid = |(tid, member): (&u32, &super::Member)| {
            let rmid = self.groups.get(&member.group)?.rmid;
            Some((*tid, rmid))
        };
        Allocation {
            masks: self.groups.values().flat_map(|group| domains(group.rmid, group.closid)).collect(),
            tasks: members.filter_map(rmid).collect(),
            cpus: self.rmids_of_cpus().filter(|(_, rmid)| *rmid != 0).collect(),
        }
    }

    /// `__init_one_rdt_domain`: the first run of ways that no exclusive group has.
    fn usable_ways(&self, index: usize, domain: u32, closid: u32) -> Result<u32, Refusal> {
        let (mut shared, mut used) = (0, 0);
        for group in self.control_groups().filter(|group| group.closid != closid) {
            let ways = self.ways_of(index, domain, group.closid);
            used |= ways;
            shared |= if group.exclusive { 0 } else { ways };
        }
        match first_run(shared | (self.machine.all_ways() & !used)) {
            0 => Err(Refusal::new(Errno::NOSPC, format!("No space on {}:{domain}", self.schemas[index].name))),
            ways => Ok(ways),
        }
    }
}

/// Only the first run of ones (`cbm_ensure_valid`).
fn first_run(mask: u32) -> u32 {
    if mask == 0 {
        return 0;
    }
    let first = mask.trailing_zeros();
    let length = (mask >> first).trailing_ones();
    (u32::MAX >> (32 - length)) << first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_run_is_kept() {
        for (mask, run) in [(0, 0), (0b1, 0b1), (0b1100_0110, 0b0110), (u32::MAX, u32::MAX), (0x8000_0000, 0x8000_0000)]
        {
            assert_eq!(first_run(mask), run, "{mask:b}");
        }
    }
}
