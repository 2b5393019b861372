//! The kernel's logic without its I/O: groups, CLOSIDs, RMIDs, masks and tasks, and what every
//! operation on a file gives or refuses. This file holds the state and the operations as the file
//! system sees them, with the planned faults and the journal around them; each kind of file has its
//! own file here, which names the kernel functions whose behaviour it repeats (Linux 6.16,
//! fs/resctrl, unless it says otherwise). It mounts nothing, reads no clock, and knows tasks only
//! through [`Threads`].

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

use crate::faults::{Entry, Fault, Faults, Mishap, Operation};
use crate::machine::Machine;
use crate::refusal::{Answer, Refusal};
use crate::threads::Threads;
use crate::traffic::{Traffic, TrafficFile, TrafficMap};

use allocation::Schema;
use exclusive::Locked;
pub use monitor::Reading;
use monitor::Rmids;
pub use nodes::{Event, GroupFile, MonitoringFile, Node, ResourceFile};
use tasks::Member;

/// A group of this mount; never used again after its group was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId(u32);

impl GroupId {
    /// The default group, whose folder is the root.
    pub const DEFAULT: Self = Self(0);
}

/// `mode` of a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shareable,
    Exclusive,
    /// Made by another tool before the test began (see [`Resctrl::pseudo_lock`]).
    PseudoLocked,
}

#[derive(Debug, Clone)]
struct Group {
    name: String,
    /// The control group of a monitor group; none for a control group.
    parent: Option<GroupId>,
    /// None for a pseudo-locked group, which has given its CLOSID back.
    closid: Option<u32>,
    rmid: u32,
    mode: Mode,
    cpus: BTreeSet<u32>,
    /// Whether its bandwidth events have hardware counters (always, but in `mbm_event` mode).
    counted: bool,
}

/// The caller of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The calling task: the meaning of a written 0.
    pub tid: u32,
    /// Its effective user.
    pub uid: u32,
}

/// A mounted resctrl, without the mount.
pub struct Resctrl {
    machine: Machine,
    schemas: Vec<Schema>,
    groups: BTreeMap<GroupId, Group>,
    next_group: u32,
    /// What each CLOSID may use: by schema, domain and CLOSID.
    controls: BTreeMap<(usize, u32, u32), u32>,
    locked: Vec<Locked>,
    rmids: Rmids,
    members: BTreeMap<u32, Member>,
    /// Tasks that a fault has killed: id and start.
    gone: BTreeSet<(u32, u64)>,
    threads: Box<dyn Threads>,
    given: TrafficMap,
    traffic_file: Option<TrafficFile>,
    status: String,
    faults: Faults,
    journal: Vec<Entry>,
    unmount_due: bool,
}

/// The longest write that is handed over whole (`atomic_write_len` is a page, fs/kernfs/file.c).
const LONGEST_WRITE: usize = 4096;

/// The longest name (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// Bytes of `last_cmd_status_buf`.
const STATUS_BYTES: usize = 512;

impl Resctrl {
    /// A freshly mounted one: the default group owns all tasks and CPUs and may use everything
    /// ("Resource alloc and monitor groups").
    #[must_use]
    pub fn new(machine: Machine, threads: Box<dyn Threads>) -> Self {
        let root = Group {
            name: String::new(),
            parent: None,
            closid: Some(0),
            rmid: 0,
            mode: Mode::Shareable,
            cpus: machine.online.clone(),
            counted: true,
        };
        let mut new = Self {
            schemas: allocation::schemas(&machine),
            rmids: Rmids::of(machine.monitoring.as_ref()),
            groups: BTreeMap::from([(GroupId::DEFAULT, root)]),
            next_group: 1,
            controls: BTreeMap::new(),
            locked: Vec::new(),
            members: BTreeMap::new(),
            gone: BTreeSet::new(),
            threads,
            given: TrafficMap::new(),
            traffic_file: None,
            status: String::new(),
            faults: Faults::default(),
            journal: Vec::new(),
            unmount_due: false,
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
        self.attempt(Operation::Read, node, "", |this| {
            this.alive(node)?;
            match node {
                Node::File(id, GroupFile::Tasks) => Ok(this.show_tasks(id)),
                Node::File(id, GroupFile::Cpus) => Ok(this.show_cpus(id, false)),
                Node::File(id, GroupFile::CpusList) => Ok(this.show_cpus(id, true)),
                Node::File(id, GroupFile::Schemata) => Ok(this.show_schemata(id)),
                Node::File(id, GroupFile::Size) => Ok(this.show_sizes(id)),
                Node::File(id, GroupFile::Mode) => Ok(this.show_mode(id)),
                Node::Event(id, domain, event) => Ok(this.show_event(id, domain, event)),
                Node::LastCmdStatus => Ok(this.last_cmd_status()),
                Node::ResourceFile(schema, file) => Ok(this.resource_file(schema, file).unwrap_or_default()),
                Node::MonitoringFile(file) => Ok(this.monitoring_file(file).unwrap_or_default()),
                _ => Err(Refusal::silent(Errno::ISDIR)),
            }
        })
    }

    /// One `write` of these bytes; the offset does not matter to resctrl.
    ///
    /// # Errors
    /// What the file's own rules refuse; `E2BIG` past a page, `ENODEV` for a file of a removed
    /// group, `EINVAL` for one that is only read.
    pub fn write(&mut self, node: Node, bytes: &[u8], caller: Caller) -> Answer<()> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.attempt(Operation::Write, node, &text, |this| {
            this.alive(node)?;
            if bytes.len() > LONGEST_WRITE {
                return Err(Refusal::silent(Errno::TOOBIG));
            }
            match node {
                Node::File(id, GroupFile::Tasks) => this.write_tasks(id, &text, caller),
                Node::File(id, GroupFile::Cpus) => this.write_cpus(id, &text, false),
                Node::File(id, GroupFile::CpusList) => this.write_cpus(id, &text, true),
                Node::File(id, GroupFile::Schemata) => this.write_schemata(id, &text),
                Node::File(id, GroupFile::Mode) => this.write_mode(id, &text),
                Node::MonitoringFile(MonitoringFile::MaxThresholdOccupancy) => this.write_threshold(&text),
                _ => Err(Refusal::silent(Errno::INVAL)),
            }
        })
    }

    /// Makes a group: a control group in the root, a monitor group in a `mon_groups`.
    ///
    /// # Errors
    /// `ENOSPC` without a free CLOSID or RMID, `EBUSY` while freed RMIDs are not clean, `EPERM`
    /// elsewhere, `EEXIST`, `EINVAL` for a name with a line break, `ENODEV` below `info`.
    pub fn mkdir(&mut self, folder: Node, name: &str) -> Answer<Node> {
        self.attempt_at(Operation::Mkdir, self.path_below(folder, name), "", |this| this.make(folder, name))
    }

    /// Removes a group; its tasks and CPUs go to the parent of a monitor group and to the default
    /// group otherwise.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, and `EPERM` for every folder that is no group.
    pub fn rmdir(&mut self, folder: Node, name: &str) -> Answer<()> {
        self.attempt_at(Operation::Rmdir, self.path_below(folder, name), "", |this| this.remove(folder, name))
    }

    /// Renames a monitor group or gives it to another control group (6.5).
    ///
    /// # Errors
    /// `ENOENT`, `EEXIST`, and `EPERM` for everything else that can be renamed.
    pub fn rename(&mut self, folder: Node, name: &str, to: Node, new_name: &str) -> Answer<()> {
        let target = self.path_below(to, new_name);
        self.attempt_at(Operation::Rename, self.path_below(folder, name), &target, |this| {
            this.rename_group(folder, name, to, new_name)
        })
    }

    /// What was done so far, refused or not; reads are left out.
    #[must_use]
    pub fn journal(&self) -> &[Entry] {
        &self.journal
    }

    /// Plans a fault.
    pub fn plan(&mut self, fault: Fault) {
        self.faults.plan(fault);
    }

    /// Sets what a task did in a domain since it was born.
    pub fn set_traffic(&mut self, tid: u32, domain: u32, traffic: Traffic) {
        self.settle();
        self.given.insert((tid, domain), traffic);
        self.settle();
    }

    /// Takes traffic from this file too, read again whenever counters are read or tasks are moved.
    pub fn read_traffic_from(&mut self, file: TrafficFile) {
        self.traffic_file = Some(file);
    }

    /// Whether a fault wants the mount gone now; asking resets it.
    pub fn take_unmount(&mut self) -> bool {
        std::mem::take(&mut self.unmount_due)
    }

    /// The machine that is pretended.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Text of `info/last_cmd_status` (`rdt_last_cmd_status_show`).
    fn last_cmd_status(&self) -> String {
        if self.status.is_empty() { "ok\n".to_owned() } else { self.status.clone() }
    }

    fn path_below(&self, folder: Node, name: &str) -> String {
        let folder = self.path(folder);
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    }

    /// An open file of a removed group answers `ENODEV` (`kernfs_get_active`).
    fn alive(&self, node: Node) -> Result<(), Refusal> {
        if self.exists(node) { Ok(()) } else { Err(Refusal::silent(Errno::NODEV)) }
    }

    fn attempt<T>(
        &mut self,
        operation: Operation,
        node: Node,
        text: &str,
        body: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Answer<T> {
        self.attempt_at(operation, self.path(node), text, body)
    }

    /// An operation with what is planned for it, its words put where they can be read, and its line
    /// in the journal.
    fn attempt_at<T>(
        &mut self,
        operation: Operation,
        path: String,
        text: &str,
        body: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Answer<T> {
        let mishap = self.faults.due(operation, &path);
        let outcome = match mishap {
            Some(Mishap::Refuse(errno)) => {
                self.status.clear();
                Err(Refusal::silent(errno))
            }
            mishap => {
                self.befall(mishap, text);
                body(self)
            }
        };
        let outcome = outcome.map_err(|refusal| self.say(&refusal));
        self.unmount_due |= mishap == Some(Mishap::Unmount);
        if operation != Operation::Read {
            let result = outcome.as_ref().map(|_| ()).map_err(|errno| *errno);
            let status = self.last_cmd_status().trim_end().to_owned();
            self.journal.push(Entry { operation, path, text: text.to_owned(), result, status });
        }
        outcome
    }

    /// What a fault does before the operation.
    fn befall(&mut self, mishap: Option<Mishap>, text: &str) {
        match mishap {
            Some(Mishap::TakeClosids) => self.take_closids(),
            Some(Mishap::TasksDie) => self.let_die(text),
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
