//! Sends files that a daemon wrote out of the guest. They are sent once the daemon has ended, and
//! are then removed, so that the next daemon begins without them.

use crate::port::Port;
use numasim_guest::wire::{GuestFile, Line, MOST_FILE, Ran, Run};
use std::path::Path;

/// Sends the files of a run's daemon. A file that cannot be read is reported as the daemon's
/// problem.
///
/// # Errors
/// The port cannot be written.
pub fn bring(asked: &Run, ran: &mut Ran, port: &mut Port) -> anyhow::Result<()> {
    let paths = asked.regime.daemon.iter().flat_map(|daemon| &daemon.bring);
    for path in paths.map(Path::new) {
        match read(path) {
            Ok(bytes) => port.notify(&Line::File(Box::new(file(&asked.id, path, &bytes))))?,
            Err(why) => {
                let said = ran.daemon.as_mut().map(|daemon| &mut daemon.problem);
                said.into_iter().for_each(|problem| _ = problem.get_or_insert_with(|| why.clone()));
            }
        }
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

fn file(run: &str, path: &Path, bytes: &[u8]) -> GuestFile {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    GuestFile { run: run.to_owned(), name, content: hex::encode(bytes) }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let why = |error: std::io::Error| format!("{} cannot be read after the run: {error}", path.display());
    let bytes = std::fs::metadata(path).map_err(why)?.len();
    if bytes > MOST_FILE {
        return Err(format!("{} has {bytes} bytes: at most {MOST_FILE} are copied out", path.display()));
    }
    std::fs::read(path).map_err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_out_under_its_name_and_one_that_is_not_there_is_named() {
        let folder = std::env::temp_dir();
        let brought = file("under/isobar", &folder.join("run.isobar"), &[0, 255]);
        assert_eq!((brought.name.as_str(), brought.content.as_str()), ("run.isobar", "00ff"));
        assert!(read(&folder.join("no such file")).unwrap_err().contains("cannot be read after the run"));
    }
}
