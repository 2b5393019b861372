//! The tree: which files and folders there are, with which modes (`res_common_files`,
//! `rdtgroup_add_files`, `rdt_get_tree` and `mkdir_rdt_prepare` in fs/resctrl/rdtgroup.c). Says
//! what exists, never what it holds.

use super::{Group, GroupId, Resctrl};

/// A file or folder. Ids of groups are never used again, so a node of a removed group stays
/// recognisable as such.
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
    /// `mon_data/mon_L3_NN/llc_occupancy` and its like.
    Event(GroupId, u32, Event),
    /// `info`.
    Info,
    /// `info/last_cmd_status`.
    LastCmdStatus,
    /// `info/L3`, `info/MB`, ...: the place in the list of schemata.
    Resource(usize),
    /// A file in there.
    ResourceFile(usize, ResourceFile),
    /// `info/L3_MON`.
    Monitoring,
    /// A file in there.
    MonitoringFile(MonitoringFile),
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// `llc_occupancy`.
    Occupancy,
    /// `mbm_total_bytes`.
    Total,
    /// `mbm_local_bytes`.
    Local,
}

impl Event {
    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Occupancy => "llc_occupancy",
            Self::Total => "mbm_total_bytes",
            Self::Local => "mbm_local_bytes",
        }
    }
}

/// Declares an enum of file names with their permission bits.
macro_rules! files {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $file:literal, $mode:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $(#[doc = concat!("`", $file, "`.")] $variant,)* }

        impl $name {
            /// All of them, in the kernel's order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The file's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $file,)* }
            }

            /// The permission bits (`res_common_files`).
            #[must_use]
            pub fn mode(self) -> u16 {
                match self { $(Self::$variant => $mode,)* }
            }
        }
    };
}

files! {
    /// Files of a group.
    GroupFile {
        Cpus = "cpus", 0o644;
        CpusList = "cpus_list", 0o644;
        Tasks = "tasks", 0o644;
        Schemata = "schemata", 0o644;
        Mode = "mode", 0o644;
        Size = "size", 0o444;
    }
}

files! {
    /// Files of `info/L3`, `info/L2` and `info/MB`.
    ResourceFile {
        NumClosids = "num_closids", 0o444;
        CbmMask = "cbm_mask", 0o444;
        MinCbmBits = "min_cbm_bits", 0o444;
        ShareableBits = "shareable_bits", 0o444;
        BitUsage = "bit_usage", 0o444;
        SparseMasks = "sparse_masks", 0o444;
        MinBandwidth = "min_bandwidth", 0o444;
        BandwidthGran = "bandwidth_gran", 0o444;
        DelayLinear = "delay_linear", 0o444;
        ThreadThrottleMode = "thread_throttle_mode", 0o444;
    }
}

files! {
    /// Files of `info/L3_MON`.
    MonitoringFile {
        NumRmids = "num_rmids", 0o444;
        MonFeatures = "mon_features", 0o444;
        MaxThresholdOccupancy = "max_threshold_occupancy", 0o644;
        MbmAssignMode = "mbm_assign_mode", 0o444;
        NumMbmCntrs = "num_mbm_cntrs", 0o444;
        AvailableMbmCntrs = "available_mbm_cntrs", 0o444;
    }
}

impl Node {
    /// The root: the default group's folder.
    pub const ROOT: Self = Self::Group(GroupId::DEFAULT);

    /// Whether it is a folder.
    #[must_use]
    pub fn is_folder(self) -> bool {
        match self {
            Self::Group(_) | Self::MonGroups(_) | Self::MonData(_) | Self::MonDomain(..) => true,
            Self::Info | Self::Resource(_) | Self::Monitoring => true,
            Self::File(..)
            | Self::Event(..)
            | Self::LastCmdStatus
            | Self::ResourceFile(..)
            | Self::MonitoringFile(_) => false,
        }
    }

    /// The permission bits.
    #[must_use]
    pub fn mode(self) -> u16 {
        match self {
            Self::File(_, file) => file.mode(),
            Self::ResourceFile(_, file) => file.mode(),
            Self::MonitoringFile(file) => file.mode(),
            Self::Event(..) | Self::LastCmdStatus => 0o444,
            _ => 0o755,
        }
    }

    /// The group whose folder or file it is (`kernfs_to_rdtgroup`): none for `info` and what is
    /// below.
    #[must_use]
    pub fn group(self) -> Option<GroupId> {
        match self {
            Self::Group(id)
            | Self::File(id, _)
            | Self::MonGroups(id)
            | Self::MonData(id)
            | Self::MonDomain(id, _)
            | Self::Event(id, ..) => Some(id),
            _ => None,
        }
    }
}

impl Resctrl {
    /// What a folder holds; nothing for a file or a group that is gone.
    #[must_use]
    pub fn children(&self, folder: Node) -> Vec<(String, Node)> {
        match folder {
            Node::Group(id) => self.groups.get(&id).map(|group| self.in_group(id, group)).unwrap_or_default(),
            Node::MonGroups(id) => {
                let own = self.groups.iter().filter(|(_, group)| group.parent == Some(id));
                own.map(|(id, group)| (group.name.clone(), Node::Group(*id))).collect()
            }
            Node::MonData(id) => {
                let name = |domain: u32| (format!("mon_L3_{domain:02}"), Node::MonDomain(id, domain));
                self.monitored_domains().map(name).collect()
            }
            Node::MonDomain(id, domain) => {
                let name = |event: Event| (event.name().to_owned(), Node::Event(id, domain, event));
                self.events().into_iter().map(name).collect()
            }
            Node::Info => self.in_info(),
            Node::Resource(schema) => self.in_resource(schema),
            Node::Monitoring => self.in_monitoring(),
            _ => Vec::new(),
        }
    }

    /// A control group has `schemata`, `mode` and `size`; the root has them even without allocation
    /// (`rdt_get_tree`).
    fn in_group(&self, id: GroupId, group: &Group) -> Vec<(String, Node)> {
        let shown = |file: &GroupFile| match file {
            GroupFile::Cpus | GroupFile::CpusList | GroupFile::Tasks => true,
            GroupFile::Schemata => group.parent.is_none(),
            GroupFile::Mode | GroupFile::Size => group.parent.is_none() && self.machine.kernel.modes,
        };
        let files =
            GroupFile::ALL.iter().copied().filter(shown).map(|file| (file.name().to_owned(), Node::File(id, file)));
        let mut found: Vec<_> = files.collect();
        if id == GroupId::DEFAULT {
            found.push(("info".to_owned(), Node::Info));
        }
        if self.machine.monitoring.is_some() {
            found.push(("mon_data".to_owned(), Node::MonData(id)));
            found.extend(group.parent.is_none().then(|| ("mon_groups".to_owned(), Node::MonGroups(id))));
        }
        if id == GroupId::DEFAULT {
            let others = self.groups.iter().filter(|(other, group)| **other != id && group.parent.is_none());
            found.extend(others.map(|(id, group)| (group.name.clone(), Node::Group(*id))));
        }
        found
    }

    fn in_info(&self) -> Vec<(String, Node)> {
        let status = self.machine.kernel.last_cmd_status.then(|| ("last_cmd_status".to_owned(), Node::LastCmdStatus));
        let resources =
            self.schemas.iter().enumerate().map(|(index, schema)| (schema.name.clone(), Node::Resource(index)));
        let monitoring = self.machine.monitoring.as_ref().map(|_| ("L3_MON".to_owned(), Node::Monitoring));
        status.into_iter().chain(resources).chain(monitoring).collect()
    }

    fn in_resource(&self, schema: usize) -> Vec<(String, Node)> {
        let shown = |file: &ResourceFile| self.resource_file(schema, *file).is_some();
        let name = |file: ResourceFile| (file.name().to_owned(), Node::ResourceFile(schema, file));
        ResourceFile::ALL.iter().copied().filter(shown).map(name).collect()
    }

    fn in_monitoring(&self) -> Vec<(String, Node)> {
        let shown = |file: &MonitoringFile| self.monitoring_file(*file).is_some();
        let name = |file: MonitoringFile| (file.name().to_owned(), Node::MonitoringFile(file));
        MonitoringFile::ALL.iter().copied().filter(shown).map(name).collect()
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

    /// Whether it still exists: what belongs to a removed group does not.
    #[must_use]
    pub fn exists(&self, node: Node) -> bool {
        node.group().is_none_or(|id| self.groups.contains_key(&id))
    }

    /// The path of a node from the root, without a leading slash; of a removed group only what is
    /// known without it.
    #[must_use]
    pub fn path(&self, node: Node) -> String {
        let below = |folder: Node, name: &str| {
            let folder = self.path(folder);
            if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
        };
        match node {
            Node::Group(GroupId::DEFAULT) => String::new(),
            Node::Group(id) => match self.groups.get(&id) {
                Some(group) => below(group.parent.map_or(Node::ROOT, Node::MonGroups), &group.name),
                None => "(removed)".to_owned(),
            },
            Node::File(id, file) => below(Node::Group(id), file.name()),
            Node::MonGroups(id) => below(Node::Group(id), "mon_groups"),
            Node::MonData(id) => below(Node::Group(id), "mon_data"),
            Node::MonDomain(id, domain) => below(Node::MonData(id), &format!("mon_L3_{domain:02}")),
            Node::Event(id, domain, event) => below(Node::MonDomain(id, domain), event.name()),
            Node::Info => "info".to_owned(),
            Node::LastCmdStatus => "info/last_cmd_status".to_owned(),
            Node::Resource(schema) => below(Node::Info, self.schemas.get(schema).map_or("", |schema| &schema.name)),
            Node::ResourceFile(schema, file) => below(Node::Resource(schema), file.name()),
            Node::Monitoring => "info/L3_MON".to_owned(),
            Node::MonitoringFile(file) => below(Node::Monitoring, file.name()),
        }
    }
}
