//! The FUSE interface: turns the kernel's requests into operations on [`Resctrl`]. It knows inodes
//! and open files, and what kernfs does if resctrl has no rule (fs/kernfs: a read-only file cannot
//! be opened for writing even by root, nothing but groups can be made). The kernel caches nothing,
//! and locks are left to it (`flock` works between processes as on any local file system).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenAccMode, OpenFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};
use rustix::io::Errno;

use crate::refusal::Answer;
use crate::resctrl::{Node, Resctrl};

/// How long the kernel may cache an answer.
const NOT_KEPT: Duration = Duration::ZERO;

/// Size in bytes that every file reports. kernfs reports 0 and gives sendfile(2), with which
/// busybox's `cat` reads, the whole content. For a FUSE file, sendfile gives no more than this
/// size.
const SHOWN_SIZE: u64 = 4096;

/// The state, shared by the mount and the tests.
pub(crate) type Shared = Arc<Mutex<Resctrl>>;

/// Locks the state, even after a thread that held it panicked: a test that fails must not hang the
/// mount.
pub(crate) fn locked(shared: &Shared) -> MutexGuard<'_, Resctrl> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Inodes by node and back, and the text that open files have read.
#[derive(Debug, Default)]
struct Table {
    nodes: Vec<Node>,
    numbers: BTreeMap<Node, u64>,
    next_handle: u64,
    /// The text of each open file at its first read: a file is read from one state, however many
    /// reads that takes (seq_file).
    texts: BTreeMap<u64, String>,
}

impl Table {
    fn new() -> Self {
        let mut table = Self::default();
        table.number(Node::ROOT);
        table
    }

    /// The inode of a node; the root's is 1.
    fn number(&mut self, node: Node) -> u64 {
        if let Some(number) = self.numbers.get(&node) {
            return *number;
        }
        self.nodes.push(node);
        let number = u64::try_from(self.nodes.len()).unwrap_or(u64::MAX);
        self.numbers.insert(node, number);
        number
    }

    fn node(&self, inode: INodeNo) -> Answer<Node> {
        let index = usize::try_from(inode.0).ok().and_then(|number| number.checked_sub(1));
        index.and_then(|index| self.nodes.get(index)).copied().ok_or(Errno::NOENT)
    }
}

/// The file system that fuser serves.
pub(crate) struct ResctrlFileSystem {
    shared: Shared,
    table: Mutex<Table>,
    /// Unmounts the file system.
    detach: Box<dyn Fn() + Send + Sync>,
}

impl ResctrlFileSystem {
    pub fn new(shared: Shared, detach: Box<dyn Fn() + Send + Sync>) -> Self {
        Self { shared, table: Mutex::new(Table::new()), detach }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, inode: INodeNo) -> Answer<Node> {
        self.table().node(inode)
    }

    /// Runs an operation on the state, and unmounts afterwards if a fault says so.
    fn on<T>(&self, operation: impl FnOnce(&mut Resctrl) -> Answer<T>) -> Answer<T> {
        let (outcome, unmount) = {
            let mut state = locked(&self.shared);
            (operation(&mut state), state.take_unmount())
        };
        if unmount {
            (self.detach)();
        }
        outcome
    }

    fn attributes(&self, node: Node) -> FileAttr {
        let folder = node.is_folder();
        FileAttr {
            ino: INodeNo(self.table().number(node)),
            size: if folder { 0 } else { SHOWN_SIZE },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if folder { FileType::Directory } else { FileType::RegularFile },
            perm: node.mode(),
            nlink: if folder { 2 } else { 1 },
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn find(&self, folder: INodeNo, name: &OsStr) -> Answer<Node> {
        let (folder, name) = (self.node(folder)?, text(name)?);
        locked(&self.shared).lookup(folder, name).ok_or(Errno::NOENT)
    }

    fn open_file(&self, inode: INodeNo, flags: OpenFlags) -> Answer<u64> {
        let node = self.node(inode)?;
        if !locked(&self.shared).exists(node) {
            return Err(Errno::NODEV);
        }
        // KERNFS_ROOT_EXTRA_OPEN_PERM_CHECK: a file without such a bit for anyone is refused even
        // to root.
        if flags.acc_mode() != OpenAccMode::O_RDONLY && node.mode() & 0o222 == 0 {
            return Err(Errno::ACCESS);
        }
        let mut table = self.table();
        table.next_handle += 1;
        Ok(table.next_handle)
    }

    fn read_file(&self, inode: INodeNo, handle: FileHandle, offset: u64, size: u32) -> Answer<Vec<u8>> {
        let node = self.node(inode)?;
        if offset == 0 {
            let text = locked(&self.shared).read(node)?;
            self.table().texts.insert(handle.0, text);
        }
        let table = self.table();
        let bytes = table.texts.get(&handle.0).map_or(&[][..], String::as_bytes);
        let wanted = bytes.iter().skip(usize::try_from(offset).unwrap_or(usize::MAX));
        Ok(wanted.take(usize::try_from(size).unwrap_or(usize::MAX)).copied().collect())
    }

    fn entries(&self, folder: INodeNo) -> Answer<Vec<(String, Node)>> {
        let node = self.node(folder)?;
        let children = locked(&self.shared).children(node);
        let dots = [".", ".."].map(|name| (name.to_owned(), node));
        Ok(dots.into_iter().chain(children).collect())
    }
}

/// The errno as fuser's type.
fn code(errno: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(errno.raw_os_error())
}

fn text(name: &OsStr) -> Answer<&str> {
    name.to_str().ok_or(Errno::INVAL)
}

/// Replies with nothing or with an errno.
fn done(reply: ReplyEmpty, outcome: Answer<()>) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(code(errno)),
    }
}

impl Filesystem for ResctrlFileSystem {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.find(parent, name) {
            Ok(node) => reply.entry(&NOT_KEPT, &self.attributes(node), Generation(0)),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.node(ino) {
            Ok(node) => reply.attr(&NOT_KEPT, &self.attributes(node)),
            Err(errno) => reply.error(code(errno)),
        }
    }

    /// Accepted and ignored: a shell's `>` truncates, and kernfs has no size to change.
    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<std::time::SystemTime>,
        handle: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.getattr(request, ino, handle, reply);
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let outcome = self.node(parent).and_then(|folder| Ok((folder, text(name)?)));
        match outcome.and_then(|(folder, name)| self.on(|state| state.mkdir(folder, name))) {
            Ok(node) => reply.entry(&NOT_KEPT, &self.attributes(node), Generation(0)),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let outcome = self.node(parent).and_then(|folder| Ok((folder, text(name)?)));
        done(reply, outcome.and_then(|(folder, name)| self.on(|state| state.rmdir(folder, name))));
    }

    /// No file can be made: VFS answers `EACCES` if a file system has no `create`.
    fn create(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        reply.error(code(Errno::ACCESS));
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(code(Errno::PERM));
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.open_file(ino, flags) {
            // Every read and write arrives here as it was made; a close does not (see `flush`).
            Ok(handle) => {
                reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH);
            }
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_file(ino, fh, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn write(
        &self,
        request: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let outcome = self.node(ino).and_then(|node| self.on(|state| state.write(node, data, request.pid())));
        match outcome {
            Ok(()) => reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX)),
            Err(errno) => reply.error(code(errno)),
        }
    }

    /// A close must wait for nothing here. A process that starts another program closes its files
    /// while the kernel blocks all readers of its `/proc/PID/stat`. If the answer to that close
    /// waited for a look at all tasks, each would wait for the other, and every `ps` of the system
    /// with them. So the kernel is told not to send closes (from 5.16 at once; before, after this
    /// answer), and a second thread answers meanwhile.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(code(Errno::NOSYS));
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.table().texts.remove(&fh.0);
        reply.ok();
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = match self.entries(ino) {
            Ok(entries) => entries,
            Err(errno) => return reply.error(code(errno)),
        };
        for (next, (name, node)) in (1u64..).zip(entries).filter(|(next, _)| *next > offset) {
            let attributes = self.attributes(node);
            if reply.add(attributes.ino, next, attributes.kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
