//! Reads small kernel text files into one reused buffer: no allocation and three system calls a
//! file. What the text means is left to the parsers.

use super::stat::number;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::{Errno, read};
use std::ffi::CStr;
use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::path::Path;

/// The largest file that is read. A file that does not fit (`numa_maps` of a large program) makes
/// the buffer grow; nothing that isobar reads comes near this limit.
const LARGEST_FILE: usize = 256 << 20;

/// A folder (`/proc`) and a buffer to read its files into.
pub struct ProcDir {
    folder: OwnedFd,
    path: Vec<u8>,
    buffer: Vec<u8>,
    entries: Vec<MaybeUninit<u8>>,
}

impl ProcDir {
    /// Opens the folder.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        let folder = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let entries = vec![MaybeUninit::uninit(); 32 << 10];
        Ok(Self { folder, path: Vec::with_capacity(64), buffer: vec![0; 4096], entries })
    }

    /// Reads one file, named relative to the folder.
    ///
    /// # Errors
    /// The kernel's error: `ENOENT` and `ESRCH` if the process has ended, `EACCES` if the file may
    /// not be read.
    pub fn read(&mut self, file: std::fmt::Arguments<'_>, until: Until) -> Result<&[u8], Errno> {
        let name = c_path(&mut self.path, file)?;
        let file = openat(&self.folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let length = fill(&file, &mut self.buffer, until)?;
        Ok(&self.buffer[..length])
    }

    /// The entries of a folder that are numbers (processes, threads), ascending.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn numbers(&mut self, folder: std::fmt::Arguments<'_>, numbers: &mut Vec<u32>) -> Result<(), Errno> {
        numbers.clear();
        let name = c_path(&mut self.path, folder)?;
        let folder = openat(&self.folder, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut entries = RawDir::new(folder, &mut self.entries);
        while let Some(entry) = entries.next() {
            numbers.extend(number(entry?.file_name().to_bytes()).and_then(|id| u32::try_from(id).ok()));
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(())
    }
}

fn c_path<'a>(buffer: &'a mut Vec<u8>, path: std::fmt::Arguments<'_>) -> Result<&'a CStr, Errno> {
    buffer.clear();
    buffer.write_fmt(path).map_err(|_| Errno::INVAL)?;
    buffer.push(0);
    CStr::from_bytes_with_nul(buffer).map_err(|_| Errno::INVAL)
}

/// When a file counts as read to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// When a read returns nothing. Files of many records (`numa_maps`) come in short reads, record
    /// by record.
    End,
    /// When a read does not fill the buffer. That is the whole of a file that the kernel writes as
    /// one record (`stat`), and it saves the read that would find the end.
    Short,
}

fn fill(file: impl AsFd, buffer: &mut Vec<u8>, until: Until) -> Result<usize, Errno> {
    let mut length = 0;
    loop {
        let count = match read(&file, &mut buffer[length..]) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        length += count;
        if count == 0 || (until == Until::Short && length < buffer.len()) {
            return Ok(length);
        }
        if length == buffer.len() {
            if length >= LARGEST_FILE {
                return Err(Errno::FBIG);
            }
            buffer.resize(length * 2, 0);
        }
    }
}

/// Reads a small text file; `None` if it is missing or may not be read. Names in it (of cgroups,
/// mount points, commands) may be any bytes; those that are not UTF-8 are replaced.
#[must_use]
pub fn read_text(path: impl AsRef<Path>) -> Option<String> {
    fs::read(path).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;

    #[test]
    fn files_larger_than_the_buffer_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        for size in [0, 1, 4095, 4096, 4097, 100_000] {
            fs::write(folder.path().join("7"), vec![b'x'; size]).unwrap();
            let mut files = ProcDir::open(folder.path()).unwrap();
            for until in [Until::End, Until::Short] {
                assert_eq!(files.read(format_args!("{}", 7), until).unwrap().len(), size);
            }
        }
    }

    #[test]
    fn one_odd_name_does_not_hide_the_rest_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mountinfo");
        fs::write(&file, b"1 /mnt/\xff\n2 /sys\n").unwrap();
        assert_eq!(read_text(&file).unwrap(), "1 /mnt/\u{fffd}\n2 /sys\n");
        assert_eq!(read_text(folder.path().join("gone")), None);
    }

    #[test]
    fn only_numbers_are_listed_in_order() {
        let folder = folder(&["10", "9", "self", "1x", "4294967296"].map(|name| (name, "")));
        let mut numbers = vec![1];
        let mut files = ProcDir::open(folder.path()).unwrap();
        files.numbers(format_args!("."), &mut numbers).unwrap();
        assert_eq!(numbers, [9, 10]);
        assert_eq!(files.read(format_args!("gone"), Until::End).unwrap_err(), Errno::NOENT);
    }
}
