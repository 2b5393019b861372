//! The recordings of a daemon: a new file at each start and for each new policy, and a limited
//! number of files.

use crate::daemon;
use crate::record::{Ended, Recording, Successor};
use crate::verbs::watch::RecordingTemplate;
use isobar_model::Seconds;
use isobar_recording::Bounds;
use isobar_runtime::Epoch;
use isobar_runtime::settings::DaemonConfig;
use jiff::Timestamp;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The parts of a recording's name before and after its time.
const NAME: (&str, &str) = ("isobar-", ".isobar");

/// Starts a recording.
///
/// # Errors
/// If its folder or its file cannot be created.
pub fn start(template: &RecordingTemplate, config: &DaemonConfig) -> anyhow::Result<Recording> {
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
    let (file, bounds) = next(config, &now)?;
    template.start_to(file, bounds)
}

/// The recording that the loop writes, as the rest of the daemon sees it.
pub struct Current {
    file: PathBuf,
    ended: Ended,
    successor: Successor,
}

impl Current {
    /// The view of a recording.
    pub fn of(recording: &mut Recording) -> Self {
        let (file, ended) = (recording.file().to_owned(), recording.ended());
        Self { file, ended, successor: recording.successor() }
    }

    /// The path of its file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Why it ended early, if it did.
    pub fn why_ended(&self) -> Option<&str> {
        self.ended.why()
    }

    /// Goes on in a new file, because a recording holds one policy and its settings. It begins with
    /// the `latest` reading.
    ///
    /// # Errors
    /// As [`start`]; then the recording goes on where it was.
    pub fn renew(
        &mut self,
        template: &RecordingTemplate,
        config: &DaemonConfig,
        latest: Option<&Epoch<'_>>,
    ) -> anyhow::Result<()> {
        let mut next = start(template, config)?;
        if let Some(epoch) = latest {
            next.begin_with(epoch.sample, epoch.number);
        }
        (self.file, self.ended) = (next.file().to_owned(), next.ended());
        self.successor.hand_over(next);
        Ok(())
    }
}

/// The file for a recording that begins at this time, with its bounds. The oldest recordings in the
/// folder are deleted, so that with the new one there are no more than may be kept.
///
/// # Errors
/// If the folder does not exist and cannot be created.
fn next(config: &DaemonConfig, now: &str) -> io::Result<(PathBuf, Bounds)> {
    let folder = daemon::recordings(config.record_folder.as_deref());
    DirBuilder::new().recursive(true).mode(0o750).create(&folder)?;
    let keep = usize::try_from(config.record_files).unwrap_or(usize::MAX).saturating_sub(1);
    let mut earlier = all(&folder)?;
    earlier.sort();
    let surplus = earlier.len().saturating_sub(keep);
    // A file that cannot be removed stays; the next start tries again.
    earlier.drain(..surplus).for_each(|file| drop(fs::remove_file(file)));
    let bounds = Bounds { bytes: Some(config.record_bytes), age: None::<Seconds>, ..Bounds::default() };
    Ok((folder.join(format!("{}{now}{}", NAME.0, NAME.1)), bounds))
}

fn all(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(NAME.0) && name.ends_with(NAME.1)
    };
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    Ok(paths.collect::<io::Result<Vec<_>>>()?.into_iter().filter(is_one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_recordings_go_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["isobar-1.isobar", "isobar-2.isobar", "isobar-3.isobar", "isobar-0.txt", "mine.isobar"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let config = DaemonConfig {
            record_folder: Some(folder.path().to_owned()),
            record_files: 2,
            record_bytes: 7 << 20,
            ..DaemonConfig::default()
        };
        let (file, bounds) = next(&config, "4").unwrap();
        assert_eq!((file.file_name().unwrap().to_str(), bounds.bytes), (Some("isobar-4.isobar"), Some(7 << 20)));
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["isobar-0.txt", "isobar-3.isobar", "mine.isobar"]);
    }
}
