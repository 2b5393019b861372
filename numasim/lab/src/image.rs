//! Builds the guest's image: busybox, the director, the programs, numasim-counters and numasim-ways
//! (which read and write the machine's page), numactl and numad, whatever else is asked for, and
//! the libraries that these are linked with. The image is packed once; the order of each boot is
//! laid over it.

use crate::build::{self, checked};
use crate::error::LabError;
use crate::fetch;
use crate::recipe::Recipe;
use crate::scratch::Scratch;
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What goes into the guest in addition to the director.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Packages of this workspace whose program, named like the package, goes into the guest.
    pub packages: BTreeSet<String>,
    /// Whether numactl and numad are included.
    pub tools: bool,
    /// Programs of this machine to add.
    pub add: Vec<PathBuf>,
    /// Files of this machine that appear in `/host` of the guest.
    pub files: Vec<PathBuf>,
    /// Recipes of Debian's programs, by name.
    pub recipes: BTreeSet<String>,
}

/// A built image.
#[derive(Clone, Debug)]
pub struct Image {
    /// The packed guest, without an order.
    pub archive: PathBuf,
    /// The plugin: a copy, because its file may be rebuilt while boots run.
    pub plugin: Option<PathBuf>,
    /// The file of which the plugin is a copy.
    pub plugin_from: Option<PathBuf>,
    /// The folder of scratch files, which contains the archive.
    folder: std::sync::Arc<Scratch>,
}

/// Builds the parts of an image and packs them.
///
/// # Errors
/// Something is missing or does not build.
pub fn build(contents: &Contents, plain: bool) -> Result<Image, LabError> {
    // Before anything is built, because building takes minutes.
    fetch::PROGRAMS.iter().try_for_each(|(name, package)| fetch::program(name, package).map(drop))?;
    let folder = Scratch::new()?;
    let root = folder.path().join("root");
    for name in ["bin", "etc", "proc", "sys", "dev", "tmp", "run", "var/run", "var/log", "lib64", "root"] {
        std::fs::create_dir_all(root.join(name)).map_err(|error| LabError::io(&root, error))?;
    }
    let bin = root.join("bin");
    busybox(&root)?;
    let built = build::binaries(&contents.packages, plain)?;
    for (name, program) in &built.programs {
        install(program, &bin.join(name), &root, &[])?;
    }
    host_files(&contents.files, &root.join("host"))?;
    c_programs(&bin)?;
    contents.recipes.iter().try_for_each(|name| recipe(&Recipe::read(name)?, &root))?;
    if contents.tools {
        let tools = fetch::tools()?;
        let libraries = tools.join("usr/lib/x86_64-linux-gnu");
        ["numactl", "numad"]
            .iter()
            .try_for_each(|name| install(&tools.join("usr/bin").join(name), &bin.join(name), &root, &[&libraries]))?;
    }
    // Last, so that none of the guest's own programs takes the place of one of the same name.
    for program in &contents.add {
        install(program, &bin.join(program.file_name().unwrap_or_default()), &root, &[])?;
    }
    executable(&fetch::workspace().join("numasim/guest/init"), &root.join("init"))?;
    let archive = folder.path().join("guest.cpio");
    pack(&root, &archive)?;
    std::fs::remove_dir_all(&root).map_err(|error| LabError::io(&root, error))?;
    let plugin =
        built.plugin.as_deref().map(|plugin| preloadable(plugin, &folder.path().join("plugin"))).transpose()?;
    Ok(Image { archive, plugin, plugin_from: built.plugin, folder: std::sync::Arc::new(folder) })
}

/// Copies a file under its own name into a folder, which is created if it is missing. The copy
/// makes sure that the bytes that are hashed are the bytes that boot, even if the file changes
/// meanwhile.
///
/// # Errors
/// The file or the folder cannot be read or written.
pub fn held(file: &Path, folder: &Path) -> Result<PathBuf, LabError> {
    std::fs::create_dir_all(folder).map_err(|error| LabError::io(folder, error))?;
    let to = folder.join(file.file_name().unwrap_or_default());
    copy(file, &to).map(|()| to)
}

/// Copies a library that is loaded by `LD_PRELOAD`. Because `LD_PRELOAD` splits paths at blanks and
/// colons, the file itself is used if the path of the copy's folder contains any.
fn preloadable(library: &Path, folder: &Path) -> Result<PathBuf, LabError> {
    let parted = |path: &Path| path.to_string_lossy().contains([' ', ':']);
    if parted(folder) { Ok(library.to_owned()) } else { held(library, folder) }
}

impl Image {
    /// An image that nothing boots, for tests that only look at it.
    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        let folder = std::sync::Arc::new(Scratch::new().unwrap());
        Self { archive: "guest.cpio".into(), plugin: Some("libnumasim.so".into()), plugin_from: None, folder }
    }

    /// Writes the image with further files laid over it (path in the guest, content) to `to`.
    /// Archives may follow one another (see
    /// Documentation/driver-api/early-userspace/buffer-format.rst).
    ///
    /// # Errors
    /// A file cannot be read or written, or cpio fails.
    pub fn with(&self, files: &[(&str, String)], to: &Path) -> Result<(), LabError> {
        let within = self.folder.path();
        let folder = tempfile::tempdir_in(within).map_err(|error| LabError::io(within, error))?;
        for (path, content) in files {
            let at = folder.path().join(path.trim_start_matches('/'));
            at.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|error| LabError::io(&at, error))?;
            std::fs::write(&at, content).map_err(|error| LabError::io(&at, error))?;
        }
        let overlay = to.with_extension("overlay");
        pack(folder.path(), &overlay)?;
        let read = |path: &Path| std::fs::read(path).map_err(|error| LabError::io(path, error));
        let mut whole = read(&self.archive)?;
        whole.extend(read(&overlay)?);
        std::fs::write(to, whole).map_err(|error| LabError::io(to, error))?;
        std::fs::remove_file(&overlay).map_err(|error| LabError::io(&overlay, error))
    }
}

/// Copies files into a folder under their own names.
fn host_files(files: &[PathBuf], to: &Path) -> Result<(), LabError> {
    if !files.is_empty() {
        std::fs::create_dir_all(to).map_err(|error| LabError::io(to, error))?;
    }
    files.iter().try_for_each(|file| copy(file, &to.join(file.file_name().unwrap_or_default())))
}

/// Installs the C programs, and the program that reports the director's verdict to QEMU.
fn c_programs(bin: &Path) -> Result<(), LabError> {
    for (name, program) in build::c_programs()? {
        let to = bin.join(name);
        let _ = std::fs::remove_file(&to); // one of busybox's of the same name
        copy(&program, &to)?;
    }
    let source = fetch::workspace().join("tests/vm/programs/verdict.c");
    checked("cc verdict.c", Command::new("cc").args(["-O1", "-static", "-o"]).arg(bin.join("verdict")).arg(source))
}

fn busybox(root: &Path) -> Result<(), LabError> {
    let busybox = fetch::program("busybox", fetch::BUSYBOX)?;
    if !libraries(&busybox, &[]).is_empty() {
        return Err(LabError::missing("busybox", format!("it is not static: apt-get install {}", fetch::BUSYBOX)));
    }
    let bin = root.join("bin");
    copy(&busybox, &bin.join("busybox"))?;
    let list = Command::new(&busybox).arg("--list").output().map_err(|error| LabError::io(&busybox, error))?;
    for name in String::from_utf8_lossy(&list.stdout).lines().filter(|name| *name != "busybox") {
        symlink("busybox", bin.join(name)).map_err(|error| LabError::io(&bin, error))?;
    }
    Ok(())
}

/// Installs what a recipe needs: its script, and the programs and libraries of its packages.
fn recipe(recipe: &Recipe, root: &Path) -> Result<(), LabError> {
    let (bin, scripts) = (root.join("bin"), root.join("lib/real"));
    std::fs::create_dir_all(&scripts).map_err(|error| LabError::io(&scripts, error))?;
    copy(&recipe.script, &scripts.join(&recipe.name))?;
    for source in &recipe.sources {
        let to = bin.join(source.file_stem().unwrap_or_default());
        checked(
            &format!("cc {}", source.display()),
            Command::new("cc").args(["-O2", "-o"]).arg(&to).arg(source).arg("-ldl"),
        )?;
        install(&to, &to, root, &[])?;
    }
    if recipe.packages.is_empty() {
        return Ok(());
    }
    let packages = fetch::packages(&recipe.name, &recipe.packages)?;
    let folders = ["usr/lib", "lib"].map(|lib| packages.join(lib).join("x86_64-linux-gnu"));
    let search: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let there = |path: &String| {
        let at = packages.join(path.trim_start_matches('/'));
        let missing = || LabError::missing(path, format!("{} have no such file", recipe.packages.join(" and ")));
        at.exists().then_some(at).ok_or_else(missing)
    };
    for program in &recipe.programs {
        let from = there(program)?;
        install(&from, &bin.join(from.file_name().unwrap_or_default()), root, &search)?;
    }
    for library in &recipe.libraries {
        let from = there(library)?;
        install(&from, &root.join("lib/x86_64-linux-gnu").join(from.file_name().unwrap_or_default()), root, &search)?;
    }
    Ok(())
}

/// Installs a program or library at its place in the guest, with everything that it is linked with.
/// It replaces a program of busybox of the same name.
fn install(program: &Path, to: &Path, root: &Path, search: &[&Path]) -> Result<(), LabError> {
    if program != to {
        to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|error| LabError::io(to, error))?;
        let _ = std::fs::remove_file(to);
        let stripped = Command::new("strip").arg("-o").arg(to).arg(program).stderr(Stdio::null()).status();
        if !stripped.is_ok_and(|status| status.success()) {
            copy(program, to)?;
        }
    }
    for library in libraries(program, search) {
        // A library of an unpacked package goes to a folder in which the guest's loader looks.
        let found = search.iter().any(|folder| library.starts_with(folder));
        let place = if found {
            Path::new("/lib/x86_64-linux-gnu").join(library.file_name().unwrap_or_default())
        } else {
            library.clone()
        };
        let at = root.join(place.strip_prefix("/").unwrap_or(&place));
        at.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|error| LabError::io(&at, error))?;
        if !at.exists() {
            copy(&library, &at)?;
        }
    }
    Ok(())
}

/// The libraries of a program, as the loader finds them. A static program has none.
fn libraries(program: &Path, search: &[&Path]) -> Vec<PathBuf> {
    let mut command = Command::new("ldd");
    if let Ok(folders) = std::env::join_paths(search) {
        command.env("LD_LIBRARY_PATH", folders);
    }
    let output = command.arg(program).stderr(Stdio::null()).output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    text.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')).map(PathBuf::from).collect()
}

/// Makes an executable copy, whatever mode the file has in the checkout.
fn executable(from: &Path, to: &Path) -> Result<(), LabError> {
    copy(from, to)?;
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755)).map_err(|error| LabError::io(to, error))
}

fn copy(from: &Path, to: &Path) -> Result<(), LabError> {
    std::fs::copy(from, to).map(|_| ()).map_err(|error| LabError::io(from, error))
}

/// Packs a folder. The same files always give the same bytes: order, times, inodes and devices are
/// fixed, because the guest reads these and reading takes it time. Only root may write to the
/// guest's folders, whatever the umask here, because a daemon that runs as root may refuse other
/// folders.
fn pack(root: &Path, to: &Path) -> Result<(), LabError> {
    const PACK: &str = "chmod -R go-w . && find . -exec touch -h -d @0 {} + && find . | LC_ALL=C sort | cpio \
                        -o -H newc -R 0:0 --reproducible --quiet > \"$0\"";
    let mut command = Command::new("sh");
    command.args(["-c", PACK]).arg(to).current_dir(root);
    checked("cpio", &mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_file_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("libnumasim.so");
        std::fs::write(&built, "first").unwrap();
        let copy = preloadable(&built, &folder.path().join("held")).unwrap();
        std::fs::write(&built, "second").unwrap();
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "first");
        assert_eq!(preloadable(&built, &folder.path().join("a b")).unwrap(), built, "LD_PRELOAD would part it");
    }
}
