//! The tree: which files and folders exist, and their modes (`res_common_files`,
//! `rdtgroup_add_files`, `rdt_get_tree` and `mkdir_rdt_prepare` in fs/resctrl/rdtgroup.c). This
//! file says what exists, never what it contains.

use super::{Group, GroupId, Resctrl};
use crate::machine::Event;

/// A file or folder. Ids of groups are never reused, so a node of a removed group can still be
/// recognised as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A group's folder; the default group's is the root.
    Group(GroupId),
    /// A file of a group.
    File(GroupId, GroupFile),
    /// `mon_groups` of a control group.
    MonGroups(GroupId),
    /// `mon_data` of a group.
    MonData(GroupId),
    /// `mon_data/mon_L3_NN`.
    MonDomain(GroupId, u32),
    /// `mon_data/mon_L3_NN/mbm_total_bytes`, ...
    Count(GroupId, u32, Event),
    /// `info`.
    Info,
    /// `info/last_cmd_status`.
    LastCmdStatus,
    /// `info/L3`, `info/MB`, ...: the index in the list of these folders.
    InfoFolder(usize),
    /// A file in such a folder: the indices of the folder and of the file.
    InfoFile(usize, usize),
}

/// Files of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupFile {
    /// `tasks`.
    Tasks,
    /// `schemata`, of a control group.
    Schemata,
    /// `mode`, of a control group.
    Mode,
    /// `cpus`.
    Cpus,
    /// `cpus_list`.
    CpusList,
}

impl Node {
    /// The root: the default group's folder.
    pub const ROOT: Self = Self::Group(GroupId::DEFAULT);

    /// Whether it is a folder.
    #[must_use]
    pub const fn is_folder(self) -> bool {
        !matches!(self, Self::File(..) | Self::Count(..) | Self::LastCmdStatus | Self::InfoFile(..))
    }

    /// The permission bits.
    #[must_use]
    pub const fn mode(self) -> u16 {
        match self {
            Self::File(..) => 0o644,
            node if node.is_folder() => 0o755,
            _ => 0o444,
        }
    }

    /// The group whose folder or file it is (`kernfs_to_rdtgroup`): `None` for `info` and
    /// everything below it.
    #[must_use]
    pub const fn group(self) -> Option<GroupId> {
        match self {
            Self::Group(id)
            | Self::File(id, _)
            | Self::MonGroups(id)
            | Self::MonData(id)
            | Self::MonDomain(id, _)
            | Self::Count(id, ..) => Some(id),
            _ => None,
        }
    }
}

impl Resctrl {
    /// The entries of a folder; empty for a file or a group that is gone.
    #[must_use]
    pub fn children(&self, folder: Node) -> Vec<(String, Node)> {
        let named = |(name, node): (&str, Node)| (name.to_owned(), node);
        match folder {
            Node::Group(id) => self.groups.get(&id).map(|group| self.in_group(id, group)).unwrap_or_default(),
            Node::MonGroups(id) => self.groups_below(Some(id)).collect(),
            Node::MonData(id) => {
                let name = |domain: &u32| (format!("mon_L3_{domain:02}"), Node::MonDomain(id, *domain));
                self.machine.domains.iter().map(name).collect()
            }
            Node::MonDomain(id, domain) => {
                let events = self.machine.events.iter();
                events.map(|event| named((event.name(), Node::Count(id, domain, *event)))).collect()
            }
            Node::Info => {
                let folders = self.info.iter().enumerate().map(|(at, folder)| (folder.name, Node::InfoFolder(at)));
                [("last_cmd_status", Node::LastCmdStatus)].into_iter().chain(folders).map(named).collect()
            }
            Node::InfoFolder(at) => {
                let files = self.info[at].files.iter().enumerate();
                files.map(|(file, (name, _))| named((name, Node::InfoFile(at, file)))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn in_group(&self, id: GroupId, group: &Group) -> Vec<(String, Node)> {
        let mut found = vec![("tasks", Node::File(id, GroupFile::Tasks)), ("mon_data", Node::MonData(id))];
        if !self.seats.is_empty() {
            found.push(("cpus", Node::File(id, GroupFile::Cpus)));
            found.push(("cpus_list", Node::File(id, GroupFile::CpusList)));
        }
        if group.parent.is_none() {
            found.push(("schemata", Node::File(id, GroupFile::Schemata)));
            found.push(("mode", Node::File(id, GroupFile::Mode)));
            found.push(("mon_groups", Node::MonGroups(id)));
        }
        let is_root = id == GroupId::DEFAULT;
        found.extend(is_root.then_some(("info", Node::Info)));
        let found = found.into_iter().map(|(name, node)| (name.to_owned(), node));
        found.chain(is_root.then(|| self.groups_below(None)).into_iter().flatten()).collect()
    }

    /// The monitor groups of a control group; without a parent, the control groups in the root.
    fn groups_below(&self, parent: Option<GroupId>) -> impl Iterator<Item = (String, Node)> {
        let own = self.groups.iter().filter(move |(id, group)| **id != GroupId::DEFAULT && group.parent == parent);
        own.map(|(id, group)| (group.name.clone(), Node::Group(*id)))
    }

    /// An entry of a folder.
    #[must_use]
    pub fn lookup(&self, folder: Node, name: &str) -> Option<Node> {
        self.children(folder).into_iter().find(|(found, _)| found == name).map(|(_, node)| node)
    }

    /// The node at a path from the root, such as `web/schemata`; empty for the root.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<Node> {
        let steps = path.split('/').filter(|step| !step.is_empty());
        steps.into_iter().try_fold(Node::ROOT, |folder, name| self.lookup(folder, name))
    }

    /// Whether it still exists: nodes of a removed group do not.
    #[must_use]
    pub fn exists(&self, node: Node) -> bool {
        node.group().is_none_or(|id| self.groups.contains_key(&id))
    }

    /// The path of a node from the root, without a leading slash.
    #[must_use]
    pub fn path(&self, node: Node) -> String {
        let Some(folder) = self.folder_of(node) else { return String::new() };
        let name = self.children(folder).into_iter().find(|(_, child)| *child == node);
        self.path_below(folder, name.as_ref().map_or("(removed)", |(name, _)| name))
    }

    pub(super) fn path_below(&self, folder: Node, name: &str) -> String {
        let folder = self.path(folder);
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    }

    /// The folder that contains it; `None` for the root.
    fn folder_of(&self, node: Node) -> Option<Node> {
        match node {
            Node::ROOT => None,
            Node::Group(id) => Some(self.groups.get(&id)?.parent.map_or(Node::ROOT, Node::MonGroups)),
            Node::File(id, _) | Node::MonGroups(id) | Node::MonData(id) => Some(Node::Group(id)),
            Node::MonDomain(id, _) => Some(Node::MonData(id)),
            Node::Count(id, domain, _) => Some(Node::MonDomain(id, domain)),
            Node::Info => Some(Node::ROOT),
            Node::LastCmdStatus | Node::InfoFolder(_) => Some(Node::Info),
            Node::InfoFile(folder, _) => Some(Node::InfoFolder(folder)),
        }
    }
}
