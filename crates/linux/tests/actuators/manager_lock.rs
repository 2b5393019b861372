//! One manager per machine: processes of several users that register, and some that only hold the
//! lock.

use crate::live::helper::{Helper, as_nobody, orders, public_copy};
use isobar_linux::actuators::manager_lock::ManagerLock;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file that every user may read and only its owner may write, like the kernel's, and the
/// programs that lock it.
struct Machine {
    folder: tempfile::TempDir,
    lock: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("lock");
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o444)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, lock }
    }

    fn start(&self, test: &str) -> Helper {
        self.start_as(&mut Command::new(std::env::current_exe().unwrap()), test)
    }

    fn start_as(&self, command: &mut Command, test: &str) -> Helper {
        Helper::start_as(command, test, &[&self.lock.display()])
    }

    /// A copy of this program under a name by which others take it for an isobar, or do not.
    fn copy(&self, name: &str) -> PathBuf {
        public_copy(self.folder.path(), name)
    }

    fn take(&self) -> Result<ManagerLock, String> {
        ManagerLock::take(&self.lock).map_err(|error| error.to_string())
    }
}

fn pid(helper: &Helper) -> String {
    format!("pid {},", helper.process.pid())
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_manages() {
    let Some([lock]) = orders() else { return };
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let taken = ManagerLock::take(Path::new(&lock));
    match &taken {
        Ok(lock) => println!("said MANAGES {}", lock.remarks().join(" | ")),
        Err(error) => println!("said REFUSED {error}"),
    }
    // Waits until the test has heard all helpers.
    std::io::stdin().read_line(&mut line).unwrap();
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_squats() {
    let Some([lock]) = orders() else { return };
    let file = File::open(lock).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap();
    println!("squats");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Lets one helper try to manage, and returns what it reports.
fn tries(helper: &mut Helper) -> String {
    helper.hear("ready");
    helper.send("go");
    helper.hear("said ")
}

/// Starts a helper, which must report that it manages.
fn manages(mut helper: Helper) -> Helper {
    let said = tries(&mut helper);
    assert!(said.starts_with("MANAGES"), "{said}");
    helper
}

/// Starts a helper, which must report why it does not manage.
fn refused(mut helper: Helper) -> String {
    let said = tries(&mut helper);
    assert!(said.starts_with("REFUSED"), "{said}");
    said
}

#[test]
fn a_second_manager_is_refused_and_the_first_is_named() {
    let machine = Machine::new();
    let mut first = manages(machine.start("manager_lock::helper_manages"));
    let message = machine.take().unwrap_err();
    assert!(message.starts_with("another isobar manages this machine (pid "), "{message}");
    // The command in the message is cut if it is long, as it is below a long path.
    let program = std::env::current_exe().unwrap().display().to_string();
    let begun = format!("`{}", &program[..program.len().min(40)]);
    assert!(message.contains(&pid(&first)) && message.contains(&begun), "{message}");
    assert!(message.contains(&format!("`kill {}`", first.process.pid())) && !message.contains('\n'), "{message}");
    first.process.end();
    assert_eq!(machine.take().unwrap().remarks(), [""; 0], "a kill -9 ends it");
}

#[test]
fn of_many_that_start_at_the_same_time_exactly_one_goes_on() {
    for _ in 0..5 {
        let machine = Machine::new();
        let mut helpers: Vec<_> = (0..8).map(|_| machine.start("manager_lock::helper_manages")).collect();
        helpers.iter_mut().for_each(|helper| drop(helper.hear("ready")));
        helpers.iter_mut().for_each(|helper| helper.send("go"));
        let said: Vec<_> = helpers.iter_mut().map(|helper| helper.hear("said ")).collect();
        assert_eq!(said.iter().filter(|said| said.starts_with("MANAGES")).count(), 1, "{said:?}");
    }
}

#[test]
fn users_without_privileges_do_not_keep_root_from_managing() {
    let machine = Machine::new();
    let Some(mut isobar) = as_nobody(&machine.copy("isobar-of-nobody")) else { return };
    let mut theirs = manages(machine.start_as(&mut isobar, "manager_lock::helper_manages"));
    let Some(mut other) = as_nobody(&machine.copy("something-else")) else { return };
    let mut squatter = machine.start_as(&mut other, "manager_lock::helper_squats");
    squatter.hear("squats");

    let ours = machine.take().unwrap();
    let [first, second] = ours.remarks() else { panic!("{:?}", ours.remarks()) };
    let (isobar, stranger) = if first.contains("another isobar") { (first, second) } else { (second, first) };
    assert!(isobar.contains(&pid(&theirs)) && isobar.contains("look pinned by their owner"), "{isobar}");
    assert!(stranger.contains(&pid(&squatter)) && stranger.contains("is not isobar"), "{stranger}");

    theirs.send("end");
    squatter.send("end");
}

#[test]
fn a_user_is_refused_while_root_manages_and_while_the_same_user_does() {
    let machine = Machine::new();
    let (of_root, of_nobody) = (machine.copy("isobar-of-root"), machine.copy("isobar-of-nobody"));
    let nobodys =
        || as_nobody(&of_nobody).map(|mut command| machine.start_as(&mut command, "manager_lock::helper_manages"));
    let Some(second) = nobodys() else { return };
    let roots = manages(machine.start_as(&mut Command::new(&of_root), "manager_lock::helper_manages"));
    let message = refused(second);
    assert!(message.contains(&format!("{} user root", pid(&roots))), "{message}");
    drop(roots);
    let first = manages(nobodys().unwrap());
    assert!(refused(nobodys().unwrap()).contains(&pid(&first)));
}

#[test]
fn capabilities_in_a_user_namespace_of_ones_own_count_for_nothing() {
    let machine = Machine::new();
    let Some(mut command) = as_nobody(Path::new("unshare")) else { return };
    let possible = as_nobody(Path::new("unshare")).unwrap().args(["-U", "-r", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: users may make no user namespaces here");
        return;
    }
    command.args(["-U", "-r"]).arg(machine.copy("isobar-of-nobody"));
    let theirs = manages(machine.start_as(&mut command, "manager_lock::helper_manages"));
    let ours = machine.take().unwrap();
    assert!(ours.remarks().iter().any(|remark| remark.contains(&pid(&theirs))), "{:?}", ours.remarks());
}
