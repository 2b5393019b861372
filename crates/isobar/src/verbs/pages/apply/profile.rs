//! What is known of the traced run: its page usage, and its address space.

use crate::failure::bad_input;
use crate::verbs::pages::source;
use isobar_linux::kernel::page_range::base_bytes;
use isobar_pages::PageProfile;
use isobar_pages::trace::{Packed, Reader, Region, TraceError};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// A traced run.
#[derive(Debug)]
pub struct Traced {
    /// Its page usage. A page is at least as large as one of this machine.
    pub profile: PageProfile,
    /// The regions of its address space, in the order in which they were mapped.
    pub regions: Vec<Region>,
}

impl Traced {
    /// Reads a trace; if it was cut off, up to that point. It also reads other page profiles, which
    /// have no regions.
    ///
    /// # Errors
    /// Bad input: the file is neither, or is damaged.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let open = || File::open(file).map(BufReader::new).map_err(|error| bad_input(named(file, &error)));
        let (profile, regions) = match PageProfile::read(open()?) {
            Err(TraceError::NotATrace) => (source::read(file)?.profile, Vec::new()),
            Err(error) => return Err(bad_input(named(file, &error))),
            Ok(profile) => (profile, regions(open()?).map_err(|error| bad_input(named(file, &error)))?),
        };
        let profile = match base_bytes() {
            bytes if bytes > profile.usage.page_bytes() => profile.with_pages_of(bytes).map_err(bad_input)?,
            _ => profile,
        };
        Ok(Self { profile, regions })
    }
}

fn named(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", file.display())
}

/// The regions, in the order of the file.
fn regions(from: impl std::io::Read) -> Result<Vec<Region>, TraceError> {
    let (mut reader, mut regions) = (Reader::new(from)?, Vec::new());
    while let Some(part) = reader.packed()? {
        if let Packed::Region(region) = part {
            regions.push(region);
        }
    }
    Ok(regions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_pages::trace::{FirstTouch, Header, RegionKind, Row, Slice, Thread, Writer};
    use std::fs;

    #[test]
    fn a_trace_gives_its_usage_and_every_region() {
        let header =
            Header { engine: "test".into(), sampled: None, page_bytes: 4096, slice_ns: 1, command: Vec::new() };
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        writer.thread(&Thread { number: 0, tid: 9, name: None }).unwrap();
        let region = |start| Region { start, end: start + 8192, kind: RegionKind::Heap };
        writer.region(&region(0)).unwrap();
        let row = Row { page: 1, thread: 0, loads: 3, stores: 4 };
        let first = vec![FirstTouch { page: 1, thread: 0 }];
        writer.slice(&Slice { number: 0, first, rows: vec![row] }).unwrap();
        writer.region(&region(4096)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.trace");
        fs::write(&file, writer.into_inner()).unwrap();
        let traced = Traced::read(&file).unwrap();
        assert_eq!(traced.regions, [region(0), region(4096)]);
        assert_eq!(traced.profile.usage.row(0), [7]);
        fs::write(&file, "garbage\n").unwrap();
        let message = Traced::read(&file).unwrap_err().to_string();
        assert!(message.contains("run.trace: ") && !message.contains('\n'), "{message}");
        assert!(Traced::read(&folder.path().join("none")).unwrap_err().to_string().contains("none: "));
    }
}
