//! The kernel's logic without its I/O: groups, CLOSIDs, RMIDs, masks and tasks, and the result or
//! refusal of every operation on a file. This file holds the state and the operations as the file
//! system sees them, with the planned faults and the journal around them. Each kind of file has its
//! own module here, which names the kernel functions whose behaviour it repeats (Linux 6.12,
//! fs/resctrl, which was arch/x86/kernel/cpu/resctrl then). It mounts nothing, reads no clock, and
//! knows tasks only through [`Threads`].

mod allocation;
mod cpus;
mod exclusive;
mod groups;
mod info;
mod monitor;
mod nodes;
mod schemata;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use rustix::io::Errno;

use crate::faults::{Entry, Fault, FaultEffect, Faults, Operation};
use crate::hardware::Hardware;
use crate::machine::Machine;
use crate::refusal::{Answer, Refusal};
use crate::threads::Threads;

use allocation::Schema;
use cpus::CpuGroups;
use info::Folder;
use monitor::Rmids;
pub use nodes::{GroupFile, Node};
use tasks::Member;

/// The id of a group of this mount. It is never reused after its group was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId(u32);

impl GroupId {
    /// The default group, whose folder is the root.
    pub const DEFAULT: Self = Self(0);
}

#[derive(Debug, Clone)]
struct Group {
    name: String,
    /// The control group of a monitor group; `None` for a control group.
    parent: Option<GroupId>,
    closid: u32,
    rmid: u32,
    /// `mode` of a control group: true for `exclusive`, false for `shareable`.
    exclusive: bool,
}

/// A mounted resctrl, without the mount.
pub struct Resctrl {
    machine: Machine,
    info: Vec<Folder>,
    schemas: Vec<Schema>,
    groups: BTreeMap<GroupId, Group>,
    next_group: u32,
    /// The value of each CLOSID, by schema, domain and CLOSID.
    controls: BTreeMap<(usize, u32, u32), u32>,
    rmids: Rmids,
    seats: BTreeMap<u32, CpuGroups>,
    members: BTreeMap<u32, Member>,
    /// Tasks that a fault has killed: id and start.
    gone: BTreeSet<(u32, u64)>,
    threads: Threads,
    status: String,
    faults: Faults,
    journal: Vec<Entry>,
    unmount_due: bool,
    hardware: Option<Box<dyn Hardware>>,
    /// With hardware: whether the tasks were looked at since the last [`Resctrl::follow`].
    looked: bool,
}

/// The longest write that is passed on whole (`atomic_write_len` is a page, fs/kernfs/file.c).
const LONGEST_WRITE: usize = 4096;

/// Size of `last_cmd_status_buf` in bytes.
const STATUS_BYTES: usize = 512;

impl Resctrl {
    /// A freshly mounted resctrl: the default group has all tasks and may use everything ("Resource
    /// alloc and monitor groups").
    #[must_use]
    pub fn new(machine: Machine, threads: Threads) -> Self {
        let root = Group { name: String::new(), parent: None, closid: 0, rmid: 0, exclusive: false };
        let mut new = Self {
            info: info::folders(&machine),
            schemas: allocation::schemas(&machine),
            rmids: Rmids::of(&machine),
            groups: BTreeMap::from([(GroupId::DEFAULT, root)]),
            next_group: 1,
            controls: BTreeMap::new(),
            seats: machine.cpus.iter().map(|cpu| (*cpu, CpuGroups::DEFAULT)).collect(),
            members: BTreeMap::new(),
            gone: BTreeSet::new(),
            threads,
            status: String::new(),
            faults: Faults::default(),
            journal: Vec::new(),
            unmount_due: false,
            hardware: None,
            looked: false,
            machine,
        };
        new.open_all(0);
        new.settle();
        new
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `ENODEV` for a file of a removed group that is still open (kernfs), `EISDIR` for a folder.
    pub fn read(&mut self, node: Node) -> Answer<String> {
        self.alive(node).map_err(|refusal| refusal.errno)?;
        match node {
            Node::File(id, GroupFile::Tasks) => Ok(self.show_tasks(id)),
            Node::File(id, GroupFile::Schemata) => Ok(self.show_schemata(id)),
            Node::File(id, GroupFile::Mode) => Ok(self.show_mode(id)),
            Node::File(id, GroupFile::Cpus) => Ok(self.show_cpus(id)),
            Node::File(id, GroupFile::CpusList) => Ok(self.show_cpus_list(id)),
            Node::Count(id, domain, event) => Ok(self.show_count(id, domain, event)),
            Node::LastCmdStatus => Ok(self.last_cmd_status()),
            Node::InfoFile(folder, file) => Ok(self.info[folder].files[file].1.clone()),
            _ => Err(Errno::ISDIR),
        }
    }

    /// One `write` of these bytes by a task; the offset does not matter to resctrl.
    ///
    /// # Errors
    /// What the file's own rules refuse; `E2BIG` beyond a page, `ENODEV` for a file of a removed
    /// group, `EINVAL` for a read-only file.
    pub fn write(&mut self, node: Node, bytes: &[u8], caller: u32) -> Answer<()> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.attempt(Operation::Write, self.path(node), &text, |this| {
            this.alive(node)?;
            if bytes.len() > LONGEST_WRITE {
                return Err(Refusal::silent(Errno::TOOBIG));
            }
            match node {
                Node::File(id, GroupFile::Tasks) => this.write_tasks(id, &text, caller),
                Node::File(id, GroupFile::Schemata) => this.write_schemata(id, &text),
                Node::File(id, GroupFile::Mode) => this.write_mode(id, &text),
                Node::File(id, GroupFile::Cpus) => this.write_cpus(id, &text, cpus::mask),
                Node::File(id, GroupFile::CpusList) => this.write_cpus(id, &text, cpus::list),
                _ => Err(Refusal::silent(Errno::INVAL)),
            }
        })
    }

    /// Makes a group: a control group in the root, a monitor group in a `mon_groups`.
    ///
    /// # Errors
    /// `ENOSPC` without a free CLOSID or RMID, `EPERM` elsewhere, `EEXIST`, `EINVAL` for a name
    /// with a line break, `ENODEV` below `info`.
    pub fn mkdir(&mut self, folder: Node, name: &str) -> Answer<Node> {
        self.attempt(Operation::Mkdir, self.path_below(folder, name), "", |this| this.make(folder, name))
    }

    /// Removes a group; its tasks go to the parent of a monitor group and to the default group
    /// otherwise.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, and `EPERM` for every folder that is no group.
    pub fn rmdir(&mut self, folder: Node, name: &str) -> Answer<()> {
        self.attempt(Operation::Rmdir, self.path_below(folder, name), "", |this| this.remove(folder, name))
    }

    /// The operations so far, refused or not; reads are left out.
    #[must_use]
    pub fn journal(&self) -> &[Entry] {
        &self.journal
    }

    /// Plans a fault.
    pub fn plan(&mut self, fault: Fault) {
        self.faults.plan(fault);
    }

    /// Whether a fault requires an unmount now. The call resets it.
    pub fn take_unmount(&mut self) -> bool {
        std::mem::take(&mut self.unmount_due)
    }

    /// Attaches hardware, which from now on carries out the allocation, and counts. The caller must
    /// call [`Self::follow`] regularly: in between, tasks are read once, and again only for a task
    /// that is not known. A machine with hardware has other work to do, and reading all tasks takes
    /// long.
    pub fn attach(&mut self, hardware: Box<dyn Hardware>) {
        self.hardware = Some(hardware);
        self.enforce();
    }

    /// Makes the hardware follow the present tasks, if any is in a group.
    pub fn follow(&mut self) {
        self.looked = false;
        if self.members.values().any(|member| member.group != GroupId::DEFAULT) {
            self.settle();
            self.enforce();
        }
    }

    fn enforce(&mut self) {
        if let Some(mut hardware) = self.hardware.take() {
            hardware.allocate(&self.allocation());
            self.hardware = Some(hardware);
        }
    }

    /// The text of `info/last_cmd_status` (`rdt_last_cmd_status_show`).
    fn last_cmd_status(&self) -> String {
        if self.status.is_empty() { "ok\n".to_owned() } else { self.status.clone() }
    }

    /// An open file of a removed group answers `ENODEV` (`kernfs_get_active`).
    fn alive(&self, node: Node) -> Result<(), Refusal> {
        if self.exists(node) { Ok(()) } else { Err(Refusal::silent(Errno::NODEV)) }
    }

    /// Runs an operation with the fault that is planned for it, puts its text where it can be read,
    /// and adds its line to the journal.
    fn attempt<T>(
        &mut self,
        operation: Operation,
        path: String,
        text: &str,
        body: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Answer<T> {
        let mishap = self.faults.due(operation, &path);
        let outcome = match mishap {
            Some(FaultEffect::Refuse(errno)) => {
                self.status.clear();
                Err(Refusal::silent(errno))
            }
            mishap => {
                self.befall(mishap, text);
                body(self)
            }
        };
        let outcome = outcome.map_err(|refusal| self.say(&refusal));
        // Also after a refusal: if several tasks were written, those before a refused one were
        // moved.
        self.enforce();
        self.unmount_due |= mishap == Some(FaultEffect::Unmount);
        let result = outcome.as_ref().map(|_| ()).map_err(|errno| *errno);
        let status = self.last_cmd_status().trim_end().to_owned();
        self.journal.push(Entry { operation, path, text: text.to_owned(), result, status });
        outcome
    }

    /// The effect of a fault before the operation.
    fn befall(&mut self, mishap: Option<FaultEffect>, text: &str) {
        match mishap {
            Some(FaultEffect::TakeClosids) => self.take_closids(),
            Some(FaultEffect::TasksDie) => self.let_die(text),
            _ => {}
        }
    }

    fn say(&mut self, refusal: &Refusal) -> Errno {
        self.status.push_str(&refusal.status);
        while self.status.len() > STATUS_BYTES {
            self.status.pop();
        }
        refusal.errno
    }
}
