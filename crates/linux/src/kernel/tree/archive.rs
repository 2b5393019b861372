//! Reads captured trees from tar archives, plain or compressed, into memory.
//!
//! Only the files that a topology is read from are kept (CPU and node folders, resctrl, a little of
//! `proc`). The rest of an archive, mostly PCI devices, is skipped. The unpacked size of an archive
//! is bounded, because a few kilobytes can unpack to gigabytes.

use super::entry::{self, Entry, MAX_FILE, components, resolve};
use super::error::LinuxError;
use crate::kernel::read::open_file;
use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use isobar_model::text::one_line;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use tar::EntryType;

/// The most bytes that an archive may unpack to: captured machines are 0.5 to 20 MB.
const MAX_UNPACKED: u64 = 256 << 20;

/// The most bytes that are kept, of texts and names together.
const MAX_KEPT: u64 = 64 << 20;

/// About how many bytes an entry takes in addition to its text and its name, and a folder with one
/// entry: an archive of empty files in folders of their own must not fill memory either.
const ENTRY: u64 = 128;
const FOLDER: u64 = 768;

/// The size of the blocks that tar archives are made of. An archive ends in two blocks of zeros;
/// GNU tar accepts one, and so does this reader.
const BLOCK: usize = 512;

const KEPT: [&str; 5] =
    ["sys/devices/system/cpu", "sys/devices/system/node", "sys/fs/resctrl", "proc/meminfo", "proc/cpuinfo"];

const CACHE_FILES: [&str; 7] =
    ["level", "type", "size", "ways_of_associativity", "shared_cpu_list", "shared_cpu_map", "id"];

/// The kept files of an archive.
#[derive(Debug)]
pub(super) struct Unpacked(Entry);

impl Unpacked {
    /// The text of a file, with links followed.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match self.0.find(path) {
            Some(Entry::File(text)) => Some(text),
            _ => None,
        }
    }

    /// The names in a folder, ascending.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        match self.0.find(path) {
            Some(Entry::Folder(names)) => names.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }
}

/// Reads an archive.
pub(super) fn unpack(path: &Path) -> Result<Unpacked, LinuxError> {
    let file = open_file(path).map_err(|source| LinuxError::Unreadable { path: path.to_owned(), source })?;
    unpack_from(path, file)
}

/// Reads an archive. Its kind is taken from its first bytes, not from its name; `path` is only used
/// in errors.
pub(super) fn unpack_from(path: &Path, mut file: impl Read + Seek) -> Result<Unpacked, LinuxError> {
    let unreadable = |source| LinuxError::Unreadable { path: path.to_owned(), source };
    let mut head = Vec::new();
    file.by_ref().take(512).read_to_end(&mut head).map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;
    let file = BufReader::with_capacity(1 << 16, file);
    if head.starts_with(b"BZh") {
        read_tar(path, MultiBzDecoder::new(file))
    } else if head.starts_with(&[0x1f, 0x8b]) {
        read_tar(path, MultiGzDecoder::new(file))
    } else if head.get(257..262) == Some(b"ustar") {
        read_tar(path, file)
    } else {
        Err(LinuxError::UnknownKind { path: path.to_owned() })
    }
}

fn read_tar(path: &Path, unpacking: impl Read) -> Result<Unpacked, LinuxError> {
    let too_large = |limit| LinuxError::TooLarge { path: path.to_owned(), limit };
    let mut archive = tar::Archive::new(Bounded::new(unpacking));
    let collected = collect(&mut archive);
    let stream = archive.into_inner();
    if stream.left == 0 {
        return Err(too_large(MAX_UNPACKED));
    }
    // The unpacker's message repeats names from the archive.
    let damaged = |detail: &str| LinuxError::Damaged { path: path.to_owned(), detail: one_line(detail) };
    let (root, kept) = collected.map_err(|source| damaged(&source.to_string()))?;
    if kept > MAX_KEPT {
        return Err(too_large(MAX_KEPT));
    }
    if stream.zeros < BLOCK as u64 {
        return Err(damaged("it ends without an end mark"));
    }
    Ok(Unpacked(root))
}

/// The kept entries and about how many bytes they take. Stops early once these exceed [`MAX_KEPT`].
fn collect(archive: &mut tar::Archive<impl Read>) -> io::Result<(Entry, u64)> {
    let (mut root, mut kept) = (Entry::root(), 0);
    for member in archive.entries()? {
        let mut member = member?;
        let name = member.path_bytes().into_owned();
        let name = String::from_utf8_lossy(&name);
        let Some(path) = kept_path(&name) else { continue };
        kept += ENTRY + name.len() as u64;
        let link = || member.link_name_bytes().map(|name| String::from_utf8_lossy(&name).into_owned());
        let entry = match member.header().entry_type() {
            EntryType::Directory => Some(Entry::root()),
            EntryType::Symlink => link().and_then(|to| resolve(&path[..path.len() - 1], &to)).map(Entry::Link),
            EntryType::Link => link().and_then(|to| resolve(&[], &kept_path(&to)?.join("/"))).map(Entry::Link),
            EntryType::Regular | EntryType::Continuous => Some(Entry::File(text(&mut member, &mut kept)?)),
            _ => None,
        };
        if let Some(entry) = entry {
            kept += FOLDER * root.insert(&path, entry);
        }
        if kept > MAX_KEPT {
            break;
        }
    }
    Ok((root, kept))
}

fn text(member: &mut impl Read, kept: &mut u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    let length = member.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    *kept += length as u64;
    if length as u64 > MAX_FILE {
        return Err(io::Error::other(format!("a file in it is larger than {MAX_FILE} bytes")));
    }
    Ok(entry::text(&bytes))
}

/// The components below the root of the tree, if the path is one that is kept. The root is the
/// folder that holds `sys` or `proc`: the archive itself or one folder in it. Paths with `..` are
/// not kept.
fn kept_path(text: &str) -> Option<Vec<&str>> {
    let names: Vec<&str> = components(text).collect();
    let top = names.iter().take(2).position(|name| matches!(*name, "sys" | "proc"))?;
    let path = &names[top..];
    let inside = KEPT.iter().any(|kept| kept.split('/').zip(path).all(|(kept, name)| kept == *name));
    (inside && needed(path) && !path.contains(&"..")).then(|| path.to_vec())
}

/// Most of an archive consists of files about single CPUs. Of these, only the ones that describe
/// topology are kept.
fn needed(path: &[&str]) -> bool {
    match path {
        ["sys", "devices", "system", "cpu", _, "topology", name] => {
            name.contains("siblings") || name.contains("core_cpus")
        }
        ["sys", "devices", "system", "cpu", _, "cache", _, name] => CACHE_FILES.contains(name),
        ["sys", "devices", "system", "cpu", _, "topology" | "cache", ..] => true,
        ["sys", "devices", "system", "cpu", _, _, _, ..] => false,
        _ => true,
    }
}

/// A reader that stops at a bound, and counts the zero bytes that the last reads returned. The
/// archive's headers, and so the blocks at its end, are read one at a time, so a longer read is not
/// an end mark.
struct Bounded<R> {
    inner: R,
    left: u64,
    zeros: u64,
}

impl<R> Bounded<R> {
    const fn new(inner: R) -> Self {
        Self { inner, left: MAX_UNPACKED, zeros: 0 }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = (&mut self.inner).take(self.left).read(buffer)?;
        self.left -= length as u64;
        let blank = length <= BLOCK && buffer[..length] == [0; BLOCK][..length];
        self.zeros = if blank { self.zeros + length as u64 } else { 0 };
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Option<String> {
        kept_path(text).map(|path| path.join("/"))
    }

    #[test]
    fn members_may_stand_below_one_folder() {
        assert_eq!(kept("box/sys/devices/system/cpu/online").as_deref(), Some("sys/devices/system/cpu/online"));
        assert_eq!(kept("./sys/devices/system/node/").as_deref(), Some("sys/devices/system/node"));
        assert_eq!(kept("box/proc/meminfo").as_deref(), Some("proc/meminfo"));
        assert_eq!(kept("box/sys/devices/system").as_deref(), Some("sys/devices/system"));
        for file in ["cache/index0/level", "cache/index0", "topology/core_cpus_list", "online"] {
            assert!(kept(&format!("sys/devices/system/cpu/cpu0/{file}")).is_some(), "{file}");
        }
        for file in ["cache/index0/number_of_sets", "cpufreq/scaling_driver"] {
            assert_eq!(kept(&format!("sys/devices/system/cpu/cpu0/{file}")), None, "{file}");
        }
        let climbs = "sys/devices/system/node/../../../../etc";
        for path in ["a/b/sys/devices/system/cpu/online", "box/sys/bus/pci/devices", climbs] {
            assert_eq!(kept(path), None, "{path}");
        }
    }

    #[test]
    fn the_bound_stops_the_stream_and_text_after_zeros_is_no_end_mark() {
        let read = |inner: &mut dyn Read, left| {
            let mut stream = Bounded { inner, left, zeros: 0 };
            let lengths = [(); 3].map(|()| stream.read(&mut [1; BLOCK]).unwrap());
            (lengths, stream.left, stream.zeros)
        };
        assert_eq!(read(&mut io::repeat(0), 1000), ([512, 488, 0], 0, 1000));
        assert_eq!(read(&mut io::repeat(0).take(1024).chain(io::repeat(7)), 2000), ([512; 3], 464, 0));
    }
}
