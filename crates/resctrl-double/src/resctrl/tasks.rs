//! Which task is in which group: the `tasks` file (`rdtgroup_tasks_write`, `rdtgroup_move_task`,
//! `__rdtgroup_move_task`, `show_rdt_tasks` of fs/resctrl/rdtgroup.c). The kernel handles every
//! fork and copies CLOSID and RMID to the child (`dup_task_struct`). The double sees tasks only
//! when it looks, so a task that it does not know yet joins the group of its nearest known
//! relative: its thread-group leader, its parent, or the parent's parent. That is wrong in three
//! cases, which tests must avoid: the forking thread was in another group than its leader; the
//! parent was moved between the fork and the next operation on the mount; the parent had died by
//! then (init adopted the child).

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::{GroupId, Resctrl};
use crate::numbers::signed;
use crate::refusal::{Refusal, invalid};
use crate::threads::Task;

/// The group of a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub group: GroupId,
    pub started: u64,
    pub leader: u32,
}

impl Resctrl {
    /// Reads which tasks exist: dead ones are removed, new ones join their relatives.
    pub(super) fn settle(&mut self) {
        if self.looked {
            return;
        }
        self.looked = self.hardware.is_some();
        let mut now = (self.threads)();
        now.retain(|tid, task| !self.gone.contains(&(*tid, task.started)));
        self.members.retain(|tid, member| now.get(tid).is_some_and(|task| task.started == member.started));
        let mut new: Vec<(u64, u32)> = now
            .iter()
            .filter(|(tid, _)| !self.members.contains_key(tid))
            .map(|(tid, task)| (task.started, *tid))
            .collect();
        new.sort_unstable();
        for (started, tid) in new {
            let Some(task) = now.get(&tid) else { continue };
            let member = Member { group: self.group_of_relative(tid, *task, &now), started, leader: task.leader };
            self.members.insert(tid, member);
        }
    }

    /// The group of the nearest relative that is known.
    fn group_of_relative(&self, tid: u32, task: Task, now: &BTreeMap<u32, Task>) -> GroupId {
        let mut relative = if task.leader == tid { task.parent } else { task.leader };
        // A chain of parents is shorter than the list of tasks.
        for _ in 0..now.len() {
            if let Some(member) = self.members.get(&relative) {
                return member.group;
            }
            match now.get(&relative) {
                Some(task) if task.parent != relative => relative = task.parent,
                _ => break,
            }
        }
        GroupId::DEFAULT
    }

    /// `rdtgroup_tasks_write`: ids separated by commas, handled one after the other. Tasks before a
    /// refused one stay moved.
    pub(super) fn write_tasks(&mut self, id: GroupId, text: &str, caller: u32) -> Result<(), Refusal> {
        self.status.clear();
        self.settle();
        let mut rest = Some(text.split('\0').next().unwrap_or_default());
        while let Some(ids) = rest.filter(|ids| !ids.is_empty() && !ids.starts_with('\n')) {
            let (one, next) = ids.split_once(',').map_or((ids, None), |(one, next)| (one, Some(next)));
            let one = one.trim();
            let Some(pid) = signed(one, 0) else {
                return invalid(format!("Task list parsing error pid {one}"));
            };
            let Ok(tid) = u32::try_from(pid) else {
                return invalid(format!("Invalid pid {pid}"));
            };
            self.move_task(id, tid, caller).map_err(|refusal| Refusal {
                errno: refusal.errno,
                status: format!("{}Error while processing task {tid}\n", refusal.status),
            })?;
            rest = next;
        }
        Ok(())
    }

    /// `rdtgroup_move_task` and `__rdtgroup_move_task`; an id of 0 is the caller.
    fn move_task(&mut self, id: GroupId, tid: u32, caller: u32) -> Result<(), Refusal> {
        let tid = if tid == 0 { caller } else { tid };
        if !self.members.contains_key(&tid) && std::mem::take(&mut self.looked) {
            self.settle();
        }
        let member = self.members.get(&tid).copied();
        let member = member.ok_or_else(|| Refusal::new(Errno::SRCH, format!("No task {tid}")))?;
        let parent = self.group(id)?.parent;
        if parent.is_some_and(|parent| self.control_group(member.group) != parent) {
            return invalid("Can't move task to different control group");
        }
        self.members.insert(tid, Member { group: id, ..member });
        Ok(())
    }

    /// The control group of a group: itself, or a monitor group's parent.
    pub(super) fn control_group(&self, id: GroupId) -> GroupId {
        self.groups.get(&id).and_then(|group| group.parent).unwrap_or(id)
    }

    /// `show_rdt_tasks`: a control group shows the tasks of its monitor groups too.
    pub(super) fn show_tasks(&mut self, id: GroupId) -> String {
        self.settle();
        let shown = |member: &Member| member.group == id || self.control_group(member.group) == id;
        let mut tasks: Vec<(u32, u32)> = self
            .members
            .iter()
            .filter(|(_, member)| shown(member))
            .map(|(tid, member)| (member.leader, *tid))
            .collect();
        // Process by process, each with its leader first (for_each_process_thread).
        tasks.sort_unstable_by_key(|(leader, tid)| (*leader, leader != tid, *tid));
        tasks.iter().map(|(_, tid)| format!("{tid}\n")).collect()
    }

    /// Moves all tasks of one group to another (`rdt_move_group_tasks`).
    pub(super) fn move_members(&mut self, from: GroupId, to: GroupId) {
        self.members.values_mut().filter(|member| member.group == from).for_each(|member| member.group = to);
    }

    /// Marks the tasks named in a write as dead from now on.
    pub(super) fn let_die(&mut self, text: &str) {
        self.settle();
        let named = text.split(',').filter_map(|one| signed(one.trim(), 0)).filter_map(|pid| u32::try_from(pid).ok());
        for tid in named {
            if let Some(member) = self.members.remove(&tid) {
                self.gone.insert((tid, member.started));
            }
        }
    }
}
