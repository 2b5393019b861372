//! Makes the page of a recording.

use crate::failure::bad_input;
use crate::past::{self, Past};
use crate::text::plural;
use isobar_recording::Recording;
use isobar_report::{Collector, Head};
use isobar_view::Watch;
use std::path::Path;

/// The page, and a description of how many epochs it shows.
///
/// # Errors
/// Bad input: a recording that is damaged, or contains no epoch.
pub fn page(file: &Path) -> anyhow::Result<(String, String)> {
    let recording = Recording::open(file).map_err(bad_input)?;
    let facts = recording.facts()?;
    let (first, last) = recording.ends()?.unwrap_or_default();
    let (mut past, mut watch, mut collector) = (Past::of(recording), Watch::default(), Collector::new(first + 1, last));
    let mut epochs = 0;
    while past.next(&mut |moment| collector.take(moment, watch.take(moment)))? {
        epochs += 1;
    }
    if epochs == 0 {
        return Err(bad_input(format!("{}: holds no epoch yet, only the reading before the first", file.display())));
    }
    let head = Head {
        title: super::title(file),
        facts: past::facts(&facts, past.begun),
        remarks: past::remarks(&facts, past.cut, past.missing),
    };
    Ok((collector.finish(head).html(), plural(epochs, "epoch")))
}
