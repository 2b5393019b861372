//! The recordings of a daemon: a new file at each start and for each new policy, and a limited
//! number of files.

use crate::daemon;
use crate::record::{Ended, Recording, Successor};
use crate::verbs::watch::RecordingTemplate;
use isobar_model::{Sample, Seconds};
use isobar_recording::Bounds;
use isobar_runtime::settings::DaemonConfig;
use jiff::Timestamp;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The parts of a recording's name before and after its time.
const NAME: (&str, &str) = ("isobar-", ".isobar");

/// Starts a recording. Then the oldest recordings in the folder are deleted, so that with the new
/// one there are no more than may be kept. The one that is `in_use` stays.
///
/// # Errors
/// If its folder or its file cannot be created; then nothing is deleted.
pub fn start(template: &RecordingTemplate, config: &DaemonConfig, in_use: Option<&Path>) -> anyhow::Result<Recording> {
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
    let folder = daemon::recordings(config.record_folder.as_deref());
    DirBuilder::new().recursive(true).mode(0o750).create(&folder)?;
    let bounds = Bounds { bytes: Some(config.record_bytes), age: None::<Seconds>, ..Bounds::default() };
    let recording = template.start_to(folder.join(format!("{}{now}{}", NAME.0, NAME.1)), bounds)?;
    // A file that cannot be removed stays; the next start tries again.
    let keep = usize::try_from(config.record_files).unwrap_or(usize::MAX);
    let surplus = surplus(&folder, keep, &[Some(recording.file()), in_use]).unwrap_or_default();
    surplus.iter().for_each(|file| drop(fs::remove_file(file)));
    Ok(recording)
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
    /// the `latest` reading, after epoch `number`.
    ///
    /// # Errors
    /// As [`start`]; then the recording goes on where it was.
    pub fn renew(
        &mut self,
        template: &RecordingTemplate,
        config: &DaemonConfig,
        latest: &Sample,
        number: u64,
    ) -> anyhow::Result<()> {
        let mut next = start(template, config, Some(&self.file))?;
        next.begin_with(latest, number);
        (self.file, self.ended) = (next.file().to_owned(), next.ended());
        self.successor.hand_over(next);
        Ok(())
    }
}

/// The oldest recordings of a folder, without which at most `keep` are left. Those that `stay` are
/// not among them.
fn surplus(folder: &Path, keep: usize, stay: &[Option<&Path>]) -> io::Result<Vec<PathBuf>> {
    let mut all = all(folder)?;
    all.sort();
    let surplus = all.len().saturating_sub(keep);
    all.truncate(surplus);
    all.retain(|file| !stay.contains(&Some(file.as_path())));
    Ok(all)
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
        let newest = folder.path().join("isobar-3.isobar");
        let found = |keep, stay: &[Option<&Path>]| {
            let all = surplus(folder.path(), keep, stay).unwrap();
            all.iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found(2, &[Some(&newest), None]), ["isobar-1.isobar"]);
        assert_eq!(found(9, &[Some(&newest), None]), [""; 0]);
        // The recording that another one replaces stays until the next start.
        let in_use = folder.path().join("isobar-2.isobar");
        assert_eq!(found(1, &[Some(&newest), Some(&in_use)]), ["isobar-1.isobar"]);
    }
}
