//! Decides which groups may overlap: the `mode` file and the checks of masks against other groups
//! (`rdtgroup_mode_write`, `rdtgroup_mode_test_exclusive` and `rdtgroup_cbm_overlaps` of
//! fs/resctrl/rdtgroup.c).

use rustix::io::Errno;

use super::allocation::Schema;
use super::{GroupId, Resctrl};
use crate::refusal::{Refusal, invalid};

impl Resctrl {
    pub(super) fn show_mode(&self, id: GroupId) -> String {
        let exclusive = self.groups.get(&id).is_some_and(|group| group.exclusive);
        format!("{}\n", if exclusive { "exclusive" } else { "shareable" })
    }

    /// `rdtgroup_mode_write`.
    pub(super) fn write_mode(&mut self, id: GroupId, text: &str) -> Result<(), Refusal> {
        let wanted = text.strip_suffix('\n').ok_or_else(|| Refusal::silent(Errno::INVAL))?;
        self.status.clear();
        if self.show_mode(id).trim_end() == wanted {
            return Ok(());
        }
        let exclusive = match wanted {
            "shareable" => false,
            "exclusive" => true,
            _ => return invalid("Unknown or unsupported mode"),
        };
        if exclusive {
            self.check_exclusive(id)?;
        }
        if let Some(group) = self.groups.get_mut(&id) {
            group.exclusive = exclusive;
        }
        Ok(())
    }

    /// `rdtgroup_mode_test_exclusive`.
    fn check_exclusive(&self, id: GroupId) -> Result<(), Refusal> {
        let closid = self.group(id)?.closid;
        for index in (0..self.schemas.len()).filter(|index| self.schemas[*index].is_cache()) {
            for domain in &self.machine.domains {
                if self.overlaps(index, *domain, self.control(index, *domain, closid), closid, false) {
                    return invalid("Schemata overlaps");
                }
            }
        }
        Ok(())
    }

    /// The checks of `parse_cbm` against other groups.
    pub(super) fn check_overlaps(
        &self,
        index: usize,
        domain: u32,
        mask: u32,
        closid: u32,
        exclusive: bool,
    ) -> Result<(), Refusal> {
        if self.overlaps(index, domain, mask, closid, true) {
            return invalid("Overlaps with exclusive group");
        }
        if exclusive && self.overlaps(index, domain, mask, closid, false) {
            return invalid("Overlaps with other group");
        }
        Ok(())
    }

    /// `rdtgroup_cbm_overlaps`: whether a mask overlaps the ways of exclusive groups only, or of
    /// any other group.
    fn overlaps(&self, index: usize, domain: u32, mask: u32, closid: u32, exclusive_only: bool) -> bool {
        let others = self.control_groups().filter(|group| group.closid != closid);
        let mut others = others.filter(|group| group.exclusive || !exclusive_only);
        others.any(|other| mask & self.ways_of(index, domain, other.closid) != 0)
    }

    /// The ways of a CLOSID; under CDP also those of the other half (`resctrl_peer_type`).
    pub(super) fn ways_of(&self, index: usize, domain: u32, closid: u32) -> u32 {
        let peer = self.schemas.get(index).and_then(Schema::peer);
        let peer = peer.and_then(|peer| self.schemas.iter().position(|schema| schema.name == peer));
        self.control(index, domain, closid) | peer.map_or(0, |peer| self.control(peer, domain, closid))
    }
}
