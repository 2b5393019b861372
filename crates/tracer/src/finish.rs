//! Completes a trace when the program has ended. The file that the engine left is read once and cut
//! after the last whole block. Then the names of variables and the end are appended.

use crate::allocations::Allocations;
use crate::engine::{Job, Traced, TracerError};
use crate::symbols::{self, Parts};
use isobar_pages::trace::{End, Header, Packed, Reader, Region, RegionKind, Rows, Writer};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Seek, SeekFrom};

/// Larger program files are not searched for variables.
const MOST_PROGRAM: u64 = 1 << 30;

/// What a trace file contains.
struct Survey {
    header: Header,
    threads: u64,
    slices: BTreeSet<u64>,
    counts: Counts,
    files: BTreeMap<String, Parts>,
    allocations: Allocations,
    /// The position after the last whole block.
    offset: u64,
}

#[derive(Default)]
struct Counts {
    pages: BTreeSet<u64>,
    accesses: u128,
}

impl Rows for Counts {
    fn page(&mut self, page: u64) -> Result<(), &'static str> {
        self.pages.insert(page);
        Ok(())
    }

    fn row(&mut self, _: u32, loads: u64, stores: u64) -> Result<(), &'static str> {
        self.accesses += u128::from(loads) + u128::from(stores);
        Ok(())
    }
}

/// Completes the trace of a job.
///
/// # Errors
/// A file that cannot be read or written.
pub fn complete(job: &Job, end: End) -> Result<Traced, TracerError> {
    let failed = |error| TracerError::file(job, error);
    let survey = survey(job)?;
    let mut file = OpenOptions::new().write(true).open(&job.file).map_err(|error| TracerError::file(job, error))?;
    file.set_len(survey.offset).map_err(|error| TracerError::file(job, error))?;
    file.seek(SeekFrom::End(0)).map_err(|error| TracerError::file(job, error))?;
    let mut writer = Writer::resume(file);
    for region in names(&survey) {
        writer.region(&region).map_err(failed)?;
    }
    writer.end(&end).map_err(failed)?;
    Ok(Traced {
        header: survey.header,
        end,
        threads: survey.threads,
        slices: survey.slices.len() as u64,
        pages: survey.counts.pages.len() as u64,
        accesses: survey.counts.accesses,
        bytes: survey.offset + writer.written(),
    })
}

fn survey(job: &Job) -> Result<Survey, TracerError> {
    let failed = |error| TracerError::file(job, error);
    let file = File::open(&job.file).map_err(|error| TracerError::file(job, error))?;
    let mut reader = Reader::new(BufReader::new(file)).map_err(failed)?;
    let mut survey = Survey {
        header: reader.header().clone(),
        threads: 0,
        slices: BTreeSet::new(),
        counts: Counts::default(),
        files: BTreeMap::new(),
        allocations: Allocations::default(),
        offset: 0,
    };
    while let Some(part) = reader.packed().map_err(failed)? {
        match part {
            Packed::Thread(_) => survey.threads += 1,
            Packed::Region(region) => {
                survey.allocations.cover(&region);
                if let Region { start, kind: RegionKind::File { path, offset }, .. } = region {
                    survey.files.entry(path).or_default().insert(start, offset);
                }
            }
            Packed::Slice(slice) => {
                survey.slices.insert(slice.number);
                // Errors within a slice show when it is really read.
                let _ = slice.show(&mut survey.counts);
            }
            Packed::Placed(_) | Packed::End(_) => {}
        }
    }
    survey.offset = reader.offset();
    Ok(survey)
}

/// The variables of all files that were mapped, and the allocations that code of these files made.
fn names(survey: &Survey) -> Vec<Region> {
    let of_file = |(path, parts): (&String, &Parts)| {
        let small = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MOST_PROGRAM);
        let bytes = if small { fs::read(path).ok() } else { None }.unwrap_or_default();
        let mut regions = symbols::variables(&bytes, parts, survey.header.page_bytes);
        regions.extend(survey.allocations.named_by(&bytes, parts));
        regions
    };
    survey.files.iter().flat_map(of_file).collect()
}
