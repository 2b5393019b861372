//! Runs the program on a page that a stand-in for the plugin keeps, and uses its files as any tool
//! would. The test needs root and /dev/fuse; if they are missing, it prints so and passes.

#![allow(clippy::unwrap_used)]

#[path = "../../../page/tests/stand_in/mod.rs"]
mod stand_in;

use numasim_page::{Guest, Mapping, Words, layout};
use rustix::process::{Pid, Signal, kill_process};
use stand_in::Plugin;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Four CPUs that share a last-level cache, as the kernel shows them.
fn cpus(folder: &Path) {
    for cpu in 0..4 {
        let cache = folder.join(format!("cpu{cpu}/cache/index3"));
        fs::create_dir_all(&cache).unwrap();
        fs::write(cache.join("level"), "3\n").unwrap();
        fs::write(cache.join("id"), "7\n").unwrap();
    }
}

fn start(page: &Path, mount: &Path, cpus: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numasim-resctrl"));
    command.arg("--page").arg(page).arg("--mount").arg(mount).arg("--cpus").arg(cpus);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("mounted on "), "{line}");
    child
}

#[test]
fn what_is_written_stands_on_the_page_and_is_gone_at_the_end() {
    if !isobar_resctrl_double::can_mount() {
        eprintln!("SKIPPED: a mount needs root and /dev/fuse; the program was not tested");
        return;
    }
    let [pages, mount, sys] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    cpus(sys.path());
    let own = u64::from(std::process::id());
    let plugin = Plugin::with_threads(pages.path(), &[own]);
    let words = Mapping::file(&plugin.path).unwrap();
    let of_thread = || words.load(layout::class_of(0));
    let page = Guest::open(Mapping::file(&plugin.path).unwrap()).unwrap();
    let mut child = start(&plugin.path, mount.path(), sys.path());
    let at = |file: &str| mount.path().join(file);
    assert_eq!(fs::read_to_string(at("schemata")).unwrap(), "    L3:7=ff\n");
    assert_eq!(fs::read_to_string(at("info/L3/num_closids")).unwrap(), "2\n", "half of three classes, at least");
    fs::create_dir(at("few")).unwrap();
    fs::write(at("few/schemata"), "L3:7=3\n").unwrap();
    fs::write(at("few/cpus_list"), "2-3\n").unwrap();
    let classes = || (0..5).map(|cpu| page.class(cpu)).collect::<Vec<_>>();
    assert_eq!((page.mask(0, 1), page.mask(0, 0), classes()), (0x3, 0xff, vec![0, 0, 1, 1, 0]));
    fs::write(at("few/tasks"), own.to_string()).unwrap();
    assert_eq!(of_thread(), 1 << 32 | own, "a task has its group's class");
    fs::create_dir(at("mon_groups/watched")).unwrap();
    fs::write(at("mon_groups/watched/cpus_list"), "0\n").unwrap();
    assert_eq!((page.mask(0, 2), classes()), (0xff, vec![2, 0, 1, 1, 0]), "counted by itself, with all ways");
    fs::write(at("schemata"), "L3:7=f0\n").unwrap();
    assert_eq!((page.mask(0, 2), page.mask(0, 0)), (0xf0, 0xf0), "with its parent's ways");
    fs::remove_dir(at("few")).unwrap();
    assert_eq!((page.mask(0, 1), classes(), of_thread()), (0xff, vec![2, 0, 0, 0, 0], 0));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!((page.mask(0, 0), page.mask(0, 2), classes()), (0xff, 0xff, vec![0; 5]));
    assert_eq!(fs::read_dir(mount.path()).unwrap().count(), 0, "unmounted");
}
