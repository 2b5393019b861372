//! `isobar top --once` and `isobar doctor` on shipped workloads, and the screen on a terminal of
//! its own.

use crate::support::{file, isobar};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::tcgetattr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DINO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/dino-spec.toml");
const WAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/ways.toml");

fn frame(args: &[&str]) -> String {
    let machine = format!("sim:{DINO}");
    isobar(&[&["top", "--machine", &machine, "--once"], args].concat()).done().to_owned()
}

#[test]
fn a_frame_at_80x24() {
    insta::assert_snapshot!("top-80x24", frame(&["--size", "80x24"]));
}

#[test]
fn a_frame_at_160x50() {
    insta::assert_snapshot!("top-160x50", frame(&["--size", "160x50"]));
}

/// The policy acts on the simulated machine. The screen shows what it did and predicted.
#[test]
fn a_policy_that_acts_is_seen_to() {
    let acted = frame(&["--size", "250x50", "--policy", "isobar", "--act", "--for", "20"]);
    assert!(acted.contains("isobar acts") && acted.contains("ago by isobar: soplex (1001): 20 ways"), "{acted}");
    let dry = frame(&["--size", "160x50", "--policy", "dino", "--for", "3"]);
    assert!(dry.contains("dino, dry run") && dry.contains("not done: dry run"), "{dry}");
}

/// Partitioned ways are drawn with the programs that use them.
#[test]
fn ways_are_drawn_by_cluster() {
    let machine = format!("sim:{WAYS}");
    let args =
        ["top", "--machine", &machine, "--once", "--policy", "lfoc+", "--act", "--for", "60", "--size", "160x50"];
    let frame = isobar(&args).done().to_owned();
    assert!(frame.contains("ways of llc 0  A ") && frame.contains("lbm06"), "{frame}");
}

#[test]
fn a_frame_is_a_document_for_programs_and_bad_words_are_refused() {
    let machine = format!("sim:{DINO}");
    let document = isobar(&["top", "--machine", &machine, "--once", "--json"]).document();
    assert_eq!((&document["verdict"]["answer"], document["programs"].as_array().unwrap().len()), (&"yes".into(), 16));
    isobar(&["top", "--machine", &machine]).refused(&["no terminal", "--once"]);
    isobar(&["top", "--machine", &machine, "--json"]).refused(&["--once"]);
    isobar(&["top", "--machine", &machine, "--once", "--size", "1x1"]).refused(&["160x50"]);
    isobar(&["top", "--act", "--once"]).refused(&["--policy"]);
    isobar(&["top", "--once", "--machine", "sim:/nowhere.toml"]).refused(&["/nowhere.toml"]);
}

/// Nothing decides about a recording, and this machine has one speed.
#[test]
fn options_that_would_do_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("day.isobar").display().to_string();
    isobar(&["record", "-o", &file, "--machine", &format!("sim:{DINO}"), "--for", "3"]).done();
    let shown = ["top", "--once", "--machine", &file, "--speed", "20"];
    assert!(isobar(&shown).done().contains("recorded"));
    for option in [&["--policy", "dino"][..], &["--only", "x"], &["--interval", "5"]] {
        isobar(&[&shown, option].concat()).refused(&[option[0], "does nothing with a recording"]);
    }
    isobar(&["top", "--once", "--speed", "20"]).refused(&["--machine"]);
    isobar(&["daemon", "--speed", "20"]).refused(&["--machine"]);
}

/// Two programs that compute, on a machine of two nodes.
const LIGHT: &str = "machine = \"nehalem-2x4\"\n[[app]]\nprogram = \"povray\"\ncount = 2\n";

#[test]
fn doctor_says_yes_or_no_with_an_exit_code() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let asked =
        |args: &[&str]| crate::support::said(&crate::support::command(args).current_dir(folder).output().unwrap());
    let yes = asked(&["doctor", "--machine", "sim:examples/workloads/dino-spec.toml"]);
    assert_eq!((yes.code, yes.err.as_str()), (Some(3), ""));
    insta::assert_snapshot!("doctor-yes", yes.out);
    let (_folder, light) = file("light.toml", LIGHT);
    let machine = format!("sim:{light}");
    let no = isobar(&["doctor", "--machine", &machine]);
    assert_eq!(no.code, Some(0), "{}", no.out);
    insta::assert_snapshot!("doctor-no", no.out.replace(&light, "light.toml"));
    let document = isobar(&["doctor", "--machine", &machine, "--json"]).document();
    assert_eq!((&document["answer"], document["findings"].as_array().unwrap().len()), (&"no".into(), 0));
    isobar(&["doctor", "--for", "1e9"]).refused(&["3600"]);
}

/// This machine may or may not have counters. The answer is one of three, and the output gives the
/// reason.
#[test]
fn doctor_answers_on_this_machine_too() {
    let here = isobar(&["doctor", "--for", "2"]);
    let word = match here.code {
        Some(0) => "NO",
        Some(3) => "YES",
        Some(4) => "NOT MEASURABLE",
        other => panic!("exit code {other:?}: {} {}", here.out, here.err),
    };
    assert!(here.out.contains(&format!("matter now? {word}\n")) && here.out.contains("isobar top"), "{}", here.out);
    assert!(here.out.lines().count() <= 40, "{}", here.out);
}

/// A terminal on which a program runs.
struct Screen {
    main: File,
    child: Child,
}

impl Screen {
    fn of(args: &[&str], variables: &[(&str, &str)]) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&main).unwrap();
        unlockpt(&main).unwrap();
        let name = ptsname(&main, Vec::new()).unwrap();
        let open = || OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
        command.args(args).envs(variables.iter().copied()).env("ISOBAR_TEST_MANAGER_LOCK", "none");
        let child = command.stdin(open()).stdout(open()).stderr(Stdio::piped()).spawn().unwrap();
        Self { main: File::from(main), child }
    }

    /// Reads until a text has appeared. Returns what was read.
    fn read_until(&mut self, wanted: &str) -> String {
        let (begun, mut seen) = (Instant::now(), Vec::new());
        while !String::from_utf8_lossy(&seen).contains(wanted) {
            assert!(begun.elapsed() < Duration::from_secs(30), "`{wanted}` in {}", String::from_utf8_lossy(&seen));
            let mut ready = [rustix::event::PollFd::new(&self.main, rustix::event::PollFlags::IN)];
            let second = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
            if rustix::event::poll(&mut ready, Some(&second)).unwrap() == 0 {
                continue;
            }
            let mut part = [0; 4096];
            match self.main.read(&mut part) {
                Ok(count) if count > 0 => seen.extend(&part[..count]),
                _ => break,
            }
        }
        String::from_utf8_lossy(&seen).into_owned()
    }

    /// Checks that the terminal is back in its ordinary mode and that the exit code is `code`.
    fn is_given_back(&mut self, code: i32) -> String {
        let rest = self.read_until("\u{1b}[?25h");
        assert!(rest.contains("\u{1b}[?1049l"), "the other screen is left: {rest:?}");
        assert_eq!(self.child.wait().unwrap().code(), Some(code));
        let modes = tcgetattr(&self.main).unwrap().local_modes;
        assert!(modes.contains(rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO), "{modes:?}");
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        err
    }
}

/// A configuration may be a pipe, which can be read only once, so all settings must come from the
/// same reading as the policy's name.
#[test]
fn the_screen_reads_its_configuration_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("isobar.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (machine, config) = (format!("sim:{DINO}"), pipe.display().to_string());
    let mut screen = Screen::of(&["top", "--machine", &machine, "--speed", "20", "--config", &config], &[]);
    std::fs::write(&pipe, "[manage]\npolicy = \"dino\"\n").unwrap();
    screen.read_until("dino, dry run");
    screen.main.write_all(b"q").unwrap();
    assert_eq!(screen.is_given_back(0), "");
}

#[test]
fn the_terminal_is_given_back_by_q_a_signal_and_a_panic() {
    let machine = format!("sim:{DINO}");
    let args = ["top", "--machine", &machine, "--speed", "20", "--policy", "dino"];
    let mut screen = Screen::of(&args, &[("NO_COLOR", "1")]);
    let drawn = screen.read_until("CONTENTION");
    assert!(drawn.contains("\u{1b}[?1049h") && !drawn.contains("\u{1b}[38;5;"), "no colour: {drawn:?}");
    screen.main.write_all(b"q").unwrap();
    assert_eq!(screen.is_given_back(0), "");

    let mut screen = Screen::of(&args, &[]);
    screen.read_until("CONTENTION");
    let pid = rustix::process::Pid::from_child(&screen.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(screen.is_given_back(0), "");

    let mut screen = Screen::of(&args, &[("ISOBAR_TEST_PANIC_AT_EPOCH", "3")]);
    screen.read_until("CONTENTION");
    let said = screen.is_given_back(1);
    assert!(said.contains("internal error"), "{said}");
}
