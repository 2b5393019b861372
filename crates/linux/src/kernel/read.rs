//! Reads a file that a user or a captured tree names, bounded in size and in time.
//!
//! Whatever the name refers to, a read ends: a file larger than its limit is refused, and so is
//! `/dev/zero`; opening never blocks; and a pipe or a terminal has [`PATIENCE`] to deliver all of
//! its text. What the text means is left to the caller, and so is the limit, because the caller
//! knows how large its kind of file can be.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a pipe or device may take to deliver everything in it. Process substitution
/// (`--config <(...)`) needs a moment; anything that takes longer belongs in a file.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The text of a file of at most `limit` bytes. Pipes and devices are read, too, if they end within
/// [`PATIENCE`].
///
/// # Errors
/// The kernel's error; a file that is larger, that does not end in time, or that is not UTF-8 text.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    text_within(path, limit, PATIENCE)
}

fn text_within(path: &Path, limit: u64, patience: Duration) -> io::Result<String> {
    let file = open(path)?;
    let regular = file.metadata()?.file_type().is_file();
    let bytes = if regular {
        bounded(file, limit)?
    } else {
        bounded(Patient { file, until: Instant::now() + patience, patience }, limit)?
    };
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Opens a regular file or a folder, and nothing that a read might have to wait for.
///
/// # Errors
/// The kernel's error; a pipe, socket or device.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe or a device, not a file"))
}

/// Opens without blocking: a pipe without a writer would block an ordinary open for ever.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// All bytes, if they are at most `limit`.
fn bounded(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {}", size(limit))));
    }
    Ok(bytes)
}

/// A limit in words.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes => format!("{bytes} bytes"),
    }
}

/// A pipe or device that was opened without blocking, and how long the reader waits for it.
struct Patient {
    file: File,
    until: Instant,
    patience: Duration,
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Waits before each read: a pipe that has no writer yet reads as empty.
            self.wait()?;
            match self.file.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

impl Patient {
    fn wait(&self) -> io::Result<()> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            let time = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
            let ready = poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&time));
            match ready {
                Ok(0) => return Err(self.too_slow()),
                // A device that always has something to read must be given up, too.
                Ok(_) if left.is_zero() => return Err(self.too_slow()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn too_slow(&self) -> io::Error {
        let message = format!("it is not a regular file and did not end within {} s", self.patience.as_secs_f64());
        io::Error::new(ErrorKind::TimedOut, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::io::Write;
    use std::path::PathBuf;

    const MOMENT: Duration = Duration::from_millis(200);

    fn pipe(folder: &Path) -> PathBuf {
        let path = folder.join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path
    }

    #[test]
    fn a_file_up_to_its_limit_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345678").unwrap();
        assert_eq!(text(&path, 8).unwrap(), "12345678");
        assert_eq!(text(&path, 7).unwrap_err().to_string(), "it is larger than 7 bytes");
        assert_eq!(text(Path::new("/dev/null"), 1).unwrap(), "");
        assert_eq!(text(folder.path(), 1).unwrap_err().kind(), ErrorKind::IsADirectory);
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(text(&path, 8).unwrap_err().to_string(), "it is not UTF-8 text");
        for endless in ["/dev/zero", "/dev/urandom"] {
            assert_eq!(text(Path::new(endless), 3 << 20).unwrap_err().to_string(), "it is larger than 3 MiB");
        }
    }

    #[test]
    fn a_pipe_without_a_writer_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let error = text_within(&path, 10, MOMENT).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file and did not end within 0.2 s");
        assert!(open_file(&path).unwrap_err().to_string().contains("not a file"));
        assert!(open_file(Path::new("/dev/zero")).is_err());
    }

    #[test]
    fn a_pipe_that_ends_is_read_and_one_that_does_not_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let writer = std::thread::spawn({
            let path = path.clone();
            move || std::fs::write(path, "all of it").unwrap()
        });
        assert_eq!(text(&path, 100).unwrap(), "all of it");
        writer.join().unwrap();
        // Opened for both reading and writing, so that it neither blocks here nor ends there.
        let mut open = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        open.write_all(b"a part").unwrap();
        assert_eq!(text_within(&path, 100, MOMENT).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
