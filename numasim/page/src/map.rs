//! Maps the page: a file on the host, BAR 2 of the ivshmem device in the guest. This is the only
//! file with unsafe code. Once mapped, the page is a set of words that are loaded and stored
//! atomically.

use crate::error::PageError;
use crate::layout::{PAGE_BYTES, WORDS};
use crate::words::Words;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where Linux shows PCI devices (`Documentation/ABI/testing/sysfs-bus-pci`).
pub const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// PCI ids: Red Hat, Qumranet; ivshmem ("Device Specification for Inter-VM shared memory device").
const VENDOR: &str = "0x1af4";
const DEVICE: &str = "0x1110";

/// The page, mapped into memory for as long as this value lives.
#[derive(Debug)]
pub struct Mapping {
    first: NonNull<AtomicU64>,
}

// SAFETY: the mapping belongs to the process and not to a thread, and is only accessed through
// atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above: shared access is atomic loads and stores.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Creates a file of the page's size (or takes an existing one) and maps it. QEMU's
    /// `memory-backend-file` maps the same file.
    ///
    /// # Errors
    /// [`PageError::Unreadable`] if it cannot be created or mapped.
    pub fn create(path: &Path) -> Result<Self, PageError> {
        let make = || {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            if file.metadata()?.len() < bytes() {
                file.set_len(bytes())?;
            }
            // A full disk is reported here; otherwise the first word written would end the process
            // (SIGBUS).
            match fallocate(&file, FallocateFlags::empty(), 0, bytes()) {
                Ok(()) | Err(Errno::OPNOTSUPP) => Ok(file),
                Err(errno) => Err(errno.into()),
            }
        };
        let file = make().map_err(|source| unreadable(path, "make it", source))?;
        Self::of(&file, path)
    }

    /// Maps an existing file.
    ///
    /// # Errors
    /// [`PageError`] if it cannot be opened or mapped, or is too small.
    pub fn file(path: &Path) -> Result<Self, PageError> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        Self::of(&file.map_err(|source| unreadable(path, "open it for reading and writing", source))?, path)
    }

    /// Maps the ivshmem device of this machine.
    ///
    /// # Errors
    /// [`PageError::NoDevice`], and as [`Self::file`].
    pub fn device() -> Result<Self, PageError> {
        Self::device_in(Path::new(PCI_DEVICES))
    }

    /// Like [`Self::device`], with the folder of devices at another place, for tests.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub fn device_in(folder: &Path) -> Result<Self, PageError> {
        let device = find(folder).ok_or_else(|| PageError::NoDevice { folder: folder.to_owned() })?;
        // Firmware has usually enabled the device's memory. If neither the firmware nor this line
        // could, all words read 0xff...: the magic is missing, which is reported.
        let _ = fs::write(device.join("enable"), "1");
        Self::file(&device.join("resource2"))
    }

    fn of(file: &File, path: &Path) -> Result<Self, PageError> {
        let size = file.metadata().map_err(|source| unreadable(path, "ask for its size", source))?.len();
        if size < bytes() {
            return Err(PageError::TooSmall { path: path.to_owned(), bytes: size, expected: PAGE_BYTES });
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of this
        // process.
        let address = unsafe { mmap(std::ptr::null_mut(), PAGE_BYTES, protection, MapFlags::SHARED, file, 0) };
        let address = address.map_err(|errno| unreadable(path, "map it", errno.into()))?;
        let first = NonNull::new(address.cast::<AtomicU64>());
        let first = first.ok_or_else(|| unreadable(path, "map it", std::io::ErrorKind::InvalidData.into()))?;
        Ok(Self { first })
    }

    fn cell(&self, word: usize) -> Option<&AtomicU64> {
        if word >= WORDS {
            return None;
        }
        // SAFETY: `first` is the start of a mapping of WORDS words, and `word` is one of them.
        let cell = unsafe { self.first.add(word) };
        // SAFETY: page-aligned plus a multiple of 8 is aligned; the mapping lives as long as
        // `self`; other processes and the emulator change it, which is what atomics are for.
        Some(unsafe { cell.as_ref() })
    }
}

impl Words for Mapping {
    fn load(&self, word: usize) -> u64 {
        self.cell(word).map_or(0, |cell| u64::from_le(cell.load(Ordering::Acquire)))
    }

    fn store(&self, word: usize, value: u64) {
        if let Some(cell) = self.cell(word) {
            cell.store(value.to_le(), Ordering::Release);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference into it outlives `self`. A refusal would
        // only leave it mapped.
        let _ = unsafe { munmap(self.first.as_ptr().cast(), PAGE_BYTES) };
    }
}

/// The folder of the first ivshmem device, in order of names.
fn find(folder: &Path) -> Option<PathBuf> {
    let says = |device: &Path, file: &str, text: &str| {
        fs::read_to_string(device.join(file)).is_ok_and(|found| found.trim() == text)
    };
    let mut devices: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    devices.sort();
    devices.into_iter().find(|device| says(device, "vendor", VENDOR) && says(device, "device", DEVICE))
}

fn bytes() -> u64 {
    u64::try_from(PAGE_BYTES).unwrap_or(u64::MAX)
}

fn unreadable(path: &Path, what: &'static str, source: std::io::Error) -> PageError {
    let remedy = match source.kind() {
        std::io::ErrorKind::PermissionDenied => ": run as root",
        std::io::ErrorKind::NotFound => ": name the file that QEMU has as `mem-path`",
        _ => "",
    };
    PageError::Unreadable { path: path.to_owned(), what, source, remedy }
}
