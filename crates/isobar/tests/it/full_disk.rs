//! The disk of the state file fills up while `isobar manage` runs: it ends with the reason, and
//! every affinity mask is as it was before.

use crate::support::command;
use crate::support::processes::{Kept, cpus_of, eventually, state_in};
use crate::support::small_disk::Small;
use std::io::Read;
use std::process::Stdio;

#[test]
fn what_was_changed_is_put_back_when_the_disk_is_full() {
    let Some(small) = Small::mount() else { return };
    let folder = tempfile::tempdir().unwrap();
    // A copy of `sleep` under a name of its own.
    let program = folder.path().join("isotest-full");
    crate::support::copy_program("/bin/sleep", &program);
    let all = cpus_of("self");
    let Some(cpu) = all.split(['-', ',']).next().filter(|first| *first != all) else {
        eprintln!("SKIPPED: needs two CPUs, this process may use {all}");
        return;
    };
    let first = Kept::start(&program, &["60"]);
    let state = small.path().join("state.json");
    let settings =
        [state_in(small.path()), format!("fixed.threads=isotest-full={cpu}"), "manage.min_cpu_percent=0".to_owned()];
    let mut args = vec!["manage", "--policy", "fixed", "--only", "isotest-full", "--interval", "0.2", "--for", "60"];
    settings.iter().for_each(|setting| args.extend(["--set", setting]));
    let mut manage = Kept(command(&args).stdout(Stdio::null()).spawn().unwrap());
    eventually("the first process bound", || first.cpus() == cpu);
    small.fill();
    let second = Kept::start(&program, &["60"]);
    let mut ended = None;
    eventually("its end", || {
        ended = manage.0.try_wait().unwrap();
        ended.is_some()
    });
    let mut err = String::new();
    manage.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(ended.unwrap().code(), Some(1), "{err}");
    assert!(err.contains("state.json") && err.contains("No space left on device"), "{err}");
    assert_eq!((first.cpus(), second.cpus()), (all.clone(), all));
    assert!(!state.exists());
}
