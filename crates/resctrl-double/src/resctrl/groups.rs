//! Makes and removes groups: `rdtgroup_mkdir` and `rdtgroup_rmdir` of fs/resctrl/rdtgroup.c, and
//! the allocation of CLOSIDs (`closid_alloc`).

use std::collections::BTreeSet;

use rustix::io::Errno;

use super::{Group, GroupId, Node, Resctrl};
use crate::refusal::Refusal;

impl Resctrl {
    /// `rdtgroup_mkdir`: a control group in the root, otherwise an attempt at a monitor group.
    pub(super) fn make(&mut self, folder: Node, name: &str) -> Result<Node, Refusal> {
        self.alive(folder)?;
        if self.lookup(folder, name).is_some() {
            return Err(Refusal::silent(Errno::EXIST));
        }
        // "Do not accept '\n' to avoid unparsable situation."
        if name.contains('\n') {
            return Err(Refusal::silent(Errno::INVAL));
        }
        if folder == Node::ROOT { self.make_control(name) } else { self.make_monitor(folder, name) }
    }

    /// `rdtgroup_mkdir_ctrl_mon`.
    fn make_control(&mut self, name: &str) -> Result<Node, Refusal> {
        self.status.clear();
        let closid = self.free_closid().ok_or_else(|| Refusal::new(Errno::NOSPC, "Out of CLOSIDs"))?;
        let rmid = self.take_rmid()?;
        if let Err(refusal) = self.open_usable(closid) {
            self.rmids.give_back(rmid);
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
        let closid = self.group(id)?.closid;
        let rmid = self.take_rmid()?;
        Ok(self.add_group(name, Some(id), closid, rmid))
    }

    /// The lowest free CLOSID (`closid_alloc`).
    fn free_closid(&self) -> Option<u32> {
        let used: BTreeSet<u32> = self.groups.values().map(|group| group.closid).collect();
        (0..self.machine.usable_closids()).find(|closid| !used.contains(closid))
    }

    fn add_group(&mut self, name: &str, parent: Option<GroupId>, closid: u32, rmid: u32) -> Node {
        let id = GroupId(self.next_group);
        self.next_group += 1;
        self.groups.insert(id, Group { name: name.to_owned(), parent, closid, rmid, exclusive: false });
        Node::Group(id)
    }

    /// `rdtgroup_rmdir`; it does not touch the status. Tasks of a monitor group go back to its
    /// parent (`rdtgroup_rmdir_mon`); those of a control group go to the default group, and its
    /// monitor groups are removed with it (`rdtgroup_rmdir_ctrl`).
    pub(super) fn remove(&mut self, folder: Node, name: &str) -> Result<(), Refusal> {
        let node = self.lookup(folder, name).ok_or_else(|| Refusal::silent(Errno::NOENT))?;
        if !node.is_folder() {
            return Err(Refusal::silent(Errno::NOTDIR));
        }
        let Node::Group(id) = node else {
            return Err(Refusal::silent(Errno::PERM));
        };
        self.settle();
        let heir = self.group(id)?.parent.unwrap_or(GroupId::DEFAULT);
        let family = self.groups.iter().filter(|(other, group)| **other == id || group.parent == Some(id));
        for group in family.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.move_members(group, heir);
            self.leave_cpus(group);
            let removed = self.groups.remove(&group);
            removed.into_iter().for_each(|group| self.rmids.give_back(group.rmid));
        }
        Ok(())
    }

    /// Makes groups as another tool would, until no CLOSID is left.
    pub(super) fn take_closids(&mut self) {
        for number in 0..self.machine.usable_closids() {
            let name = format!("other-tool-{number}");
            if self.lookup(Node::ROOT, &name).is_none() && self.make(Node::ROOT, &name).is_err() {
                break;
            }
        }
    }

    pub(super) fn group(&self, id: GroupId) -> Result<&Group, Refusal> {
        self.groups.get(&id).ok_or_else(|| Refusal::silent(Errno::NOENT))
    }

    /// The control groups.
    pub(super) fn control_groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values().filter(|group| group.parent.is_none())
    }
}
