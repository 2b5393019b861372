//! The executable with file capabilities, run by users inside and outside its group.

use crate::support::{CommandOutput, said};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The capabilities that the installation recipe gives it.
const ALL: &str = "cap_sys_nice,cap_sys_ptrace,cap_perfmon,cap_net_admin+ep";
const GROUP: u32 = 64_321;

struct Installed {
    _folder: tempfile::TempDir,
    binary: PathBuf,
}

impl Installed {
    /// Installs the executable as in the recipe, with this mode; `None`, with the reason on stderr,
    /// if that is not possible here.
    fn with_mode(mode: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("isobar");
        crate::support::copy_program(env!("CARGO_BIN_EXE_isobar"), &binary);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let given = std::os::unix::fs::chown(&binary, None, Some(GROUP));
        fs::set_permissions(&binary, fs::Permissions::from_mode(mode)).unwrap();
        let granted = Command::new("setcap").arg(ALL).arg(&binary).stderr(Stdio::null()).status();
        let there = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_ok();
        if given.is_err() || !granted.is_ok_and(|status| status.success()) || !there {
            eprintln!("SKIPPED: needs root, setcap and setpriv to give an executable capabilities");
            return None;
        }
        let installed = Self { _folder: folder, binary };
        if installed.is_ignored() {
            eprintln!("SKIPPED: this file system is mounted nosuid, capabilities of its files do not count");
            return None;
        }
        Some(installed)
    }

    fn is_ignored(&self) -> bool {
        let options = Command::new("findmnt").args(["-no", "OPTIONS", "-T"]).arg(&self.binary).output();
        options.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("nosuid"))
    }

    /// Runs it as nobody, with an additional group.
    fn run(&self, group: Option<u32>, args: &[&str]) -> CommandOutput {
        let groups = group.map_or("--clear-groups".to_owned(), |group| format!("--groups={group}"));
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", &groups]).arg(&self.binary).args(args);
        command.env("ISOBAR_TEST_MANAGER_LOCK", "/no/such/lock").stdin(Stdio::null());
        said(&command.output().unwrap())
    }
}

/// Arguments that only watch, because a test must not interfere with another isobar.
const LOOK: [&str; 6] = ["manage", "--policy", "linux", "--dry-run", "--interval=0.2", "--for=0.4"];

#[test]
fn outside_the_group_the_capabilities_are_dropped_and_the_command_goes_on() {
    let Some(isobar) = Installed::with_mode(0o755) else { return };
    let outside = isobar.run(None, &LOOK);
    assert_eq!((outside.code, outside.err.lines().count()), (Some(0), 1), "{}", outside.err);
    for piece in ["the group 64321, which you are not in", "runs without them", "usermod -aG 64321 "] {
        assert!(outside.err.contains(piece), "`{piece}` expected in: {}", outside.err);
    }
    assert!(outside.out.contains("without CAP_SYS_NICE it cannot move"), "{}", outside.out);
    assert_eq!(outside.out.matches("setcap ").count(), 1, "one recipe: {}", outside.out);

    let member = isobar.run(Some(GROUP), &LOOK);
    let out = member.done();
    assert!(!out.contains("without CAP_SYS_NICE"), "{out}");
    assert!(out.contains("every user may run this isobar with its capabilities"), "{out}");
}

#[test]
fn as_the_recipe_has_it_there_is_nothing_to_remark() {
    let Some(isobar) = Installed::with_mode(0o750) else { return };
    let member = isobar.run(Some(GROUP), &LOOK);
    let out = member.done();
    assert!(!out.contains("without CAP_") && !out.contains("setcap"), "{out}");
}

#[test]
fn the_variable_for_tests_is_ignored_where_the_executable_has_power() {
    let Some(isobar) = Installed::with_mode(0o755) else { return };
    for group in [None, Some(GROUP)] {
        let said = isobar.run(group, &["restore", "--state", "/no/such/state.json"]);
        assert!(!said.err.contains("/no/such/lock"), "{}", said.err);
    }
}

#[test]
fn a_setuid_executable_goes_on_as_its_caller() {
    let Some(isobar) = Installed::with_mode(0o755) else { return };
    // Changing the owner or the mode removes the capabilities.
    std::os::unix::fs::chown(&isobar.binary, Some(0), Some(0)).unwrap();
    fs::set_permissions(&isobar.binary, fs::Permissions::from_mode(0o4755)).unwrap();
    let run = isobar.run(None, &LOOK);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("isobar ignores that its executable is setuid or setgid"), "{}", run.err);
    assert!(run.out.contains("without CAP_SYS_NICE it cannot move"), "{}", run.out);
}
