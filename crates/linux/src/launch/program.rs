//! Examines a command before it is started: can a library be preloaded into it?

use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why the loader would not preload the shim into a program. Only the machine's weights reach such
/// a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It has no loader.
    Static,
    /// It gains rights from its file, so the loader ignores preloaded libraries.
    Privileged,
    /// It is of another architecture, or of 32 bits.
    Foreign,
    /// Its C library is musl, while the shim's is glibc.
    OtherLibrary,
}

impl Obstacle {
    /// The obstacle in words, after "it is ...".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Static => "statically linked",
            Self::Privileged => "set-uid, set-gid or has file capabilities",
            Self::Foreign => "built for another architecture",
            Self::OtherLibrary => "linked with musl, not with glibc",
        }
    }
}

/// The path of a command, as `execvp(3)` looks for it.
///
/// # Errors
/// `NotFound`, or `PermissionDenied` if only files were found that may not be executed.
pub fn find(command: &OsStr, path: Option<&OsString>) -> io::Result<PathBuf> {
    if command.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    if command.as_bytes().contains(&b'/') {
        let path = PathBuf::from(command);
        return executable(&path).map(|()| path);
    }
    let folders = path.cloned().unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut refused = None;
    for folder in std::env::split_paths(&folders) {
        let found = folder.join(command);
        match executable(&found) {
            Ok(()) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => refused = Some(error),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

fn executable(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(rustix::fs::access(path, Access::EXEC_OK)?)
}

/// What keeps the shim out of a program or, for a script, out of its interpreter. A file that
/// cannot be read counts as an ordinary program.
#[must_use]
pub fn obstacle(path: &Path) -> Option<Obstacle> {
    look(path, 4)
}

/// `depth` limits how many times the interpreter may be a script itself, as the kernel does.
fn look(path: &Path, depth: u32) -> Option<Obstacle> {
    let file = File::open(path).ok()?;
    let mode = file.metadata().ok()?.mode();
    let mut head = [0; 256];
    let got = (&file).take(256).read(&mut head).ok()?;
    let head = &head[..got];
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        let interpreter = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
        return (depth > 0).then(|| look(Path::new(OsStr::from_bytes(interpreter)), depth - 1))?;
    }
    if mode & 0o6000 != 0 || has_capabilities(path) {
        return Some(Obstacle::Privileged);
    }
    elf(head, |offset, into| file.read_exact_at(into, offset).ok())
}

fn has_capabilities(path: &Path) -> bool {
    rustix::fs::getxattr(path, "security.capability", &mut [0_u8; 64][..]).is_ok()
}

/// `e_machine` of this architecture (`elf.h`); `None` if it is not known here.
const MACHINE: Option<u16> = match () {
    () if cfg!(target_arch = "x86_64") => Some(62),
    () if cfg!(target_arch = "aarch64") => Some(183),
    () => None,
};

/// The obstacle in an ELF file of 64 bits, little endian; `read` reads at an offset.
fn elf(head: &[u8], read: impl Fn(u64, &mut [u8]) -> Option<()>) -> Option<Obstacle> {
    const INTERPRETER: u32 = 3;
    let head = head.strip_prefix(b"\x7fELF")?;
    // Class 2 (64 bits), data 1 (little endian).
    if head.first() != Some(&2) || head.get(1) != Some(&1) {
        return Some(Obstacle::Foreign);
    }
    let short = |bytes: &[u8], at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let long = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    // Offsets of elf(5), less the 4 bytes of the magic.
    if MACHINE.is_some_and(|ours| short(head, 18 - 4) != Some(ours)) {
        return Some(Obstacle::Foreign);
    }
    let (table, size, count) = (long(head, 32 - 4)?, short(head, 54 - 4)?, short(head, 56 - 4)?);
    for index in 0..u64::from(count.min(512)) {
        let mut entry = [0; 56];
        read(table.checked_add(index * u64::from(size))?, &mut entry)?;
        if entry[..4] == INTERPRETER.to_le_bytes() {
            let mut name = [0; 128];
            let length = usize::try_from(long(&entry, 32)?).ok()?.min(name.len());
            read(long(&entry, 8)?, &mut name[..length])?;
            let is_musl = name.windows(7).any(|part| part == b"ld-musl");
            return is_musl.then_some(Obstacle::OtherLibrary);
        }
    }
    Some(Obstacle::Static)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    /// An ELF file with one program header of this type, whose content is `name`.
    fn made(kind: u32, name: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&MACHINE.unwrap_or(0).to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes[72..80].copy_from_slice(&120_u64.to_le_bytes());
        bytes[96..104].copy_from_slice(&(name.len() as u64).to_le_bytes());
        bytes.extend_from_slice(name);
        bytes
    }

    #[test]
    fn what_the_loader_would_not_preload_into_is_told_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8], mode: u32| {
            let path = folder.path().join(name);
            File::create(&path).unwrap().write_all(bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let dynamic = made(3, b"/lib64/ld-linux-x86-64.so.2\0");
        assert_eq!(obstacle(&put("dynamic", &dynamic, 0o755)), None);
        assert_eq!(obstacle(&put("privileged", &dynamic, 0o4755)), Some(Obstacle::Privileged));
        let fixed = put("static", &made(1, b""), 0o755);
        assert_eq!(obstacle(&fixed), Some(Obstacle::Static));
        let musl = made(3, b"/lib/ld-musl-x86_64.so.1\0");
        assert_eq!(obstacle(&put("musl", &musl, 0o755)), Some(Obstacle::OtherLibrary));
        let mut narrow = dynamic.clone();
        narrow[4] = 1;
        assert_eq!(obstacle(&put("narrow", &narrow, 0o755)), Some(Obstacle::Foreign));
        let script = format!("#! {} -x\n", fixed.display());
        assert_eq!(obstacle(&put("script", script.as_bytes(), 0o755)), Some(Obstacle::Static));
        let circle = folder.path().join("circle");
        put("circle", format!("#!{}\n", circle.display()).as_bytes(), 0o755);
        assert_eq!(obstacle(&circle), None);
        for length in 0..dynamic.len() {
            put("cut", &dynamic[..length], 0o755);
            let _ = obstacle(&folder.path().join("cut"));
        }
    }

    #[test]
    fn a_command_is_found_as_a_shell_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("here");
        fs::write(&path, "").unwrap();
        let list = Some(OsString::from(folder.path()));
        let kind = |found: io::Result<PathBuf>| found.unwrap_err().kind();
        assert_eq!(kind(find(OsStr::new("here"), list.as_ref())), io::ErrorKind::PermissionDenied);
        assert_eq!(kind(find(OsStr::new("gone"), list.as_ref())), io::ErrorKind::NotFound);
        assert_eq!(kind(find(OsStr::new("/"), None)), io::ErrorKind::PermissionDenied);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find(OsStr::new("here"), list.as_ref()).unwrap(), path);
    }
}
