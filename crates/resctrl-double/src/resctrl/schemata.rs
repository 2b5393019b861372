//! The `schemata` file: `rdtgroup_schemata_write`, `parse_line`, `parse_cbm`, `cbm_validate`,
//! `parse_bw`, `bw_validate` and `rdtgroup_schemata_show` of fs/resctrl/ctrlmondata.c. All lines
//! are read before anything changes, so a refused write changes nothing.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::{GroupId, Resctrl};
use crate::machine::BANDWIDTH_STEP;
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
        let (closid, exclusive) = (group.closid, group.exclusive);
        self.status.clear();
        // The kernel reads a C string.
        let lines = lines.split('\0').next().unwrap_or_default();
        let mut staged = Staged::new();
        for line in lines.split('\n') {
            self.parse_line(line, closid, exclusive, &mut staged)?;
        }
        self.controls.extend(staged.into_iter().map(|((schema, domain), value)| ((schema, domain, closid), value)));
        Ok(())
    }

    /// `NAME:ID=VALUE;ID=VALUE`.
    fn parse_line(&self, line: &str, closid: u32, exclusive: bool, staged: &mut Staged) -> Result<(), Refusal> {
        let Some((name, values)) = line.split_once(':') else {
            return invalid("Missing ':'");
        };
        let name = name.trim();
        if values.is_empty() {
            return invalid(format!("Missing '{name}' value"));
        }
        let Some(index) = self.schemas.iter().position(|schema| schema.name == name) else {
            return invalid(format!("Unknown or unsupported resource name '{name}'"));
        };
        let mut rest = Some(values);
        while let Some(values) = rest.filter(|values| !values.is_empty()) {
            let (value, next) = values.split_once(';').map_or((values, None), |(value, next)| (value, Some(next)));
            self.parse_domain(value, index, closid, exclusive, staged)?;
            rest = next;
        }
        Ok(())
    }

    fn parse_domain(
        &self,
        text: &str,
        index: usize,
        closid: u32,
        exclusive: bool,
        staged: &mut Staged,
    ) -> Result<(), Refusal> {
        let Some((domain, value)) =
            text.split_once('=').and_then(|(id, value)| Some((unsigned(id, 10)?, value.trim())))
        else {
            return invalid("Missing '=' or non-numeric domain");
        };
        // An unknown domain is refused without a text: the status then reads "ok".
        let known = u32::try_from(domain).ok().filter(|domain| self.machine.domains.contains(domain));
        let domain = known.ok_or_else(|| Refusal::silent(Errno::INVAL))?;
        if staged.contains_key(&(index, domain)) {
            return invalid(format!("Duplicate domain {domain}"));
        }
        let value = if self.schemas[index].is_cache() {
            let mask = parse_mask(value, self.machine.all_ways())?;
            self.check_overlaps(index, domain, mask, closid, exclusive)?;
            mask
        } else {
            parse_bandwidth(value)?
        };
        staged.insert((index, domain), value);
        Ok(())
    }

    /// `rdtgroup_schemata_show`: `    L3:0=7ff;1=7ff`. Names are as wide as the widest name would
    /// be with CDP, values (until 6.14) as wide as the widest value: 4 bits per digit for masks, 3
    /// digits for per cent.
    pub(super) fn show_schemata(&self, id: GroupId) -> String {
        let Ok(group) = self.group(id) else { return String::new() };
        let mut lines = String::new();
        let digits = usize::try_from(self.machine.ways.div_ceil(4)).unwrap_or(8);
        let width = digits.max(if self.machine.bandwidth { 3 } else { 1 });
        for (index, schema) in self.schemas.iter().enumerate() {
            let value = |domain: &u32| match self.control(index, *domain, group.closid) {
                mask if schema.is_cache() => format!("{domain}={mask:0width$x}"),
                percent => format!("{domain}={percent:width$}"),
            };
            let values: Vec<String> = self.machine.domains.iter().map(value).collect();
            lines += &format!("{:>6}:{}\n", schema.name, values.join(";"));
        }
        lines
    }
}

/// `cbm_validate`, for masks that have at least one bit and no gaps.
fn parse_mask(text: &str, all: u32) -> Result<u32, Refusal> {
    let Some(value) = unsigned(text, 16) else {
        return invalid(format!("Non-hex character in the mask {text}"));
    };
    let mask = match u32::try_from(value) {
        Ok(mask) if mask <= all && mask != 0 => mask,
        _ => return invalid("Mask out of range"),
    };
    if (mask >> mask.trailing_zeros()).trailing_ones() != mask.count_ones() {
        return invalid(format!("The mask {mask:x} has non-consecutive 1-bits"));
    }
    Ok(mask)
}

/// `bw_validate`: rounded up to the next step.
fn parse_bandwidth(text: &str) -> Result<u32, Refusal> {
    let Some(value) = unsigned(text, 10).and_then(|value| u32::try_from(value).ok()) else {
        return invalid(format!("Non-decimal digit in MB value {text}"));
    };
    if !(BANDWIDTH_STEP..=100).contains(&value) {
        return invalid(format!("MB value {value} out of range [{BANDWIDTH_STEP},100]"));
    }
    Ok(value.next_multiple_of(BANDWIDTH_STEP))
}
