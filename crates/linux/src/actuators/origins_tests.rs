use super::*;
use crate::kernel::identity;
use proptest::prelude::*;

fn on(node: u32, pages: impl IntoIterator<Item = u64>) -> Vec<PageOn> {
    pages.into_iter().map(|page| (page, NodeId(node))).collect()
}

fn manner(stop: &dyn Fn() -> bool, options: &PageOptions) -> RestoreOptions<'static> {
    // Leaked for the tests' sake: they end soon.
    let stop: &'static dyn Fn() -> bool = Box::leak(Box::new(if stop() { || true } else { || false }));
    RestoreOptions { options: Box::leak(Box::new(options.clone())), pages_per_second: 1_000_000, stop }
}

fn private_folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("isobar").tempdir().unwrap()
}

#[test]
fn what_was_recorded_first_stands() {
    let mut origins = Origins::default();
    let process = Process { pid: Pid(7), start: 5 };
    origins.add(process, "/a".into(), &on(0, 10..14));
    origins.add(process, "/a".into(), &on(2, 12..16));
    let runs = |origins: &Origins| {
        origins.processes[&Pid(7)].runs.iter().map(|run| (run.first, run.pages, run.node.0)).collect::<Vec<_>>()
    };
    // Pages 12 and 13 were on node 0 before they moved to node 2.
    assert_eq!(runs(&origins), [(10, 4, 0), (14, 2, 2)]);
    origins.add(Process { start: 6, ..process }, "/a".into(), &on(1, 10..11));
    assert_eq!(runs(&origins), [(10, 1, 1)], "another process of that id");
    origins.add(Process { start: 6, ..process }, "/b".into(), &on(3, 50..51));
    assert_eq!(runs(&origins), [(50, 1, 3)], "another program");
}

#[test]
fn a_record_goes_to_disk_and_of_a_process_that_ended_it_is_dropped() {
    let folder = private_folder();
    let state = folder.path().join("state.json");
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let process = Process::find(Pid(child.id())).unwrap();
    drop(record(&state, process, &on(0, [1, 2, 3])).unwrap());
    assert!(folder.path().join("state.pages.json").exists());
    let options = PageOptions::default();
    let other = put_back(&state, Some(Pid(1)), &manner(&|| false, &options)).unwrap();
    assert_eq!(other, None, "nothing is recorded of that process");
    child.kill().unwrap();
    child.wait().unwrap();
    let done = put_back(&state, None, &manner(&|| false, &options)).unwrap().unwrap();
    assert_eq!(done.iter().map(|done| (done.pid, done.lives)).collect::<Vec<_>>(), [(process.pid, false)]);
    assert!(!folder.path().join("state.pages.json").exists());
    assert_eq!(put_back(&state, None, &manner(&|| false, &options)).unwrap(), None);
}

#[test]
fn pages_that_are_not_there_any_more_are_ordinary() {
    let folder = private_folder();
    let state = folder.path().join("state.json");
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let process = Process::find(Pid(child.id())).unwrap();
    if process.locate(&[3]).is_err() {
        eprintln!("SKIPPED: no move_pages(2) here");
    } else {
        drop(record(&state, process, &on(0, [3, 4])).unwrap());
        let done = put_back(&state, Some(process.pid), &manner(&|| false, &PageOptions::default())).unwrap().unwrap();
        assert_eq!((done[0].lives, done[0].vanished, done[0].placed.moved), (true, 2, 0));
        assert!(!path(&state).exists(), "nothing is left to put back");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// An update deletes the file of a program that runs; the process and its pages stay.
#[test]
fn a_deleted_file_is_the_same_program_and_one_that_cannot_be_read_may_be() {
    let folder = private_folder();
    let file = folder.path().join("sleep");
    // By another process: a file that is open for writing, here or in a child of another test,
    // cannot be executed.
    assert!(std::process::Command::new("cp").arg("/bin/sleep").arg(&file).status().unwrap().success());
    let mut child = std::process::Command::new(&file).arg("60").spawn().unwrap();
    let process = Process::find(Pid(child.id())).unwrap();
    let origin = |program: &Path| Origin { start: process.start, program: program.to_owned(), runs: Vec::new() };
    assert!(!origin(&file).is_gone(process.pid) && !origin(Path::new("")).is_gone(process.pid));
    fs::remove_file(&file).unwrap();
    assert!(!origin(&file).is_gone(process.pid));
    assert!(origin(&folder.path().join("other")).is_gone(process.pid));
    assert!(Origin { start: process.start + 1, ..origin(&file) }.is_gone(process.pid));
    child.kill().unwrap();
    assert!(eventually(|| origin(&file).is_gone(process.pid)), "it has not been waited for, but it has ended");
    child.wait().unwrap();
}

fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        holds()
    })
}

#[test]
fn what_is_no_record_is_refused_in_one_line() {
    let folder = private_folder();
    let state = folder.path().join("state.json");
    let boot = identity::boot_id().unwrap();
    let run = |first: u64, pages: u64| {
        format!(
            r#"{{"version":1,"boot_id":"{boot}","processes":{{"7":{{"start":1,"program":"/a","runs":[{{"first":{first},"pages":{pages},"node":0}}]}}}}}}"#
        )
    };
    assert!(parse(&run(1, 1)).is_ok());
    for text in ["", "{}", &run(1, u64::MAX), &run(u64::MAX, 1), &run(1, 1).replace(":1,\"boot", ":2,\"boot")] {
        fs::write(path(&state), text).unwrap();
        let error = put_back(&state, None, &manner(&|| false, &PageOptions::default())).unwrap_err().to_string();
        assert!(error.contains("not a state file of isobar") && !error.contains('\n'), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn runs_hold_every_page_once(pages in prop::collection::btree_map(0u64..200, 0u32..3, 0..80)) {
        let pages: BTreeMap<u64, NodeId> = pages.into_iter().map(|(page, node)| (page, NodeId(node))).collect();
        let origin = Origin { start: 0, program: "/a".into(), runs: runs(pages.clone()) };
        prop_assert_eq!(origin.pages().collect::<BTreeMap<_, _>>(), pages);
        prop_assert!(origin.runs.is_sorted_by(|one, next| one.first + one.pages < next.first || one.node != next.node));
    }
}
