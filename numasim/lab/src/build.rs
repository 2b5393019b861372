//! Builds what goes into a guest: Rust programs and the plugin with cargo, C programs with cc. It
//! decides folders and flags, and knows nothing of what a guest looks like.

use crate::error::LabError;
use crate::fetch::{self, named};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What cargo built.
pub struct Built {
    /// Programs, by the name that they have in the guest.
    pub programs: Vec<(String, PathBuf)>,
    /// The plugin.
    pub plugin: Option<PathBuf>,
}

/// The profile of [`cargo`]: `$NUMASIM_PROFILE`, or release if that is not set.
fn profile() -> String {
    std::env::var("NUMASIM_PROFILE").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "release".to_owned())
}

/// The folder in which [`cargo`] leaves what it built.
#[must_use]
pub fn built() -> PathBuf {
    let profile = profile();
    // Cargo's own exception: the folder of the profile `dev` has another name.
    let folder = if profile == "dev" { "debug" } else { &profile };
    target().join(folder)
}

/// The folder of cargo's builds. Reproducible builds have a folder of their own because their flags
/// differ: in one folder, each kind of build would undo the other's work.
fn target() -> PathBuf {
    let ordinary = named("CARGO_TARGET_DIR").unwrap_or_else(|| fetch::workspace().join("target"));
    if reproducible() { ordinary.join("numasim") } else { ordinary }
}

/// Whether a build has to give the same bytes wherever it is built. If a profile is named, or the
/// whole workspace is built, as in tests, the build shares what other builds have left.
fn reproducible() -> bool {
    named("NUMASIM_PROFILE").is_none() && named("BUILD_WORKSPACE").is_none()
}

/// Compiler flags that keep this machine's folders out of programs, because panic messages name
/// source files. If several prefixes fit a path, the last one counts.
fn remapped() -> Result<OsString, LabError> {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    let sources = named("CARGO_HOME").unwrap_or_else(home).join("registry/src");
    let registries = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&sources).into_iter().flatten();
        let mut all: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        all.sort();
        all
    };
    if registries().is_empty() {
        let mut fetch = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        checked("cargo fetch", fetch.args(["fetch", "--locked"]).current_dir(fetch::workspace()))?;
    }
    let folders = [(fetch::workspace(), "/numasim"), (target(), "/numasim/target")];
    let all = folders.into_iter().chain(registries().into_iter().map(|folder| (folder, "/cargo")));
    let variable = |name| std::env::var(name).ok();
    let mut flags = flags(variable("CARGO_ENCODED_RUSTFLAGS").as_deref(), variable("RUSTFLAGS").as_deref());
    for (folder, name) in all {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(folder);
        flag.push(format!("={name}"));
        flags.push(flag);
    }
    Ok(flags.join(OsString::from(ENCODED).as_os_str()))
}

/// The character that separates flags in `CARGO_ENCODED_RUSTFLAGS`.
const ENCODED: &str = "\u{1f}";

/// The caller's own flags. As in cargo, the encoded flags count alone if they are set.
fn flags(encoded: Option<&str>, plain: Option<&str>) -> Vec<OsString> {
    match encoded {
        Some(encoded) => encoded.split(ENCODED).filter(|flag| !flag.is_empty()).map(OsString::from).collect(),
        None => plain.unwrap_or_default().split_whitespace().map(OsString::from).collect(),
    }
}

/// Builds the director, the programs that every guest has, the wanted packages and the plugin,
/// unless a variable names a file to use instead. `NUMASIM_PLUGIN` names the plugin; `NUMASIM_` and
/// the name of a package in capitals, with `_` for `-`, names the package's program.
///
/// # Errors
/// Something does not build, or the plugin is not there.
pub fn binaries(wanted: &BTreeSet<String>, plain: bool) -> Result<Built, LabError> {
    let yours = |package: &str| named(&format!("NUMASIM_{}", package.to_uppercase().replace('-', "_")));
    let plugin = named("NUMASIM_PLUGIN");
    // Packages are built one after another. If cargo is given several packages, it builds each of
    // their dependencies with the features that any of them wants, so the director would be a
    // different program for each set of packages.
    cargo(&["numasim-guest", "numasim-page"])?;
    if !plain && plugin.is_none() {
        cargo(&["numasim-plugin"])?;
    }
    let packages = wanted.iter().map(String::as_str).filter(|package| yours(package).is_none());
    packages.into_iter().try_for_each(|package| cargo(&[package]))?;
    let built = built();
    let program = |package: &String| (package.clone(), yours(package).unwrap_or_else(|| built.join(package)));
    let mut programs: Vec<_> = wanted.iter().map(program).collect();
    let always = ["director", "numasim-counters", "numasim-ways"];
    programs.extend(always.map(|name| (name.to_owned(), built.join(name))));
    let plugin = (!plain).then(|| plugin.unwrap_or_else(|| built.join("libnumasim.so")));
    match &plugin {
        Some(path) if !path.is_file() => {
            Err(LabError::missing("the plugin", format!("{} does not exist", path.display())))
        }
        _ => Ok(Built { programs, plugin: plugin.map(|path| path.canonicalize().unwrap_or(path)) }),
    }
}

/// Builds packages of this workspace, or the whole workspace if `BUILD_WORKSPACE` is set. The build
/// is optimised unless `NUMASIM_PROFILE` says otherwise.
///
/// # Errors
/// The build fails; the message contains its first error.
pub fn cargo(packages: &[&str]) -> Result<(), LabError> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--locked", "--profile", &profile()]).current_dir(fetch::workspace());
    if reproducible() {
        command.arg("--target-dir").arg(target()).env("CARGO_ENCODED_RUSTFLAGS", remapped()?);
    }
    if named("BUILD_WORKSPACE").is_some() {
        command.args(["--workspace", "--lib", "--bins", "--examples"]);
    } else {
        packages.iter().for_each(|package| _ = command.args(["-p", package]));
    }
    checked("cargo build", &mut command)
}

/// Builds the C programs, once for all images, beside what cargo builds. Returns their names and
/// paths.
///
/// # Errors
/// A program does not compile.
pub fn c_programs() -> Result<Vec<(String, PathBuf)>, LabError> {
    let (sources, built) = (fetch::workspace().join("numasim/programs"), target().join("numasim-programs"));
    checked("numasim/programs/build.sh", Command::new("bash").arg(sources.join("build.sh")).arg(&built))?;
    let list = std::fs::read_dir(&sources).map_err(|error| LabError::io(&sources, error))?;
    let sources = list.filter_map(Result::ok).map(|entry| entry.path());
    let programs = sources.filter(|path| path.extension().is_some_and(|ending| ending == "c"));
    let name = |path: PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(programs.map(name).map(|name| (name.clone(), built.join(name))).collect())
}

/// Runs a command. Its output is shown only if it fails.
///
/// # Errors
/// The command is not there, or it fails; the message contains its first error.
pub fn checked(what: &str, command: &mut Command) -> Result<(), LabError> {
    let output = command.stdin(Stdio::null()).output();
    let output = output
        .map_err(|error| LabError::missing(what, format!("{}: {error}", command.get_program().to_string_lossy())))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let first = errors.lines().find(|line| line.starts_with("error")).or_else(|| errors.lines().last());
    Err(LabError::Boot(format!("{what}: {}: {}", output.status, first.unwrap_or("no message"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_caller_are_those_that_cargo_would_take() {
        assert_eq!(flags(None, Some("-C opt-level=1  -g")), ["-C", "opt-level=1", "-g"]);
        assert_eq!(flags(Some("--cfg\u{1f}name=\"a b\""), Some("-g")), ["--cfg", "name=\"a b\""]);
        assert_eq!((flags(Some(""), Some("-g")).len(), flags(None, None).len()), (0, 0));
    }
}
