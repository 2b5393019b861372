//! Tests a daemon from outside, on this machine with a process of its own and on a simulated
//! machine: what it answers on its socket, what a reload changes, and what is left when it ends or
//! is killed.

use crate::support::daemon::Daemon;
use crate::support::isobar;
use crate::support::processes::{Kept, eventually};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

/// A process, and a configuration that binds it to its last CPU; `None` on a machine with one CPU.
fn bound() -> Option<(Kept, String, String, String)> {
    let subject = Kept::start("sleep", &["60"]);
    let before = subject.cpus();
    let last = before.split(['-', ',']).next_back().unwrap().to_owned();
    if before == last {
        eprintln!("SKIPPED: needs two CPUs, this process may use one");
        return None;
    }
    let pid = subject.pid();
    let config = format!(
        "[manage]\npolicy = \"fixed\"\ninterval_seconds = 0.05\nmin_cpu_percent = 0\nonly = [\"{pid}\"]\n\
         [fixed]\nthreads = \"sleep={last}\"\n"
    );
    Some((subject, before, last, config))
}

/// Numbers of the actions that are still in effect and whose words begin like this.
fn that_stand(status: &serde_json::Value, words: &str) -> Vec<String> {
    let recent = status["recent"].as_array().unwrap().iter();
    let ours = recent.filter(|one| one["stands"] == true && one["words"].as_str().unwrap().starts_with(words));
    ours.map(|one| one["id"].to_string()).collect()
}

/// The number of the first action that is still in effect.
fn standing(status: &serde_json::Value) -> String {
    that_stand(status, "").swap_remove(0)
}

#[test]
fn an_action_is_taken_back_by_its_number_and_not_done_again() {
    let Some((subject, before, last, config)) = bound() else { return };
    let daemon = Daemon::start(&config, &[]);
    eventually("the process was bound", || subject.cpus() == last);
    let status = daemon.status();
    assert_eq!((&status["policy"], &status["changed_now"]), (&"fixed".into(), &1.into()), "{status}");
    let id = standing(&status);
    let done = daemon.ask(&["undo", &id]).done().to_owned();
    assert_eq!(done, format!("action {id} is taken back: the old state is restored\n"));
    assert_eq!(subject.cpus(), before);
    daemon.ask(&["undo", &id]).failed(1, &["was taken back already"]);
    daemon.ask(&["undo", "99999999"]).failed(1, &["there is no action 99999999"]);
    let epochs = daemon.status()["epochs"].as_u64().unwrap();
    eventually("it goes on", || daemon.status()["epochs"].as_u64().unwrap() > epochs + 5);
    assert_eq!(subject.cpus(), before, "held off");
    let shown = daemon.ask(&["status"]).done().to_owned();
    assert!(shown.contains(&format!("#{id} ")) || shown.contains("taken back by hand"), "{shown}");
    let (code, log, folder) = daemon.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains(&format!("#{id} is taken back")), "{log}");
    let left: Vec<_> = fs::read_dir(folder.path().join("run")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_pause_changes_nothing_more_and_a_stop_puts_everything_back() {
    let Some((subject, before, last, config)) = bound() else { return };
    let idle = config.replace("policy = \"fixed\"", "policy = \"linux\"");
    let daemon = Daemon::start(&idle, &[]);
    assert!(daemon.ask(&["pause"]).done().starts_with("paused"));
    daemon.configure(&config);
    eventually("it has the new policy", || daemon.status()["policy"] == "fixed");
    let epochs = daemon.status()["epochs"].as_u64().unwrap();
    eventually("it goes on", || daemon.status()["epochs"].as_u64().unwrap() > epochs + 3);
    assert_eq!((subject.cpus(), &daemon.status()["paused"]), (before.clone(), &true.into()));
    assert_eq!(daemon.ask(&["resume"]).done(), "resumed: isobar decides again\n");
    eventually("the process was bound", || subject.cpus() == last);
    assert_eq!(daemon.stop().0, Some(0));
    assert_eq!(subject.cpus(), before);
}

/// A configuration that is bad, or whose file is gone, changes nothing and is reported. When a good
/// one is loaded, what is changed stays on record.
#[test]
fn a_bad_configuration_changes_nothing_and_is_reported() {
    let Some((subject, before, last, config)) = bound() else { return };
    let daemon = Daemon::start(&config, &[]);
    eventually("the process was bound", || subject.cpus() == last);
    daemon.configure("[manage]\npolicy = \"fixed\"\nintervall_seconds = 1\n");
    let refused = |piece: &str| {
        eventually(piece, || daemon.status()["reload_refused"].as_str().is_some_and(|why| why.contains(piece)));
    };
    refused("isobar.toml:3: unknown field `intervall_seconds`");
    fs::remove_file(daemon.folder.path().join("isobar.toml")).unwrap();
    daemon.signal("HUP");
    refused("isobar.toml: cannot be read");
    assert_eq!((subject.cpus(), daemon.status()["interval_seconds"].as_f64()), (last.clone(), Some(0.05)));
    daemon.configure(&config.replace("0.05", "0.07").replace("\"fixed\"", "\"linux\""));
    eventually("it was reloaded", || daemon.status()["interval_seconds"].as_f64() == Some(0.07));
    let status = daemon.status();
    assert_eq!((&status["reload_refused"], &status["changed_now"]), (&serde_json::Value::Null, &1.into()));
    let (code, log, _) = daemon.stop();
    assert_eq!((code, subject.cpus()), (Some(0), before), "{log}");
    assert!(
        log.contains("error: reload refused, and the old configuration stays in effect") && log.contains("reloaded: "),
        "{log}"
    );
}

/// A killed daemon leaves a process bound, a record of that, and a dead socket. The next start puts
/// the process back and answers.
#[test]
fn after_a_kill_the_next_start_puts_back() {
    let Some((subject, before, last, config)) = bound() else { return };
    let mut daemon = Daemon::start(&config, &[]);
    eventually("the process was bound", || subject.cpus() == last);
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    assert_eq!(subject.cpus(), last);
    daemon.ask(&["status"]).failed(1, &["no isobar daemon runs (", "isobar daemon"]);
    let folder = std::mem::replace(&mut daemon.folder, tempfile::tempdir().unwrap());
    fs::write(folder.path().join("isobar.toml"), "[manage]\npolicy = \"linux\"\n").unwrap();
    let again = Daemon::start_in(folder, &[]);
    assert_eq!(subject.cpus(), before);
    let (code, log, _) = again.stop();
    assert_eq!(code, Some(0));
    assert!(log.contains("an earlier isobar was killed and had left changes: 1 threads put back"), "{log}");
}

/// Half a request, nonsense, a request that is too long, and clients that send nothing: each gets
/// an answer or nothing, and the daemon goes on.
#[test]
fn hostile_clients_do_no_harm_and_the_socket_has_its_mode() {
    let daemon = Daemon::start("[manage]\npolicy = \"linux\"\ninterval_seconds = 0.05\n[daemon]\ngroup = \"\"\n", &[]);
    let mode = fs::metadata(daemon.socket()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let _silent: Vec<UnixStream> = (0..5).map(|_| UnixStream::connect(daemon.socket()).unwrap()).collect();
    let answer = |request: &[u8]| {
        let mut stream = UnixStream::connect(daemon.socket()).unwrap();
        stream.write_all(request).unwrap();
        let mut said = String::new();
        // If the connection is closed before all was read, that is an answer, too.
        let _ = stream.read_to_string(&mut said);
        said
    };
    assert!(answer(b"\xff\xfe\x00{}\n").contains("expected a JSON object"));
    assert!(answer(b"{\"isobar\":99,\"ask\":\"status\"}\n").contains("version"));
    assert!(answer(&[b'x'; 5000]).contains("4096 bytes"));
    let mut half = UnixStream::connect(daemon.socket()).unwrap();
    half.write_all(b"{\"isobar\":1,\"ask\"").unwrap();
    drop(half);
    let epochs = daemon.status()["epochs"].as_u64().unwrap();
    eventually("it goes on", || daemon.status()["epochs"].as_u64().unwrap() > epochs + 3);
    let (code, log, _) = daemon.stop();
    assert_eq!(code, Some(0), "{log}");
}

/// On a simulated machine with four nodes, moves of threads and of pages are taken back.
#[test]
fn a_simulated_machine_keeps_time_and_takes_actions_back() {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/dino-spec.toml");
    let machine = format!("sim:{workload}");
    let daemon =
        Daemon::start("[manage]\npolicy = \"dino\"\n", &["--machine", &machine, "--speed", "20", "--seed", "1"]);
    eventually("it acted", || daemon.status()["threads_moved"].as_u64().unwrap() > 0);
    let undo = |id: &String| daemon.ask(&["undo", id]).code == Some(0);
    let id = that_stand(&daemon.status(), "move thread").swap_remove(0);
    assert!(daemon.ask(&["undo", &id]).done().starts_with(&format!("action {id} is taken back")));
    let status = daemon.status();
    let one = status["recent"].as_array().unwrap().iter().find(|one| one["id"].as_u64() == id.parse().ok()).cloned();
    assert!(one.is_none_or(|one| one["became"].as_str().unwrap().starts_with("taken back")), "{status}");
    // The pages of an action that has just begun have not moved yet, and the daemon says so.
    eventually("pages go back", || that_stand(&daemon.status(), "migrate").iter().any(undo));
    assert_eq!(daemon.stop().0, Some(0));
}

/// A reload gives a group a policy of its own, and another one removes it. Status and log say which
/// policy decides.
#[test]
fn a_reload_takes_policies_of_groups() {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/groups.toml");
    let machine = format!("sim:{workload}");
    let plain = "[manage]\nmin_cpu_percent = 0\n";
    let grouped = format!("{plain}[[manage.group]]\nonly = [\"slice:batch\"]\npolicy = \"di-migrate\"\n");
    let daemon = Daemon::start(plain, &["--machine", &machine, "--speed", "20", "--seed", "1"]);
    assert!(daemon.status()["groups"].as_array().unwrap().is_empty());
    daemon.configure(&grouped);
    eventually("the group's policy acted", || daemon.status()["threads_moved"].as_u64().unwrap() > 0);
    let status = daemon.status();
    assert_eq!((&status["policy"], &status["groups"][0]["policy"]), (&"linux".into(), &"di-migrate".into()));
    let recent = status["recent"].as_array().unwrap();
    assert!(recent.iter().all(|one| one["policy"] == "di-migrate" && one["words"].as_str().unwrap().contains("lbm")));
    assert!(daemon.ask(&["status"]).done().contains("policy di-migrate for slice:batch\n"));
    // The policy may move the same thread again before the request arrives.
    let undo = |id: &String| daemon.ask(&["undo", id]).code == Some(0);
    eventually("one is taken back", || that_stand(&daemon.status(), "move thread").iter().any(undo));
    daemon.configure(&grouped.replace("di-migrate", "di-migrat"));
    let refused = || daemon.status()["reload_refused"].as_str().map(str::to_owned);
    eventually("it is refused", || refused().is_some_and(|why| why.contains("manage.group 1: unknown policy")));
    daemon.configure(plain);
    eventually("the group is gone", || daemon.status()["groups"].as_array().unwrap().is_empty());
    let (code, log, _) = daemon.stop();
    assert!(code == Some(0) && log.contains("policy linux, di-migrate for slice:batch, every"), "{log}");
}

/// The metrics, from the address that the log names.
fn scraped(log: &str) -> String {
    let address = log.split("metrics at http://").nth(1).unwrap().split('/').next().unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: isobar\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn a_recording_is_made_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records");
    let config = format!(
        "[manage]\npolicy = \"linux\"\ninterval_seconds = 0.05\n[daemon]\nrecord = true\nrecord_folder = {:?}\n",
        records.display().to_string()
    );
    let daemon = Daemon::start(&config, &["--metrics", "127.0.0.1:0"]);
    let file = daemon.status()["recording"].as_str().unwrap().to_owned();
    eventually("some epochs are recorded", || daemon.status()["epochs"].as_u64().unwrap() > 3);
    let scraped = scraped(&daemon.log());
    assert!(scraped.contains("\nisobar_recording_bytes "), "{scraped}");
    assert_eq!(daemon.stop().0, Some(0));
    assert!(isobar(&["replay", &file]).done().contains("linux"));
}

/// A recording holds one policy with its settings, so that a replay decides what was decided.
#[test]
fn a_reload_with_another_policy_begins_another_recording() {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/dino-spec.toml");
    let folder = tempfile::tempdir().unwrap();
    let config = |policy: &str, interval: f64| {
        let records = folder.path().display();
        format!(
            "[manage]\npolicy = \"{policy}\"\ninterval_seconds = {interval}\n[daemon]\nrecord = true\nrecord_folder = \"{records}\"\n"
        )
    };
    let machine = ["--machine", &format!("sim:{workload}"), "--speed", "20", "--metrics", "127.0.0.1:0"];
    let daemon = Daemon::start(&config("dino", 1.0), &machine);
    let (file, epochs) = (|| daemon.status()["recording"].clone(), || daemon.status()["epochs"].as_u64().unwrap());
    let acted = |policy: &str| {
        let status = daemon.status();
        let recent = status["recent"].as_array().unwrap();
        status["policy"] == policy && recent.iter().any(|one| one["policy"] == policy)
    };
    eventually("the first acted", || acted("dino"));
    let first = file();
    daemon.configure(&config("dino", 0.5));
    eventually("it decides more often", || daemon.log().contains("policy dino, every 0.5 s"));
    assert_eq!(file(), first, "the policy and its settings are the same");
    daemon.configure(&config("di-migrate", 0.5));
    eventually("the second acted", || acted("di-migrate"));
    let (second, seen) = (file(), epochs());
    assert_ne!(second, first);
    eventually("some epochs are recorded", || epochs() > seen + 3);
    let (code, log, _) = daemon.stop();
    assert_eq!(code, Some(0), "{log}");
    for (file, policy) in [(first, "dino"), (second, "di-migrate")] {
        let said = isobar(&["replay", file.as_str().unwrap(), "--json"]);
        let summary = said.documents().pop().unwrap()["summary"].take();
        assert_eq!((&summary["recorded_policy"], &summary["same_epochs"]), (&policy.into(), &summary["epochs"]));
        assert!(summary["actions_both"].as_u64().unwrap() > 0, "{summary}");
        let said = isobar(&["replay", file.as_str().unwrap()]);
        assert!(!said.done().contains("dropped"), "{}", said.out);
    }
}

/// The log says where the metrics are and warns about an address that other machines can reach. An
/// address that is taken may be free at the next start, so that is no wrong usage.
#[test]
fn metrics_are_announced_and_a_taken_address_is_an_ordinary_failure() {
    let idle = "[manage]\npolicy = \"linux\"\ninterval_seconds = 0.05\n";
    let (code, log, _) = Daemon::start(idle, &["--metrics", "127.0.0.1:0"]).stop();
    assert!(code == Some(0) && log.contains(" metrics at http://127.0.0.1:"), "{log}");
    assert!(!log.contains("other machines"), "{log}");
    let (_, log, _) = Daemon::start(idle, &["--metrics", "0.0.0.0:0"]).stop();
    assert!(log.contains("warning: metrics at http://0.0.0.0:") && log.contains("; other machines can reach"), "{log}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut daemon = Daemon::start(idle, &["--metrics", &address]);
    assert_eq!(daemon.child.wait().unwrap().code(), Some(1));
    assert!(daemon.log().contains("another program listens there"), "{}", daemon.log());
}

#[test]
fn the_default_configuration_is_good_and_a_bad_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isobar.toml");
    fs::write(&file, isobar(&["config", "--default"]).done()).unwrap();
    let file = file.display().to_string();
    assert!(isobar(&["config", "--check", &file]).done().contains(": good: no policy"));
    fs::write(&file, "[manage]\npolicy = \"dino\"\n[dino]\nclas_window = 3\n").unwrap();
    isobar(&["config", "--check", &file]).refused(&["isobar.toml", "clas_window"]);
    fs::write(&file, "[daemon]\nrecord_files = 0\n").unwrap();
    isobar(&["config", "--check", &file]).refused(&["isobar.toml:1: daemon: record_files = 0"]);
    assert_eq!(isobar(&["config"]).code, Some(2));
}
