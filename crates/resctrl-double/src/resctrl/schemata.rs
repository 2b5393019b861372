//! The `schemata` and `size` files: `rdtgroup_schemata_write`, `parse_line`, `parse_cbm`,
//! `cbm_validate`, `parse_bw`, `bw_validate` and `rdtgroup_schemata_show` of
//! fs/resctrl/ctrlmondata.c, `rdtgroup_size_show` of rdtgroup.c. All lines are read before anything
//! changes, so a refused write changes nothing.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::allocation::{Resource, Schema};
use super::{GroupId, Mode, Resctrl};
use crate::machine::{Bandwidth, Cache};
use crate::numbers::unsigned;
use crate::refusal::{Refusal, invalid};

/// New values by schema and domain.
type Staged = BTreeMap<(usize, u32), u32>;

impl Resctrl {
    /// `rdtgroup_schemata_write`.
    pub(super) fn write_schemata(&mut self, id: GroupId, text: &str) -> Result<(), Refusal> {
        // "Valid input requires a trailing newline": refused before the status is touched.
        let lines = text.strip_suffix('\n').ok_or_else(|| Refusal::silent(Errno::INVAL))?;
        let group = self.group(id)?;
        let (closid, mode) = (group.closid, group.mode);
        self.status.clear();
        let Some(closid) = closid.filter(|_| mode != Mode::PseudoLocked) else {
            return invalid("Resource group is pseudo-locked");
        };
        // The kernel reads a C string.
        let lines = lines.split('\0').next().unwrap_or_default();
        let mut staged = Staged::new();
        for line in lines.split('\n') {
            self.parse_line(line, closid, mode, &mut staged)?;
        }
        self.controls.extend(staged.into_iter().map(|((schema, domain), value)| ((schema, domain, closid), value)));
        Ok(())
    }

    /// `NAME:ID=VALUE;ID=VALUE`.
    fn parse_line(&self, line: &str, closid: u32, mode: Mode, staged: &mut Staged) -> Result<(), Refusal> {
        let Some((name, values)) = line.split_once(':') else {
            return invalid("Missing ':'");
        };
        let name = name.trim();
        if values.is_empty() {
            return invalid(format!("Missing '{name}' value"));
        }
        let found = self.schemas.iter().enumerate().find(|(_, schema)| schema.name == name && closid < schema.closids);
        let Some((index, schema)) = found else {
            return invalid(format!("Unknown or unsupported resource name '{name}'"));
        };
        let mut rest = Some(values);
        while let Some(values) = rest.filter(|values| !values.is_empty()) {
            let (value, next) = values.split_once(';').map_or((values, None), |(value, next)| (value, Some(next)));
            self.parse_domain(value, index, schema, closid, mode, staged)?;
            rest = next;
        }
        Ok(())
    }

    fn parse_domain(
        &self,
        text: &str,
        index: usize,
        schema: &Schema,
        closid: u32,
        mode: Mode,
        staged: &mut Staged,
    ) -> Result<(), Refusal> {
        let Some((domain, value)) =
            text.split_once('=').and_then(|(id, value)| Some((unsigned(id, 10)?, value.trim())))
        else {
            return invalid("Missing '=' or non-numeric domain");
        };
        // An unknown domain is refused without a word: the status then reads "ok".
        let known = u32::try_from(domain).ok().filter(|domain| schema.resource.domains().contains_key(domain));
        let domain = known.ok_or_else(|| Refusal::silent(Errno::INVAL))?;
        if staged.contains_key(&(index, domain)) {
            return invalid(format!("Duplicate domain {domain}"));
        }
        let value = match &schema.resource {
            Resource::Cache(cache) => {
                let mask = parse_mask(value, cache)?;
                self.check_overlaps(index, schema, domain, mask, closid, mode)?;
                mask
            }
            Resource::Bandwidth(bandwidth) => {
                parse_bandwidth(value, bandwidth, self.machine.kernel.old_bandwidth_words)?
            }
        };
        staged.insert((index, domain), value);
        Ok(())
    }

    /// `rdtgroup_schemata_show`.
    pub(super) fn show_schemata(&self, id: GroupId) -> String {
        let Ok(group) = self.group(id) else { return String::new() };
        if let Some(locked) = self.locked.iter().find(|locked| locked.group == id) {
            return format!("L{}:{}={:x}\n", locked.level, locked.domain, locked.ways);
        }
        let closid = group.closid.unwrap_or(0);
        let width = self.data_width();
        self.show_lines(|schema, index, domain| {
            let value = self.control(index, domain, closid);
            match schema.resource {
                Resource::Cache(_) => format!("{value:0width$x}"),
                Resource::Bandwidth(_) => format!("{value:width$}"),
            }
        })
    }

    /// `rdtgroup_size_show`: bytes of the ways, and the bare value for bandwidth.
    pub(super) fn show_sizes(&self, id: GroupId) -> String {
        let Ok(group) = self.group(id) else { return String::new() };
        if let Some(locked) = self.locked.iter().find(|locked| locked.group == id) {
            let cache = self.machine.caches.iter().find(|cache| cache.level == locked.level);
            let bytes = cache.map_or(0, |cache| bytes(cache, locked.domain, locked.ways));
            return format!("L{}:{}={bytes}\n", locked.level, locked.domain);
        }
        let closid = group.closid.unwrap_or(0);
        self.show_lines(|schema, index, domain| {
            let value = self.control(index, domain, closid);
            match &schema.resource {
                Resource::Cache(cache) => bytes(cache, domain, value).to_string(),
                Resource::Bandwidth(_) => value.to_string(),
            }
        })
    }

    /// `    L3:0=7ff;1=7ff`: the names right-aligned to the widest, which counts CDP's suffix
    /// although CDP is off.
    fn show_lines(&self, value: impl Fn(&Schema, usize, u32) -> String) -> String {
        let width = self.schemas.iter().map(|schema| schema.width).max().unwrap_or(0);
        let line = |(index, schema): (usize, &Schema)| {
            let domains = schema.resource.domains().keys();
            let values: Vec<String> =
                domains.map(|domain| format!("{domain}={}", value(schema, index, *domain))).collect();
            format!("{:>width$}:{}\n", schema.name, values.join(";"))
        };
        self.schemas.iter().enumerate().map(line).collect()
    }

    /// Until 6.14 every value was as wide as the widest (`data_width`): 4 bits a digit for masks, 3
    /// for per cent.
    fn data_width(&self) -> usize {
        let width = |schema: &Schema| match &schema.resource {
            Resource::Cache(cache) => usize::try_from(cache.ways.div_ceil(4)).unwrap_or(8),
            Resource::Bandwidth(bandwidth) => bandwidth.max.to_string().len(),
        };
        if self.machine.kernel.padded { self.schemas.iter().map(width).max().unwrap_or(0) } else { 0 }
    }
}

/// `rdtgroup_cbm_to_size`.
fn bytes(cache: &Cache, domain: u32, ways: u32) -> u64 {
    let whole = cache.domains.get(&domain).map_or(0, |domain| domain.bytes);
    whole / u64::from(cache.ways.max(1)) * u64::from(ways.count_ones())
}

/// `cbm_validate`.
fn parse_mask(text: &str, cache: &Cache) -> Result<u32, Refusal> {
    let Some(value) = unsigned(text, 16) else {
        return invalid(format!("Non-hex character in the mask {text}"));
    };
    let mask = match u32::try_from(value) {
        Ok(mask) if mask <= cache.full() && (mask != 0 || cache.min_bits == 0) => mask,
        _ => return invalid("Mask out of range"),
    };
    let first = mask.trailing_zeros();
    let run = mask.checked_shr(first).unwrap_or(0).trailing_ones();
    if !cache.sparse && run != mask.count_ones() {
        return invalid(format!("The mask {mask:x} has non-consecutive 1-bits"));
    }
    // The first run of ones must be long enough, also where the bits may lie apart.
    if run < cache.min_bits {
        return invalid(format!("Need at least {} bits in the mask", cache.min_bits));
    }
    Ok(mask)
}

/// `bw_validate`: rounded up to the next step.
fn parse_bandwidth(text: &str, bandwidth: &Bandwidth, old: bool) -> Result<u32, Refusal> {
    let Some(value) = unsigned(text, 10).and_then(|value| u32::try_from(value).ok()) else {
        return invalid(if old {
            format!("Non-decimal digit in MB value {text}")
        } else {
            format!("Invalid MB value {text}")
        });
    };
    if value < bandwidth.min || value > bandwidth.max {
        return invalid(format!("MB value {value} out of range [{},{}]", bandwidth.min, bandwidth.max));
    }
    Ok(value.next_multiple_of(bandwidth.step.max(1)))
}
