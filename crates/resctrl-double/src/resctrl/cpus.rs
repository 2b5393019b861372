//! The `cpus` and `cpus_list` files: `rdtgroup_cpus_write`, `cpus_ctrl_write`, `cpus_mon_write` and
//! `rdtgroup_cpus_show` of fs/resctrl/rdtgroup.c.

use std::collections::BTreeSet;

use super::{GroupId, Resctrl};
use crate::numbers::{cpu_list, cpu_mask, show_cpu_list, show_cpu_mask};
use crate::refusal::{Refusal, invalid};

impl Resctrl {
    pub(super) fn show_cpus(&self, id: GroupId, list: bool) -> String {
        let Ok(group) = self.group(id) else { return String::new() };
        let shown =
            if list { show_cpu_list(&group.cpus) } else { show_cpu_mask(&group.cpus, self.machine.possible_cpus) };
        format!("{shown}\n")
    }

    /// `rdtgroup_cpus_write`.
    pub(super) fn write_cpus(&mut self, id: GroupId, text: &str, list: bool) -> Result<(), Refusal> {
        self.status.clear();
        self.refuse_if_locked(id)?;
        let possible = self.machine.possible_cpus;
        let parsed = if list { cpu_list(text, possible) } else { cpu_mask(text, possible) };
        let new = parsed.map_err(|errno| Refusal::new(errno, "Bad CPU list/mask"))?;
        if !new.is_subset(&self.machine.online) {
            return invalid("Can only assign online CPUs");
        }
        match self.group(id)?.parent {
            None => self.give_cpus(id, new),
            Some(parent) => self.give_monitor_cpus(id, parent, new),
        }
    }

    /// `cpus_ctrl_write`: what is dropped goes to the default group, what is added leaves its
    /// group, the monitor groups below lose theirs.
    fn give_cpus(&mut self, id: GroupId, new: BTreeSet<u32>) -> Result<(), Refusal> {
        let dropped: BTreeSet<u32> = self.group(id)?.cpus.difference(&new).copied().collect();
        if !dropped.is_empty() && id == GroupId::DEFAULT {
            return invalid("Can't drop CPUs from default group");
        }
        for (other, group) in &mut self.groups {
            let below = group.parent == Some(id);
            if *other != id {
                group.cpus.retain(|cpu| !(below || new.contains(cpu)));
            }
        }
        if let Some(root) = self.groups.get_mut(&GroupId::DEFAULT) {
            root.cpus.extend(dropped);
        }
        if let Some(group) = self.groups.get_mut(&id) {
            group.cpus = new;
        }
        Ok(())
    }

    /// `cpus_mon_write`: only CPUs of the parent, each in one monitor group at most. They stay in
    /// the parent's mask.
    fn give_monitor_cpus(&mut self, id: GroupId, parent: GroupId, new: BTreeSet<u32>) -> Result<(), Refusal> {
        if !new.is_subset(&self.group(parent)?.cpus) {
            return invalid("Can only add CPUs to mongroup that belong to parent");
        }
        let siblings = self.groups.iter_mut().filter(|(other, group)| **other != id && group.parent == Some(parent));
        siblings.for_each(|(_, group)| group.cpus.retain(|cpu| !new.contains(cpu)));
        if let Some(group) = self.groups.get_mut(&id) {
            group.cpus = new;
        }
        Ok(())
    }
}
