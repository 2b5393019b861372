//! Children that isobar may not unbind are reported, however long ago they were started.

use crate::live::helper::{Helper, orders};
use crate::live::shell::Shell;
use crate::live::watch::Watch;
use crate::live::{Scene, eventually, move_one};
use isobar_linux::kernel::identity;
use isobar_linux::machine::Sensing;
use isobar_model::Pid;
use std::process::{Command, Stdio};

/// More samples than a mask that is not in use is remembered for.
const SAMPLES: usize = 50;

/// Moves a shell, which makes a child of another user.
#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_without_cap_sys_nice() {
    let Some([]) = orders() else { return };
    let Some(scene) = Scene::set() else { return println!("said SKIPPED") };
    let mut actuators = scene.actuators();
    let mut shell = Shell::start();
    move_one(&mut actuators, shell.process.request(scene.second));
    let heir = shell.makes("setpriv --reuid=65534 --clear-groups sleep 30 >/dev/null & echo $!");
    let pid = Pid(heir.0.0);
    eventually("the child belongs to another user", || identity::name(pid) == "sleep");
    let mut watch = Watch::of(vec![shell.process.pid(), pid]);
    (0..SAMPLES).for_each(|_| actuators.reconcile(&mut watch.sample().unwrap()));
    let remarks = actuators.restore().unwrap().remarks;
    let remark = remarks.iter().find(|remark| remark.contains(&format!("process {pid} ")));
    println!("said {}", remark.map_or("nothing", String::as_str));
}

#[test]
fn a_child_that_may_not_be_unbound_is_reported_at_the_end() {
    // A container may lack the user, the right to drop rights, or a setpriv that can.
    let works = |arguments: &[&str]| {
        let tried = Command::new("setpriv").args(arguments).arg("true").stderr(Stdio::null()).status();
        tried.is_ok_and(|ended| ended.success())
    };
    let drops = ["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"];
    if !rustix::process::getuid().is_root() || !works(&drops) || !works(&["--reuid=65534", "--clear-groups"]) {
        return eprintln!("SKIPPED: needs root and setpriv to drop CAP_SYS_NICE");
    }
    let mut weak = Command::new("setpriv");
    weak.args(drops).arg(std::env::current_exe().unwrap());
    let mut helper = Helper::start_as(&mut weak, "refused_heirs::helper_without_cap_sys_nice", &[]);
    let said = helper.hear("said ");
    if said != "SKIPPED" {
        assert!(said.contains("the kernel refused to unbind it"), "{said}");
    }
}
