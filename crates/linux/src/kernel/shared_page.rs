//! Holds the page by which a program learns where its new pages go, as sealed memory
//! (`memfd_create(2)`). The memory can neither shrink nor grow, so a mapping of it is always
//! backed, and it is freed with the last process that holds it. Nothing is left in any file system,
//! however a process ends.

use isobar_allocation::{BYTES, Decision, Page, WORDS, Way};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{self, FileType, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use std::ptr;
use std::sync::atomic::AtomicU64;

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A page that we write.
#[derive(Debug)]
pub struct SharedPage {
    file: OwnedFd,
    words: &'static [AtomicU64; WORDS],
}

impl SharedPage {
    /// Creates a page, which at first says that new pages are free to go anywhere.
    ///
    /// # Errors
    /// If the kernel has no memory for it.
    pub fn create(way: Way) -> Result<Self, Errno> {
        let file = fs::memfd_create("isobar-allocation", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        fs::ftruncate(&file, BYTES as u64)?;
        fs::fcntl_add_seals(&file, SEALS)?;
        let page = Self::map(file)?;
        page.page().begin(way);
        Ok(page)
    }

    /// Opens the page of another process, where `path` is the path of a descriptor of the page.
    ///
    /// `owner` is the user who must own the page: a program names the page itself, so only a page
    /// that the program's user could write is accepted.
    ///
    /// # Errors
    /// `EPERM`: it is no such page, or another user's; otherwise the error of opening it.
    pub fn open(path: &str, owner: u32) -> Result<Self, Errno> {
        // The first open does not touch the file itself: it may be a device.
        let look = fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let facts = fs::fstat(&look)?;
        let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
        let long = u64::try_from(facts.st_size).is_ok_and(|size| size == BYTES as u64);
        if !is_file || !long || facts.st_uid != owner {
            return Err(Errno::PERM);
        }
        let again = format!("/proc/self/fd/{}", look.as_raw_fd());
        let file = fs::open(again, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
        let sealed = fs::fcntl_get_seals(&file).map_err(|_| Errno::PERM)?;
        if !sealed.contains(SealFlags::SHRINK) || sealed.intersects(SealFlags::WRITE | SealFlags::FUTURE_WRITE) {
            return Err(Errno::PERM);
        }
        let page = Self::map(file)?;
        page.page().way().map_err(|_| Errno::PERM)?;
        Ok(page)
    }

    fn map(file: OwnedFd) -> Result<Self, Errno> {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, of a file that is that long and stays so because it is sealed.
        let address = unsafe { mm::mmap(ptr::null_mut(), BYTES, rights, MapFlags::SHARED, &file, 0) }?;
        // SAFETY: the mapping is aligned to a page, has `WORDS` words and is unmapped only when
        // this is dropped; every process that maps it uses atomics.
        let words = unsafe { &*address.cast::<[AtomicU64; WORDS]>() };
        Ok(Self { file, words })
    }

    /// The page: what it says, and how its decisions are carried out.
    #[must_use]
    pub const fn page(&self) -> Page<'_> {
        Page::new(self.words)
    }

    /// Writes one decision for every process that knows the page.
    pub fn say(&self, decision: Decision) {
        self.page().write(&[(0, decision)]);
    }

    /// The path by which programs that this process starts find the page.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        let address = ptr::from_ref(self.words).cast_mut().cast();
        // SAFETY: the mapping that `map` made; no reference to it outlives this.
        let _ = unsafe { mm::munmap(address, BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_page_is_found_by_its_path_and_by_no_other() {
        let ours = SharedPage::create(Way::Shim).unwrap();
        let me = geteuid().as_raw();
        let theirs = SharedPage::open(&ours.path(), me).unwrap();
        theirs.say(Decision::Node(3));
        assert_eq!(ours.page().read(1).unwrap().decision, Decision::Node(3));
        assert_eq!(SharedPage::open(&ours.path(), me + 1).unwrap_err(), Errno::PERM, "another user's");
        let plain = tempfile::NamedTempFile::new().unwrap();
        plain.as_file().set_len(BYTES as u64).unwrap();
        let owner = plain.as_file().metadata().unwrap().uid();
        let path = plain.path().to_str().unwrap();
        assert_eq!(SharedPage::open(path, owner).unwrap_err(), Errno::PERM, "it could be cut short");
        assert_eq!(SharedPage::open("/dev/null", 0).unwrap_err(), Errno::PERM);
    }
}
