//! Which groups may overlap: the `mode` and `bit_usage` files and the checks of masks against other
//! groups (`rdtgroup_mode_write`, `rdtgroup_mode_test_exclusive`, `rdtgroup_cbm_overlaps`,
//! `rdt_bit_usage_show` of fs/resctrl/rdtgroup.c; `rdtgroup_locksetup_enter` of pseudo_lock.c).
//! Pseudo-locked regions of another tool can exist; making one is refused, as on nearly every
//! processor.

use rustix::io::Errno;

use super::allocation::{Resource, Schema};
use super::{Group, GroupId, Mode, Resctrl};
use crate::machine::{Cache, Cdp};
use crate::refusal::{Refusal, invalid};

/// A pseudo-locked region.
#[derive(Debug, Clone)]
pub(super) struct Locked {
    pub group: GroupId,
    pub level: u32,
    pub domain: u32,
    pub ways: u32,
}

impl Resctrl {
    /// A group of another tool that holds these ways of an L3 domain pseudo-locked ("Cache
    /// Pseudo-Locking").
    pub fn pseudo_lock(&mut self, name: &str, domain: u32, ways: u32) {
        let id = GroupId(self.next_group);
        self.next_group += 1;
        let cache = self.machine.caches.iter().find(|cache| cache.level == 3);
        let cpus =
            cache.and_then(|cache| cache.domains.get(&domain)).map(|domain| domain.cpus.clone()).unwrap_or_default();
        let group = Group {
            name: name.to_owned(),
            parent: None,
            closid: None,
            rmid: 0,
            mode: Mode::PseudoLocked,
            cpus,
            counted: false,
        };
        self.groups.insert(id, group);
        self.locked.push(Locked { group: id, level: 3, domain, ways });
    }

    pub(super) fn locked_ways(&self, level: u32, domain: u32) -> u32 {
        let here = self.locked.iter().filter(|locked| locked.level == level && locked.domain == domain);
        here.fold(0, |ways, locked| ways | locked.ways)
    }

    pub(super) fn show_mode(&self, id: GroupId) -> String {
        let mode = self.groups.get(&id).map_or(Mode::Shareable, |group| group.mode);
        let name = match mode {
            Mode::Shareable => "shareable",
            Mode::Exclusive => "exclusive",
            Mode::PseudoLocked => "pseudo-locked",
        };
        format!("{name}\n")
    }

    /// `rdtgroup_mode_write`.
    pub(super) fn write_mode(&mut self, id: GroupId, text: &str) -> Result<(), Refusal> {
        let wanted = text.strip_suffix('\n').ok_or_else(|| Refusal::silent(Errno::INVAL))?;
        let mode = self.group(id)?.mode;
        self.status.clear();
        if self.show_mode(id).trim_end() == wanted {
            return Ok(());
        }
        if mode == Mode::PseudoLocked {
            return invalid("Cannot change pseudo-locked group");
        }
        let new = match wanted {
            "shareable" => Mode::Shareable,
            "exclusive" => {
                self.check_exclusive(id)?;
                Mode::Exclusive
            }
            "pseudo-locksetup" => return self.refuse_locksetup(id),
            _ => return invalid("Unknown or unsupported mode"),
        };
        if let Some(group) = self.groups.get_mut(&id) {
            group.mode = new;
        }
        Ok(())
    }

    /// `rdtgroup_locksetup_enter` on a processor that is not known to keep its prefetchers quiet.
    fn refuse_locksetup(&self, id: GroupId) -> Result<(), Refusal> {
        if id == GroupId::DEFAULT {
            return invalid("Cannot pseudo-lock default group");
        }
        if self.machine.caches.iter().any(|cache| cache.cdp == Cdp::On) {
            return invalid("CDP enabled");
        }
        invalid("Pseudo-locking not supported")
    }

    /// `rdtgroup_mode_test_exclusive`.
    fn check_exclusive(&self, id: GroupId) -> Result<(), Refusal> {
        let closid = self.group(id)?.closid.unwrap_or(0);
        let caches =
            self.schemas.iter().enumerate().filter(|(_, schema)| matches!(schema.resource, Resource::Cache(_)));
        let mut any = false;
        for (index, schema) in caches {
            any = true;
            for domain in schema.resource.domains().keys() {
                if self.overlaps(index, schema, *domain, self.control(index, *domain, closid), closid, false) {
                    return invalid("Schemata overlaps");
                }
            }
        }
        if any { Ok(()) } else { invalid("Cannot be exclusive without CAT/CDP") }
    }

    /// The checks of `parse_cbm` against others.
    pub(super) fn check_overlaps(
        &self,
        index: usize,
        schema: &Schema,
        domain: u32,
        mask: u32,
        closid: u32,
        mode: Mode,
    ) -> Result<(), Refusal> {
        let Resource::Cache(cache) = &schema.resource else { return Ok(()) };
        if mask & self.locked_ways(cache.level, domain) != 0 {
            return invalid("CBM overlaps with pseudo-locked region");
        }
        if self.overlaps(index, schema, domain, mask, closid, true) {
            return invalid("Overlaps with exclusive group");
        }
        if mode == Mode::Exclusive && self.overlaps(index, schema, domain, mask, closid, false) {
            return invalid("Overlaps with other group");
        }
        Ok(())
    }

    /// `rdtgroup_cbm_overlaps`: with the ways of exclusive groups only, or with those of every
    /// group and of other agents; under CDP also with the other half's.
    fn overlaps(
        &self,
        index: usize,
        schema: &Schema,
        domain: u32,
        mask: u32,
        closid: u32,
        exclusive_only: bool,
    ) -> bool {
        let Resource::Cache(cache) = &schema.resource else { return false };
        if !exclusive_only && mask & cache.shareable != 0 {
            return true;
        }
        let controls = self.groups.values().filter(|group| group.parent.is_none());
        let others = controls.filter_map(|group| Some((group.mode, group.closid.filter(|other| *other != closid)?)));
        let mut others = others.filter(|(mode, _)| !exclusive_only || *mode == Mode::Exclusive);
        others.any(|(_, other)| {
            let peer = schema.peer.map_or(0, |peer| self.control(peer, domain, other));
            mask & (self.control(index, domain, other) | peer) != 0
        })
    }

    /// `rdt_bit_usage_show`: a letter a way, the highest first.
    pub(super) fn show_bit_usage(&self, schema: usize, cache: &Cache) -> String {
        let domain = |domain: &u32| {
            let used = |mode: Mode| {
                let groups = self.groups.values().filter(|group| group.parent.is_none() && group.mode == mode);
                groups
                    .filter_map(|group| group.closid)
                    .fold(0, |ways, closid| ways | self.control(schema, *domain, closid))
            };
            let (shared, exclusive) = (used(Mode::Shareable), used(Mode::Exclusive));
            let locked = self.locked_ways(cache.level, *domain);
            let letter = |way: u32| match 1u32 << way {
                bit if cache.shareable & shared & bit != 0 => 'X',
                bit if cache.shareable & bit != 0 => 'H',
                bit if shared & bit != 0 => 'S',
                bit if exclusive & bit != 0 => 'E',
                bit if locked & bit != 0 => 'P',
                _ => '0',
            };
            format!("{domain}={}", (0..cache.ways).rev().map(letter).collect::<String>())
        };
        let domains: Vec<String> = cache.domains.keys().map(domain).collect();
        format!("{}\n", domains.join(";"))
    }
}
