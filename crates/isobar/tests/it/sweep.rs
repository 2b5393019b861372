//! `isobar sweep`: jobs with stable names, run once, resumed, merged and distributed.

use crate::support::processes::eventually;
use crate::support::{command, copy_program, isobar};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const WORKLOAD: &str = "machine = \"node:2 core:2\"\n[run]\nruns = 1\ninstructions_factor = 0.02\n\
                        [[app]]\nprogram = \"milc\"\n[[app]]\nprogram = \"namd\"\n";

/// A folder with a grid of two policies and two seeds, with additions.
fn grid(policies: &str, more: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    let file = folder.path().join("grid.toml");
    let text = format!(
        "[[sim]]\nworkloads = [\"w*.toml\"]\npolicies = {policies}\nseeds = {{ first = 1, count = 2 }}\n{more}"
    );
    fs::write(&file, text).unwrap();
    (folder, file.display().to_string())
}

fn results(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder.join("grid.sweep/jobs")).into_iter().flatten();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    names
}

#[test]
fn a_grid_is_run_once_and_merged() {
    let (folder, file) = grid(r#"["linux", "n-mass"]"#, "");
    let listed = isobar(&["sweep", &file, "--list"]);
    assert_eq!(listed.done().lines().filter(|line| line.starts_with("to do   sim-w-")).count(), 4, "{}", listed.out);
    let first = isobar(&["sweep", &file]);
    assert!(first.done().starts_with("4 jobs done, 0 of them earlier; 0 failed"), "{}", first.out);
    let names = results(folder.path());
    let again = isobar(&["sweep", &file, "--json"]).document();
    assert_eq!((again["done_before"].as_u64(), again["done_now"].as_u64()), (Some(4), Some(0)));
    let merged = isobar(&["sweep", &file, "--merge"]);
    let lines: Vec<_> = merged.done().lines().collect();
    assert!(lines[0].starts_with("job,kind,workload,policy,seed,settings,unfairness,"), "{}", lines[0]);
    assert_eq!(lines.len(), 5);
    let rows = isobar(&["sweep", &file, "--merge", "--json"]).documents();
    assert_eq!(rows[0]["vs_linux_percent"].as_f64(), Some(0.0));
    assert!(rows[2]["vs_linux_percent"].is_f64() && rows[2]["apps"].is_array(), "{}", rows[2]);
    // If the content of a file changes, its jobs are different jobs; the old results stay.
    fs::write(folder.path().join("w.toml"), WORKLOAD.replace("0.02", "0.03")).unwrap();
    assert!(isobar(&["sweep", &file, "--list"]).done().lines().all(|line| line.starts_with("to do")));
    isobar(&["sweep", &file, "--shard", "1/2"]).done();
    let now = results(folder.path());
    assert!(now.len() == 6 && names.iter().all(|name| now.contains(name)), "{now:?}");
    isobar(&["sweep", &file, "--shard", "2/2"]).done();
    assert_eq!(isobar(&["sweep", &file, "--merge"]).done().lines().count(), 5);
}

#[test]
fn a_job_that_fails_keeps_no_other_from_running_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("policy.sh");
    fs::write(&program, "echo 'no such key' >&2; exit 1").unwrap();
    let (grid_folder, file) = grid(&format!(r#"["exec:sh {}", "linux"]"#, program.display()), "");
    let failed = isobar(&["sweep", &file]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.out.starts_with("2 jobs done, 0 of them earlier; 2 failed"), "{}", failed.out);
    let text = failed.out.lines().find_map(|line| line.strip_prefix("failed: ")).unwrap();
    assert!(fs::read_to_string(text).unwrap().contains("its last line on stderr: no such key"));
    assert!(isobar(&["sweep", &file, "--merge"]).err.contains("2 of 4 jobs have no result yet"));
    fs::write(&program, "while read -r line; do echo '{\"actions\": []}'; done").unwrap();
    let done = isobar(&["sweep", &file]);
    assert!(done.out.starts_with("4 jobs done, 2 of them earlier; 0 failed"), "{} {}", done.out, done.err);
    assert!(fs::read_dir(grid_folder.path().join("grid.sweep/failed")).unwrap().next().is_none());
}

#[test]
fn a_killed_sweep_goes_on_and_takes_its_jobs_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (program, pid) = (folder.path().join("policy.sh"), folder.path().join("pid"));
    fs::write(&program, format!("echo $$ > {}; exec sleep 600", pid.display())).unwrap();
    let (grid_folder, file) = grid(&format!(r#"["linux", "exec:sh {}"]"#, program.display()), "");
    let mut sweep = command(&["sweep", &file, "--jobs", "1"]).spawn().unwrap();
    let started = || fs::read_to_string(&pid).unwrap_or_default();
    eventually("a slow job has begun", || started().ends_with('\n'));
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    let stat = Path::new("/proc").join(started().trim()).join("stat");
    let state = || fs::read_to_string(&stat).unwrap_or_default();
    eventually("the job has ended with the sweep", || state().is_empty() || state().contains(") Z "));
    assert_eq!(results(grid_folder.path()).len(), 2, "whole results, and nothing else");
    fs::write(&program, "while read -r line; do echo '{\"actions\": []}'; done").unwrap();
    let done = isobar(&["sweep", &file]);
    assert!(done.out.starts_with("4 jobs done, 2 of them earlier; 0 failed"), "{} {}", done.out, done.err);
}

/// Like numasim, which ends its machine.
#[test]
fn a_sweep_that_is_asked_to_stop_lets_its_jobs_end_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (text, program) = (folder.path().join("text"), folder.path().join("machine"));
    let (ready, ended) = (folder.path().join("ready"), folder.path().join("ended"));
    let script = format!(
        "#!/bin/sh\nsleep 600 &\ntrap 'kill $!; echo orderly > {}; exit 1' TERM\necho $! > {}\nwait\n",
        ended.display(),
        ready.display()
    );
    fs::write(&text, script).unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
    copy_program(&text, &program);
    fs::write(folder.path().join("e.toml"), "").unwrap();
    let file = folder.path().join("grid.toml");
    let grid = format!("[[numasim]]\nexperiments = [\"e.toml\"]\nseeds = [1]\ncommand = '{}'\n", program.display());
    fs::write(&file, grid).unwrap();
    let mut sweep = command(&["sweep", file.to_str().unwrap()]).spawn().unwrap();
    let child = || fs::read_to_string(&ready).unwrap_or_default();
    eventually("the job has begun", || child().ends_with('\n'));
    let stopped = Command::new("kill").args(["-s", "TERM", &sweep.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    assert_eq!(sweep.wait().unwrap().code(), Some(1), "a job is left to do");
    assert_eq!(fs::read_to_string(&ended).unwrap(), "orderly\n");
    let stat = Path::new("/proc").join(child().trim()).join("stat");
    let state = || fs::read_to_string(&stat).unwrap_or_default();
    eventually("what the job started has ended", || state().is_empty() || state().contains(") Z "));
    assert_eq!(results(folder.path()), [""; 0]);
}

#[test]
fn what_is_wrong_is_said_before_the_first_job() {
    for (policies, more, said) in [
        (r#"["dyno"]"#, "", "[[sim]] number 1: unknown policy `dyno`"),
        (r#"["exec:./none.py"]"#, "", "./none.py is not found"),
        ("[]", "", "policies is empty: expected one or more"),
        (r#"["linux"]"#, "seed = 3\n", "grid.toml:5: unknown field `seed`"),
        (r#"["linux"]"#, "schedules = \"every\"\n", "expected auto, all or sampled"),
        (r#"["linux"]"#, "settings = [[\"dino.window=3\"]]\n", "dino.window: unknown key"),
        (
            r#"["linux"]"#,
            "[[study]]\nprofiles = [\"p.csv\"]\nworkloads = [\"l.txt\"]\nalgorithms = [\"none\"]\n",
            "p.csv: cannot be read",
        ),
    ] {
        let (folder, file) = grid(policies, more);
        isobar(&["sweep", &file]).refused(&["grid.toml", said]);
        assert!(!folder.path().join("grid.sweep").exists());
    }
    isobar(&["sweep", "none.toml"]).refused(&["none.toml: cannot be read", "expected a TOML file of a sweep"]);
    let (_folder, file) = grid(r#"["linux"]"#, "");
    isobar(&["sweep", &file, "--shard", "3/2"]).refused(&["expected I/N with I from 1 to N"]);
}

#[test]
fn a_job_array_is_written_for_slurm_and_its_tasks_are_all_the_jobs() {
    let (folder, file) = grid(r#"["linux", "n-mass"]"#, "");
    let cluster = folder.path().join("cluster");
    let said = isobar(&["sweep", &file, "--slurm", &cluster.display().to_string(), "--tasks", "3"]);
    assert!(said.done().starts_with("4 jobs in 3 tasks: sbatch "), "{}", said.out);
    let script = fs::read_to_string(cluster.join("sweep.sbatch")).unwrap();
    assert!(script.contains("#SBATCH --array=1-3\n"), "{script}");
    // Runs it task by task, as Slurm does.
    for task in 1..=3 {
        let mut bash = Command::new("bash");
        let run = bash.arg(cluster.join("sweep.sbatch")).env("SLURM_ARRAY_TASK_ID", task.to_string()).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    assert_eq!(results(folder.path()).len(), 4);
}
