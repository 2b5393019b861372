//! What can be allocated, as the list of schemata: `schemata_list_create`, and the masks that a
//! group starts with: `rdtgroup_init_alloc`, `__init_one_rdt_domain` and `cbm_ensure_valid` of
//! fs/resctrl/rdtgroup.c.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::{Mode, Resctrl};
use crate::machine::{Bandwidth, Cache, Cdp, Domain, Machine};
use crate::refusal::Refusal;

/// A line of `schemata`.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub name: String,
    /// How wide the line wants the names to be.
    pub width: usize,
    pub resource: Resource,
    /// The schema of the same cache that CDP split off: their masks share the hardware
    /// (`resctrl_peer_type`).
    pub peer: Option<usize>,
    pub closids: u32,
}

#[derive(Debug, Clone)]
pub(super) enum Resource {
    Cache(Cache),
    Bandwidth(Bandwidth),
}

impl Resource {
    pub fn domains(&self) -> &BTreeMap<u32, Domain> {
        match self {
            Self::Cache(cache) => &cache.domains,
            Self::Bandwidth(bandwidth) => &bandwidth.domains,
        }
    }

    /// What a CLOSID starts with, and what `cbm_mask` shows (`resctrl_get_default_ctrl`).
    pub fn full(&self) -> u32 {
        match self {
            Self::Cache(cache) => cache.full(),
            Self::Bandwidth(bandwidth) => bandwidth.max,
        }
    }
}

/// The schemata in the order in which they are shown: each is put before the last
/// (`schemata_list_add`).
pub(super) fn schemas(machine: &Machine) -> Vec<Schema> {
    let mut caches: Vec<&Cache> = machine.caches.iter().collect();
    caches.sort_by_key(|cache| std::cmp::Reverse(cache.level));
    let mut list: Vec<Schema> = caches.into_iter().flat_map(of_cache).collect();
    list.extend(machine.bandwidth.as_ref().map(of_bandwidth));
    list.reverse();
    let names: Vec<String> = list.iter().map(|schema| schema.name.clone()).collect();
    for schema in &mut list {
        let peer = match (schema.name.strip_suffix("CODE"), schema.name.strip_suffix("DATA")) {
            (Some(cache), _) => format!("{cache}DATA"),
            (_, Some(cache)) => format!("{cache}CODE"),
            _ => continue,
        };
        schema.peer = names.iter().position(|name| *name == peer);
    }
    list
}

fn of_cache(cache: &Cache) -> Vec<Schema> {
    let suffixes: &[&str] = if cache.cdp == Cdp::On { &["CODE", "DATA"] } else { &[""] };
    let schema = |suffix: &&str| {
        let name = format!("L{}{suffix}", cache.level);
        let width = name.len() + if cache.cdp == Cdp::Off { 4 } else { 0 };
        Schema { name, width, resource: Resource::Cache(cache.clone()), peer: None, closids: cache.usable_closids() }
    };
    suffixes.iter().map(schema).collect()
}

fn of_bandwidth(bandwidth: &Bandwidth) -> Schema {
    let resource = Resource::Bandwidth(bandwidth.clone());
    Schema { name: "MB".to_owned(), width: 2, resource, peer: None, closids: bandwidth.closids }
}

impl Resctrl {
    pub(super) fn control(&self, schema: usize, domain: u32, closid: u32) -> u32 {
        self.controls.get(&(schema, domain, closid)).copied().unwrap_or(0)
    }

    /// Everything for this CLOSID, as the hardware has it at the start.
    pub(super) fn open_all(&mut self, closid: u32) {
        let all = self.schemas.iter().enumerate().flat_map(|(index, schema)| {
            schema.resource.domains().keys().map(move |domain| ((index, *domain, closid), schema.resource.full()))
        });
        self.controls.extend(all.collect::<Vec<_>>());
    }

    /// What a new group starts with: bandwidth without limit, and of every cache what is shareable
    /// or unused.
    pub(super) fn open_usable(&mut self, closid: u32) -> Result<(), Refusal> {
        let mut fresh = Vec::new();
        for (index, schema) in self.schemas.iter().enumerate() {
            for domain in schema.resource.domains().keys() {
                let value = match &schema.resource {
                    Resource::Bandwidth(bandwidth) => bandwidth.max,
                    Resource::Cache(cache) => self.usable_ways(index, schema, cache, *domain, closid)?,
                };
                fresh.push(((index, *domain, closid), value));
            }
        }
        self.controls.extend(fresh);
        Ok(())
    }

    /// `__init_one_rdt_domain`: the first run of ways that no exclusive and no pseudo-locked group
    /// has.
    fn usable_ways(
        &self,
        index: usize,
        schema: &Schema,
        cache: &Cache,
        domain: u32,
        closid: u32,
    ) -> Result<u32, Refusal> {
        let mut shared = cache.shareable;
        let mut used = cache.shareable | self.locked_ways(cache.level, domain);
        for (group, other) in
            self.groups.values().filter(|group| group.parent.is_none()).filter_map(|group| Some((group, group.closid?)))
        {
            if other == closid {
                continue;
            }
            let peer = schema.peer.map_or(0, |peer| self.control(peer, domain, other));
            let ways = self.control(index, domain, other) | peer;
            used |= ways;
            shared |= if group.mode == Mode::Shareable { ways } else { 0 };
        }
        let ways = first_run(shared | (cache.full() & !used));
        if ways.count_ones() < cache.min_bits {
            return Err(Refusal::new(Errno::NOSPC, format!("No space on {}:{domain}", schema.name)));
        }
        Ok(ways)
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

    #[test]
    fn schemata_come_in_the_kernels_order() {
        let mut machine = Machine::with_domains(&[(0, &[0])]).with_bandwidth();
        let names = |machine: &Machine| schemas(machine).into_iter().map(|schema| schema.name).collect::<Vec<_>>();
        assert_eq!(names(&machine), ["MB", "L3"]);
        machine.caches[0].cdp = Cdp::On;
        let mut second = machine.caches[0].clone();
        (second.level, second.cdp) = (2, Cdp::Absent);
        machine.caches.push(second);
        assert_eq!(names(&machine), ["MB", "L2", "L3DATA", "L3CODE"]);
        assert_eq!(schemas(&machine)[2].peer, Some(3));
        assert_eq!(machine.closids(), 8);
    }
}
