//! Finds or fetches what numasim needs and this machine may lack: QEMU 10, a kernel, numactl and
//! numad, busybox. What is here is used. Anything else is fetched if it can be, or reported with
//! the remedy. This file knows folders and packages, and builds nothing.

use crate::error::LabError;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first version whose plugins can control the guest's time
/// (`qemu_plugin_request_time_control`, 9.1) and see all that numasim needs.
const LEAST_QEMU: u32 = 10;
/// Programs that are needed to build an image, and the Debian packages that contain them.
pub const PROGRAMS: [(&str, &str); 6] = [
    ("busybox", BUSYBOX),
    ("cpio", "cpio"),
    ("cc", "gcc libc6-dev"),
    ("strip", "binutils"),
    ("ldd", "libc-bin"),
    ("cargo", "rustup (https://rustup.rs)"),
];
pub(crate) const BUSYBOX: &str = "busybox-static";
/// The variable that names a QEMU to use instead.
pub const QEMU_VARIABLE: &str = "NUMASIM_QEMU";
/// The variable that names a kernel to use instead.
pub const KERNEL_VARIABLE: &str = "NUMASIM_KERNEL";

/// A QEMU that numasim can use.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// The emulator.
    pub binary: PathBuf,
    /// Folders of its firmware, if it does not find this itself.
    pub firmware: Vec<PathBuf>,
    /// Its version, such as `10.0.2`.
    pub version: String,
}

impl Qemu {
    /// The file of the emulator, also if it was found in the path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let beside = self.binary.components().count() > 1;
        let found = || program(&self.binary.to_string_lossy(), "qemu-system-x86").ok();
        if beside { self.binary.clone() } else { found().unwrap_or_else(|| self.binary.clone()) }
    }
}

/// The root of this workspace, with sources and scripts.
#[must_use]
pub fn workspace() -> PathBuf {
    let here =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = here.join("../..");
    root.canonicalize().unwrap_or(root)
}

/// The folder for fetched files: `$NUMASIM_CACHE`, or `numasim` in the user's cache.
#[must_use]
pub fn cache() -> PathBuf {
    named("NUMASIM_CACHE").unwrap_or_else(|| user_cache().join("numasim"))
}

fn user_cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into())).join(".cache");
    named("XDG_CACHE_HOME").unwrap_or_else(home)
}

/// The path in a variable of the environment, if the variable is set.
pub(crate) fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// QEMU of at least version 10: `$NUMASIM_QEMU`; else the one in the path, if it is new enough;
/// else the one of Debian's backports, fetched.
///
/// # Errors
/// No QEMU is available; the message says why.
pub fn qemu() -> Result<Qemu, LabError> {
    if let Some(binary) = named(QEMU_VARIABLE) {
        return usable(&binary).map_err(|why| LabError::missing(QEMU_VARIABLE, why));
    }
    if let Ok(found) = usable(Path::new("qemu-system-x86_64")) {
        return Ok(found);
    }
    let folder = cache().join("qemu");
    fetch("qemu", &folder).map_err(|why| no_qemu(&why))?;
    usable(&folder.join("root/usr/bin/qemu-system-x86_64")).map_err(|why| no_qemu(&why))
}

fn no_qemu(why: &str) -> LabError {
    LabError::missing("QEMU 10", format!("{why} (install QEMU {LEAST_QEMU} or newer, or name one in ${QEMU_VARIABLE})"))
}

/// Whether numasim can use this QEMU; if not, why.
fn usable(binary: &Path) -> Result<Qemu, String> {
    let shown = binary.display();
    let output = Command::new(binary)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.success() {
        let missing = unresolved(binary);
        let remedy = "install them; `apt-get install qemu-system-x86` of the release brings most";
        let why = if missing.is_empty() {
            String::from_utf8_lossy(&output.stderr).trim().to_owned()
        } else {
            format!("libraries are missing: {}; {remedy}", missing.join(", "))
        };
        return Err(format!("{shown}: {why}"));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = version(&text).ok_or_else(|| format!("{shown}: `--version` prints no version"))?;
    let major: u32 = version.split('.').next().and_then(|part| part.parse().ok()).unwrap_or(0);
    if major < LEAST_QEMU {
        return Err(format!("{shown} is version {version}, too old: {LEAST_QEMU} is needed"));
    }
    Ok(Qemu { binary: binary.to_owned(), firmware: firmware(binary), version })
}

/// The version in a text such as `QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)`.
fn version(text: &str) -> Option<String> {
    let word = text.lines().next()?.split("version ").nth(1)?.split_whitespace().next()?;
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
}

/// Folders of firmware for an unpacked QEMU. An installed one finds its own.
fn firmware(binary: &Path) -> Vec<PathBuf> {
    let Some(share) = binary.parent().and_then(Path::parent).map(|usr| usr.join("share")) else { return Vec::new() };
    let folders = ["qemu", "seabios"].map(|name| share.join(name));
    let system = PathBuf::from("/usr/share/seabios");
    folders.into_iter().chain([system]).filter(|folder| folder.is_dir()).collect()
}

/// Libraries that the loader does not find.
fn unresolved(binary: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(binary).output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    text.lines()
        .filter(|line| line.contains("not found"))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// The guest's kernel: `$NUMASIM_KERNEL`, or the kernel of the machine test, fetched once.
///
/// # Errors
/// No kernel is available; the message says why.
pub fn kernel() -> Result<PathBuf, LabError> {
    if let Some(kernel) = named(KERNEL_VARIABLE) {
        return kernel_named(KERNEL_VARIABLE, &kernel);
    }
    let folder = kernels();
    fetch("kernel", &folder).map_err(|why| LabError::missing("the guest's kernel", why))?;
    // A folder that an earlier version filled may contain only the packed kernel, which boots, too.
    let unpacked = folder.join("vmlinux");
    Ok(if unpacked.is_file() { unpacked } else { folder.join("vmlinuz") })
}

/// A kernel by its file, or by its release: `7.3.4`, or `7.3` for the newest of that series. A
/// release is fetched once, as the cloud kernel that Debian offers. `asked` says in messages what
/// asked for it.
///
/// # Errors
/// There is no such kernel; the message says why.
pub fn kernel_named(asked: &str, name: &Path) -> Result<PathBuf, LabError> {
    if name.is_file() {
        return Ok(name.to_owned());
    }
    let release = name.to_str().filter(|name| is_release(name)).ok_or_else(|| {
        let shown = name.display();
        let problem = format!(
            "{shown} is neither a file nor a release: name a kernel image (bzImage, or vmlinux with PVH) with NUMA, \
             virtio-pci and virtio-console built in, or a release such as 6.12 or 7.3.4"
        );
        LabError::input(asked, problem)
    })?;
    let fetched = fetch_all(&["release", release], &kernels().join("releases"));
    fetched.map(PathBuf::from).map_err(|why| LabError::missing(asked, why))
}

fn kernels() -> PathBuf {
    named("ISOBAR_VM_CACHE").unwrap_or_else(|| user_cache().join("isobar-vm"))
}

/// Whether a text is two or three numbers with points between them.
fn is_release(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(numbers.len(), 2 | 3) && numbers.iter().all(is_number)
}

/// The folder with numactl and numad, fetched once and unpacked.
///
/// # Errors
/// They are not available; the message says why.
pub fn tools() -> Result<PathBuf, LabError> {
    let folder = cache().join("tools");
    fetch("tools", &folder).map_err(|why| LabError::missing("numactl and numad", why))?;
    Ok(folder.join("root"))
}

/// The folder with unpacked Debian packages and all that they depend on, except the C library. It
/// is fetched once for each `name`.
///
/// # Errors
/// The packages are not available; the message says why.
pub fn packages(name: &str, packages: &[String]) -> Result<PathBuf, LabError> {
    let folder = cache().join("packages").join(name);
    let mut words = vec!["packages"];
    words.extend(packages.iter().map(String::as_str));
    fetch_all(&words, &folder).map_err(|why| LabError::missing(&packages.join(" and "), why))?;
    Ok(folder.join("root"))
}

/// The path of a program of this machine.
///
/// # Errors
/// It is not installed; the message names `package`, which contains it.
pub fn program(name: &str, package: &str) -> Result<PathBuf, LabError> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| LabError::missing(name, format!("it is not installed: apt-get install {package}")))
}

fn fetch(what: &str, folder: &Path) -> Result<(), String> {
    fetch_all(&[what], folder).map(|_| ())
}

/// Runs `fetch.sh WHAT FOLDER FURTHER ...`, and returns what it printed.
fn fetch_all(words: &[&str], folder: &Path) -> Result<String, String> {
    let script = workspace().join("numasim/lab/fetch.sh");
    let (what, further) = words.split_at(words.len().min(1));
    let mut command = Command::new("bash");
    let output = command.arg(&script).args(what).arg(folder).args(further).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("bash {}: {error}", script.display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("fetch.sh failed without a message").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_old_ones_refused() {
        assert_eq!(version("QEMU emulator version 10.0.2 (Debian 1:10.0.2)\nCopyright").as_deref(), Some("10.0.2"));
        assert_eq!(version("something else"), None);
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old");
        std::fs::write(&old, "#!/bin/sh\necho 'QEMU emulator version 7.2.19'\n").unwrap();
        std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert!(usable(&old).unwrap_err().contains("version 7.2.19, too old: 10 is needed"));
        assert!(usable(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_kernel_is_a_file_or_a_release() {
        let releases = ["6.12", "7.3.4", "7", "7.3.4.1", "7.", ".3", "7.3-rc1", "vmlinuz"].map(is_release);
        assert_eq!(releases, [true, true, false, false, false, false, false, false]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vmlinuz");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(kernel_named("A", &file).unwrap(), file);
        let error = kernel_named("A", &folder.path().join("none")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("none is neither a file nor a release"));
    }
}
