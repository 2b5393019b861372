//! However `isobar manage` is asked to stop, it puts back what it changed, or says what it could
//! not put back.

use crate::support::processes::{Kept, eventually, state_in};
use crate::support::{CommandOutput, command, isobar, said};
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An isobar that has bound a process to one CPU, with the folder of its state file.
pub struct Manage {
    child: Child,
    subject: Kept,
    before: String,
    folder: tempfile::TempDir,
}

impl Manage {
    /// Starts it; `None`, with the reason on stderr, on a machine with one CPU.
    pub fn start(settings: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        Self::start_as(&["manage", "--for", "60"], "fixed", settings, environment)
    }

    /// Starts it by another command, or with another policy that makes the same move.
    fn start_as(verb: &[&str], policy: &str, settings: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        let subject = Kept::start("sleep", &["60"]);
        let before = subject.cpus();
        let last = before.split(['-', ',']).next_back().unwrap().to_owned();
        if before == last {
            eprintln!("SKIPPED: needs two CPUs, this process may use one");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let state = state_in(folder.path());
        let place = format!("fixed.threads=sleep={last}");
        let (pid, known) = (subject.pid(), [verb, &["--policy", policy, "--interval", "0.05"]].concat());
        let all = ["--only", &pid, "--set", &state, "--set", &place, "--set", "manage.min_cpu_percent=0"];
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        let args: Vec<&str> = known.into_iter().chain(all).chain(sets).collect();
        let variables = [("SUBJECT", pid.as_str()), ("CPU", &last)];
        let child = command(&args).envs(variables).envs(environment.iter().copied()).spawn().unwrap();
        eventually("the process was bound", || subject.cpus() == last);
        Some(Self { child, subject, before, folder })
    }

    pub fn signal(&self, name: &str) {
        // It is no failure here if the process has already ended.
        let _ = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).stderr(Stdio::null()).status();
    }

    /// Waits until it ends, and reads its output meanwhile.
    pub fn end(mut self) -> (CommandOutput, Ended) {
        let mut out = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
        let mut said = said(&self.child.wait_with_output().unwrap());
        said.out = String::from_utf8(out).unwrap();
        (said, Ended { subject: self.subject, before: self.before, folder: self.folder })
    }
}

/// What is left after a run.
pub struct Ended {
    subject: Kept,
    before: String,
    pub folder: tempfile::TempDir,
}

impl Ended {
    #[track_caller]
    pub fn is_put_back(&self, how: &str) {
        assert_eq!(self.subject.cpus(), self.before, "after {how}");
        let left: Vec<_> = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name == "state.json"), "after {how}: {left:?}");
    }
}

/// Whether this process ignores SIGHUP, which its children inherit (`SigIgn`, proc(5)).
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 != 0
}

#[test]
fn every_signal_to_stop_puts_back() {
    for signal in
        ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ALRM", "XCPU", "XFSZ", "ABRT", "PIPE", "VTALRM", "RTMIN"]
    {
        if signal == "HUP" && ignores_hangup() {
            eprintln!("SKIPPED: SIGHUP: these tests run under nohup, and so would isobar, which then goes on");
            continue;
        }
        let Some(manage) = Manage::start(&[], &[]) else { return };
        manage.signal(signal);
        let (said, ended) = manage.end();
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "SIG{signal}");
        assert!(said.out.contains("stopped by a signal"), "SIG{signal}: {}", said.out);
        ended.is_put_back(signal);
    }
}

#[test]
fn more_signals_do_not_cut_the_put_back_short() {
    for burst in [&["TERM", "TERM"][..], &["INT", "INT", "INT"], &["HUP", "TERM", "QUIT", "INT", "HUP", "TERM"]] {
        for _ in 0..3 {
            let Some(manage) = Manage::start(&[], &[]) else { return };
            burst.iter().for_each(|signal| manage.signal(signal));
            let (said, ended) = manage.end();
            assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{burst:?}");
            ended.is_put_back(&format!("{burst:?}"));
        }
    }
}

#[test]
fn a_loop_that_hangs_is_ended_in_bounded_time_and_says_what_is_left() {
    let hang = [("ISOBAR_TEST_HANG_AT_EPOCH", "6")];
    let Some(manage) = Manage::start(&["manage.stop_seconds=0.5"], &hang) else { return };
    std::thread::sleep(Duration::from_millis(600));
    manage.signal("TERM");
    manage.signal("TERM");
    let (said, ended) = manage.end();
    let state = ended.folder.path().join("state.json").display().to_string();
    let restore = format!("run `isobar restore --state {state}`");
    said.failed(1, &["asked to stop 0.5 s ago", "1 threads, resctrl groups or switches are not put back", &restore]);
    assert_ne!(ended.subject.cpus(), ended.before, "it is as it was said");
    assert!(isobar(&["restore", "--state", &state]).done().contains("1 threads put back"));
    ended.is_put_back("restore");
}

/// `top` knows what it has changed, too.
#[test]
fn a_frame_that_hangs_says_what_is_left() {
    let hang = [("ISOBAR_TEST_HANG_AT_EPOCH", "2")];
    let verb = ["top", "--once", "--act", "--for", "60"];
    let Some(top) = Manage::start_as(&verb, "fixed", &["manage.stop_seconds=0.5"], &hang) else { return };
    std::thread::sleep(Duration::from_secs(2));
    top.signal("TERM");
    let (said, ended) = top.end();
    said.failed(1, &["asked to stop 0.5 s ago", "1 threads, resctrl groups or switches are not put back"]);
    let state = ended.folder.path().join("state.json").display().to_string();
    isobar(&["restore", "--state", &state]).done();
    ended.is_put_back("restore");
}

/// The program moves the process at its first observation, and does not answer the second.
#[test]
fn a_program_that_stalls_does_not_delay_the_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("policy.sh");
    let action = r#"{\"kind\":\"move_thread\",\"pid\":$SUBJECT,\"tid\":$SUBJECT,\"cpu\":$CPU,\"reason\":\"test\"}"#;
    let asked = folder.path().join("asked");
    let second = format!("read -r line; : > {}; exec sleep 600", asked.display());
    let script = format!("read -r line; echo \"{{\\\"actions\\\":[{action}]}}\"; {second}");
    fs::write(&program, script).unwrap();
    let policy = format!("exec:sh {}", program.display());
    let settings = ["exec.timeout_seconds=60", "manage.stop_seconds=30"];
    let Some(manage) = Manage::start_as(&["manage", "--for", "60"], &policy, &settings, &[]) else { return };
    eventually("the second question", || asked.exists());
    manage.signal("TERM");
    let (said, ended) = manage.end();
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    assert!(said.out.contains("had not answered when isobar was asked to stop"), "{}", said.out);
    ended.is_put_back("a program that stalls");
}

#[test]
fn a_panic_puts_back() {
    let Some(manage) = Manage::start(&[], &[("ISOBAR_TEST_PANIC_AT_EPOCH", "12")]) else { return };
    let (said, ended) = manage.end();
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("asked for by ISOBAR_TEST_PANIC_AT_EPOCH"), "{}", said.err);
    ended.is_put_back("a panic");
}
