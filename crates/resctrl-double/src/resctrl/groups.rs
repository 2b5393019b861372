//! Making, removing and moving groups: `rdtgroup_mkdir`, `rdtgroup_rmdir` and `rdtgroup_rename` of
//! fs/resctrl/rdtgroup.c, with what VFS and kernfs check before them.

use std::collections::BTreeSet;

use rustix::io::Errno;

use super::{Group, GroupId, LONGEST_NAME, Mode, Node, Resctrl};
use crate::refusal::Refusal;

impl Resctrl {
    /// `rdtgroup_mkdir`: a control group in the root where anything can be allocated, else an
    /// attempt at a monitor group.
    pub(super) fn make(&mut self, folder: Node, name: &str) -> Result<Node, Refusal> {
        self.alive(folder)?;
        if name.len() > LONGEST_NAME {
            return Err(Refusal::silent(Errno::NAMETOOLONG));
        }
        if self.lookup(folder, name).is_some() {
            return Err(Refusal::silent(Errno::EXIST));
        }
        // "Do not accept '\n' to avoid unparsable situation."
        if name.contains('\n') {
            return Err(Refusal::silent(Errno::INVAL));
        }
        if self.machine.allocates() && folder == Node::ROOT {
            return self.make_control(name);
        }
        if self.machine.monitoring.is_some() {
            return self.make_monitor(folder, name);
        }
        Err(Refusal::silent(Errno::PERM))
    }

    /// `rdtgroup_mkdir_ctrl_mon`.
    fn make_control(&mut self, name: &str) -> Result<Node, Refusal> {
        self.status.clear();
        self.rmids.group_requested();
        let closid = self.free_closid().ok_or_else(|| Refusal::new(Errno::NOSPC, "Out of CLOSIDs"))?;
        let rmid = self.take_rmid()?;
        if let Err(refusal) = self.open_usable(closid) {
            self.give_rmid_back(rmid);
            return Err(refusal);
        }
        Ok(self.add_group(name, None, closid, rmid))
    }

    /// `rdtgroup_mkdir_mon`: only within a `mon_groups`, and not under that name (`is_mon_groups`).
    fn make_monitor(&mut self, folder: Node, name: &str) -> Result<Node, Refusal> {
        let id = folder.group().ok_or_else(|| Refusal::silent(Errno::NODEV))?;
        self.status.clear();
        if !matches!(folder, Node::MonGroups(_)) || name == "mon_groups" {
            return Err(Refusal::silent(Errno::PERM));
        }
        let parent = self.group(id)?;
        let Some(closid) = parent.closid.filter(|_| parent.mode != Mode::PseudoLocked) else {
            return Err(Refusal::new(Errno::INVAL, "Pseudo-locking in progress"));
        };
        self.rmids.group_requested();
        let rmid = self.take_rmid()?;
        Ok(self.add_group(name, Some(id), closid, rmid))
    }

    /// The lowest free one (`closid_alloc`).
    fn free_closid(&self) -> Option<u32> {
        let used: BTreeSet<u32> = self.groups.values().filter_map(|group| group.closid).collect();
        (0..self.machine.closids()).find(|closid| !used.contains(closid))
    }

    fn add_group(&mut self, name: &str, parent: Option<GroupId>, closid: u32, rmid: u32) -> Node {
        let id = GroupId(self.next_group);
        self.next_group += 1;
        let counted = self.counter_free();
        let group = Group {
            name: name.to_owned(),
            parent,
            closid: Some(closid),
            rmid,
            mode: Mode::Shareable,
            cpus: BTreeSet::new(),
            counted,
        };
        self.groups.insert(id, group);
        Node::Group(id)
    }

    /// `rdtgroup_rmdir`; it does not touch the status.
    pub(super) fn remove(&mut self, folder: Node, name: &str) -> Result<(), Refusal> {
        let node = self.lookup(folder, name).ok_or_else(|| Refusal::silent(Errno::NOENT))?;
        if !node.is_folder() {
            return Err(Refusal::silent(Errno::NOTDIR));
        }
        let Node::Group(id) = node else {
            return Err(Refusal::silent(Errno::PERM));
        };
        self.settle();
        match self.group(id)?.parent {
            Some(parent) => self.remove_monitor(id, parent),
            None => self.remove_control(id),
        }
        Ok(())
    }

    /// `rdtgroup_rmdir_mon`: tasks go back to the parent. Its CPUs are the parent's anyway.
    fn remove_monitor(&mut self, id: GroupId, parent: GroupId) {
        self.move_members(id, parent);
        if let Some(group) = self.groups.remove(&id) {
            self.give_rmid_back(group.rmid);
        }
    }

    /// `rdtgroup_rmdir_ctrl`: tasks and CPUs go to the default group, the monitor groups below are
    /// removed with it. A pseudo-locked group has neither and only frees its region
    /// (`rdtgroup_ctrl_remove`).
    fn remove_control(&mut self, id: GroupId) {
        let children: Vec<GroupId> =
            self.groups.iter().filter(|(_, group)| group.parent == Some(id)).map(|(id, _)| *id).collect();
        for group in children.into_iter().chain([id]) {
            self.move_members(group, GroupId::DEFAULT);
            let Some(group) = self.groups.remove(&group) else { continue };
            if group.mode != Mode::PseudoLocked {
                self.give_rmid_back(group.rmid);
            }
            if let Some(root) = self.groups.get_mut(&GroupId::DEFAULT).filter(|_| group.mode != Mode::PseudoLocked) {
                root.cpus.extend(group.cpus);
            }
        }
        self.locked.retain(|locked| locked.group != id);
    }

    /// `rdtgroup_rename`; before 6.5 there was none and kernfs refused.
    pub(super) fn rename_group(&mut self, folder: Node, name: &str, to: Node, new_name: &str) -> Result<(), Refusal> {
        let node = self.lookup(folder, name).ok_or_else(|| Refusal::silent(Errno::NOENT))?;
        if !self.machine.kernel.rename {
            return Err(Refusal::silent(Errno::PERM));
        }
        let (Some(_), Some(target)) = (node.group(), to.group()) else {
            return Err(Refusal::silent(Errno::NOENT));
        };
        self.status.clear();
        if !node.is_folder() {
            // The kernel's text has no line break here.
            return Err(Refusal {
                errno: Errno::PERM,
                status: "Source and destination must be directories".to_owned(),
            });
        }
        let Node::Group(id) = node else { return Err(not_a_monitor_group()) };
        let parent = self.group(id)?.parent.ok_or_else(not_a_monitor_group)?;
        if !matches!(to, Node::MonGroups(_)) || new_name == "mon_groups" {
            return Err(Refusal::new(Errno::PERM, "Destination must be a mon_groups subdirectory"));
        }
        if parent != target && !self.group(id)?.cpus.is_empty() {
            return Err(Refusal::new(Errno::PERM, "Cannot move a MON group that monitors CPUs"));
        }
        if self.lookup(to, new_name).is_some() {
            return Err(Refusal::silent(Errno::EXIST));
        }
        // The tasks of the group go with it (mongrp_reparent); the RMID and its counts stay.
        self.settle();
        let closid = self.group(target)?.closid;
        if let Some(group) = self.groups.get_mut(&id) {
            (group.name, group.parent, group.closid) = (new_name.to_owned(), Some(target), closid);
        }
        Ok(())
    }

    /// Another tool makes groups until no CLOSID is left.
    pub(super) fn take_closids(&mut self) {
        for number in 0..self.machine.closids() {
            let name = format!("other-tool-{number}");
            if self.lookup(Node::ROOT, &name).is_none() && self.make(Node::ROOT, &name).is_err() {
                break;
            }
        }
    }

    pub(super) fn group(&self, id: GroupId) -> Result<&Group, Refusal> {
        self.groups.get(&id).ok_or_else(|| Refusal::silent(Errno::NOENT))
    }
}

fn not_a_monitor_group() -> Refusal {
    Refusal::new(Errno::PERM, "Source must be a MON group")
}
