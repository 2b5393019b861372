//! Finds the file that a command would execute.

use object::Endianness;
use object::elf::{EM_X86_64, ET_DYN, ET_EXEC, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number of bytes read from a file to see what it is.
const HEAD: usize = 4096;
const SET_ID: u32 = 0o6000;

/// Finds the file of a command as a shell does, and the interpreter if the file is a script.
/// Returns the program to trace, and the words that come before the command's own arguments.
pub fn resolve(command: &OsStr) -> Result<(PathBuf, Vec<OsString>), String> {
    let path = find(command)?;
    let head = head(&path)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
        return script(&path, &line[..end]);
    }
    check(&path, &head)?;
    Ok((path, Vec::new()))
}

fn find(command: &OsStr) -> Result<PathBuf, String> {
    if command.as_encoded_bytes().contains(&b'/') {
        return Ok(PathBuf::from(command));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_file());
    found.ok_or_else(|| "no such command".to_owned())
}

fn head(path: &Path) -> Result<Vec<u8>, String> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(HEAD as u64).read_to_end(&mut head).map_err(|error| error.to_string())?;
    Ok(head)
}

/// The interpreter that a script names, with its one argument and the script.
fn script(path: &Path, line: &[u8]) -> Result<(PathBuf, Vec<OsString>), String> {
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let interpreter = PathBuf::from(OsString::from_vec(line[..end].to_vec()));
    let argument = line[end..].trim_ascii();
    let words = [argument].into_iter().filter(|word| !word.is_empty()).map(|word| OsString::from_vec(word.to_vec()));
    let head = head(&interpreter).map_err(|why| format!("its interpreter {}: {why}", interpreter.display()))?;
    check(&interpreter, &head).map_err(|why| format!("its interpreter {}: {why}", interpreter.display()))?;
    Ok((interpreter, words.chain([path.as_os_str().to_owned()]).collect()))
}

/// Whether a file is a program that can be traced.
fn check(path: &Path, head: &[u8]) -> Result<(), String> {
    // Space for a whole header, however short the file.
    let mut bytes = head.to_vec();
    bytes.resize(HEAD, 0);
    let elf = FileHeader64::<Endianness>::parse(bytes.as_slice()).map_err(|_| "not a 64-bit program for Linux")?;
    let endian = elf.endian().map_err(|_| "not a 64-bit program for Linux")?;
    if elf.e_machine(endian) != EM_X86_64 {
        return Err("not a program for x86-64, the only architecture that can be traced".to_owned());
    }
    if !matches!(elf.e_type(endian), ET_EXEC | ET_DYN) {
        return Err("not a program but an object file".to_owned());
    }
    let mode = path.metadata().map_err(|error| error.to_string())?.mode();
    if mode & 0o111 == 0 {
        return Err("not executable".to_owned());
    }
    if mode & SET_ID != 0 {
        return Err("set-uid and set-gid programs would lose their privileges when traced".to_owned());
    }
    Ok(())
}

/// Whether a program is loaded by the GNU C library's loader, so that a library can be preloaded.
pub fn has_gnu_loader(path: &Path) -> bool {
    let Ok(head) = head(path) else { return false };
    let elf = FileHeader64::<Endianness>::parse(head.as_slice());
    let Some((elf, endian)) = elf.ok().and_then(|elf| Some((elf, elf.endian().ok()?))) else { return false };
    let segments = elf.program_headers(endian, head.as_slice()).unwrap_or_default();
    let mut loaders = segments.iter().filter_map(|segment| segment.interpreter(endian, head.as_slice()).ok()?);
    loaders.any(|loader| loader.ends_with(b"/ld-linux-x86-64.so.2"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn commands_are_found_and_scripts_have_interpreters() {
        assert_eq!(resolve(OsStr::new("sh")).unwrap().1, Vec::<OsString>::new());
        assert!(!has_gnu_loader(Path::new("/etc/passwd")));
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("run");
        fs::write(&script, "#! /bin/sh -e\nexit 0\n").unwrap();
        let (path, words) = resolve(script.as_os_str()).unwrap();
        assert_eq!((path, words), (PathBuf::from("/bin/sh"), vec!["-e".into(), script.clone().into()]));
        fs::write(&script, "#!/nowhere\n").unwrap();
        let message = resolve(script.as_os_str()).unwrap_err();
        assert!(message.starts_with("its interpreter /nowhere: No such file"), "{message}");
    }

    #[test]
    fn what_cannot_be_traced_is_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let message = |bytes: &[u8], mode: u32| {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            resolve(path.as_os_str()).unwrap_err()
        };
        assert_eq!(message(b"text", 0o755), "not a 64-bit program for Linux");
        let mut elf = fs::read("/proc/self/exe").unwrap()[..4096].to_vec();
        assert_eq!(message(&elf, 0o644), "not executable");
        assert_eq!(message(&elf, 0o4755), "set-uid and set-gid programs would lose their privileges when traced");
        elf[18] = 183;
        assert_eq!(message(&elf, 0o755), "not a program for x86-64, the only architecture that can be traced");
        assert_eq!(resolve(OsStr::new("no-such-command-anywhere")).unwrap_err(), "no such command");
    }
}
