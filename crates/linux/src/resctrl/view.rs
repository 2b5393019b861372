//! The present state of resctrl: limits, the default group's masks, our groups, and which tasks are
//! in groups of others. It is read again before every change, because other tools and owners change
//! it too.

use super::error::ResctrlError;
use super::record::Place;
use super::root::{Root, join};
use crate::kernel::resctrl_info::Info;
use crate::kernel::schemata::{BANDWIDTH, Schemata};
use crate::kernel::tree::Tree;
use isobar_model::Tid;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that a change depends on.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// What the machine offers.
    pub info: Info,
    /// The default group's masks.
    pub default: Schemata,
    /// Our groups.
    pub ours: BTreeMap<String, OwnGroup>,
    /// Control groups of others that hold a class of service.
    pub others: Vec<String>,
    /// Tasks in groups of others, including monitor groups.
    pub foreign: BTreeMap<Tid, Place>,
}

/// A group of isobar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnGroup {
    /// its masks
    pub schemata: Schemata,
    /// its tasks
    pub tasks: BTreeSet<Tid>,
}

impl View {
    /// Reads the state. `ours` are the names of our groups, whether they exist or not; `level` is
    /// that of the LLCs.
    ///
    /// # Errors
    /// If resctrl is not mounted or cannot be read. A group that vanishes meanwhile is left out.
    pub fn read(root: &Root, level: u32, ours: &BTreeSet<String>) -> Result<Self, ResctrlError> {
        root.check()?;
        let mut view = Self {
            info: Info::read(&Tree::folder(root.path()), "", level)?,
            default: root.schemata("")?,
            ..Self::default()
        };
        for group in root.groups()? {
            if ours.contains(&group) {
                let read =
                    root.schemata(&group).and_then(|schemata| Ok(OwnGroup { schemata, tasks: root.tasks(&group)? }));
                view.ours.extend(present(read)?.map(|read| (group, read)));
            } else {
                view.look_into(root, &group, &root.monitors(&group)?)?;
                if !is_pseudo_locked(root, &group) {
                    view.others.push(group);
                }
            }
        }
        view.look_into(root, "", &root.monitors("")?)?;
        Ok(view)
    }

    /// Adds the tasks of another tool's control group (not those of the default group) and of its
    /// monitor groups.
    fn look_into(&mut self, root: &Root, control: &str, monitors: &[String]) -> Result<(), ResctrlError> {
        if !control.is_empty() {
            self.add(root, control, &Place { control: control.to_owned(), monitor: None })?;
        }
        for monitor in monitors {
            let path = join(control, &format!("mon_groups/{monitor}"));
            self.add(root, &path, &Place { control: control.to_owned(), monitor: Some(monitor.clone()) })?;
        }
        Ok(())
    }

    fn add(&mut self, root: &Root, path: &str, place: &Place) -> Result<(), ResctrlError> {
        let tasks = present(root.tasks(path))?.unwrap_or_default();
        self.foreign.extend(tasks.into_iter().map(|tid| (tid, place.clone())));
        Ok(())
    }

    /// Number of classes of service, including the default group's.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.info.cache.as_ref().map_or(0, |cache| isobar_model::num::index(cache.num_closids))
    }

    /// How many groups isobar may have: one class is the default group's, and each group of others
    /// has one.
    #[must_use]
    pub fn groups_to_be_had(&self) -> usize {
        self.classes().saturating_sub(1 + self.others.len())
    }

    /// Whether shares of the memory bandwidth are in per cent here. They are not on AMD (eighths of
    /// a GB/s) and with `mba_MBps`.
    #[must_use]
    pub fn bandwidth_in_percent(&self, domain: u32) -> bool {
        self.info.bandwidth.is_some() && self.default.get(BANDWIDTH, domain).is_some_and(|share| share <= 100)
    }

    /// The cache domains, according to the default group's masks.
    #[must_use]
    pub fn domains(&self) -> Vec<u32> {
        self.info.resources.iter().take(1).flat_map(|resource| self.default.domains(resource)).collect()
    }
}

/// Whether a group is pseudo-locked: such a region has given its class of service back ("Cache
/// Pseudo-Locking"). Kernels before 4.19 have no modes.
fn is_pseudo_locked(root: &Root, group: &str) -> bool {
    root.read(&join(group, "mode")).is_ok_and(|mode| mode.starts_with("pseudo-locked"))
}

/// `None` for something that vanished while it was read, which is not an error.
fn present<T>(read: Result<T, ResctrlError>) -> Result<Option<T>, ResctrlError> {
    match read {
        Err(error) if error.is_absence() => Ok(None),
        other => other.map(Some),
    }
}
