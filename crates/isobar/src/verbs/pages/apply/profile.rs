//! What is known of the traced run. INTERIM: JSON lines, until the trace reader is there.

use crate::failure::bad_input;
use isobar_pages::trace::{Header, Region, RegionKind};
use isobar_pages::{Page, PageProfile, Structure, Usage};
use serde_json::Value;
use std::path::Path;

/// A traced run.
pub struct Traced {
    /// Its page usage.
    pub profile: PageProfile,
    /// What its address space was, in the order of the trace.
    pub regions: Vec<Region>,
}

impl Traced {
    /// Reads a trace.
    ///
    /// # Errors
    /// Bad input.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).map_err(|error| bad_input(format!("{}: {error}", file.display())))?;
        let value: Value = serde_json::from_str(&text)?;
        let header: Header = serde_json::from_value(value["header"].clone())?;
        let regions: Vec<Region> = serde_json::from_value(value["regions"].clone())?;
        let threads = usize::try_from(value["threads"].as_u64().unwrap_or(1))?;
        let mut usage = Usage::new(threads, header.page_bytes)?;
        let mut structure_of = Vec::new();
        let structures: Vec<Structure> = regions
            .iter()
            .map(|region| Structure { name: name(region), line: None, region: Some(region.clone()) })
            .collect();
        for row in value["rows"].as_array().into_iter().flatten() {
            let counts: Vec<u64> = serde_json::from_value(row[1].clone())?;
            let number = row[0].as_u64().unwrap_or(0);
            usage.push(Page { number, first: 0 }, &counts)?;
            let at = number * header.page_bytes;
            let of = regions.iter().rposition(|region| region.start / 4096 * 4096 <= at && at < region.end);
            structure_of.push(u32::try_from(of.unwrap_or(0))?);
        }
        let threads = (0..threads).map(|thread| format!("T{thread}")).collect();
        Ok(Self { profile: PageProfile { header, usage, structures, structure_of, threads, end: None }, regions })
    }
}

fn name(region: &Region) -> String {
    match &region.kind {
        RegionKind::Named { name, .. } => name.clone(),
        other => format!("{other:?}"),
    }
}
