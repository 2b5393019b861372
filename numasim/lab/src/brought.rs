//! Stores files that daemons wrote in the guest in the folder of the boot, as
//! `files/CONTENDER/NAME`.

use crate::command::left;
use crate::error::LabError;
use crate::plan;
use numasim_guest::wire::{GuestFile, Line};
use std::path::{Path, PathBuf};

/// Writes all files that are among the lines of a boot.
///
/// # Errors
/// A file cannot be written, or its content arrived damaged.
pub fn write(lines: &[Line], folder: &Path) -> Result<(), LabError> {
    let files = lines.iter().filter_map(|line| if let Line::File(file) = line { Some(file) } else { None });
    files.map(|file| (place(file, folder), file)).try_for_each(|(to, file)| put(&file.content, &to))
}

/// The path of a file. Neither the contender's name nor the file's can lead out of the folder.
fn place(file: &GuestFile, folder: &Path) -> PathBuf {
    let safe = |name: &str| name.replace('/', "_").replace("..", "_");
    folder.join(left::FILES).join(safe(plan::contender_of(&file.run))).join(safe(&file.name))
}

fn put(content: &str, to: &Path) -> Result<(), LabError> {
    let bytes = hex::decode(content).map_err(|error| LabError::Boot(format!("{}: {error}", to.display())))?;
    let refused = |error| LabError::io(to, error);
    to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(refused)?;
    std::fs::write(to, bytes).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(run: &str, name: &str, content: &str) -> Line {
        Line::File(Box::new(GuestFile { run: run.to_owned(), name: name.to_owned(), content: content.to_owned() }))
    }

    #[test]
    fn files_lie_by_contender_under_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [file("under/isobar", "run.isobar", "00ff"), Line::Done, file("under/n-mass", "../x", "61")];
        write(&lines, folder.path()).unwrap();
        assert_eq!(std::fs::read(folder.path().join("files/isobar/run.isobar")).unwrap(), [0, 255]);
        assert_eq!(std::fs::read(folder.path().join("files/n-mass/__x")).unwrap(), b"a");
        assert!(write(&[file("under/isobar", "x", "0g")], folder.path()).is_err());
    }
}
