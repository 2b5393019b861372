//! Runs the commands of the tutorial as they are in `docs/tutorial.md`, one after another in one
//! folder, as a reader would.

use crate::support::{command, said};
use std::os::unix::fs::symlink;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The lines of the code blocks that are marked as shell.
fn commands(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).collect()
}

/// Whether a command may end with this exit code. `doctor` answers by its exit code. A command that
/// needs several nodes, a counter or a clock that this machine lacks says so and fails.
fn may_end(words: &[&str], code: i32) -> bool {
    match words[1] {
        "doctor" => [0, 3, 4].contains(&code),
        "probe" => [0, 1].contains(&code),
        _ => code == 0,
    }
}

#[test]
fn every_command_of_the_tutorial_works_as_it_stands() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/tutorial.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(Path::new(ROOT).canonicalize().unwrap().join("examples"), folder.path().join("examples")).unwrap();
    let typed = commands(&page);
    assert!(typed.len() >= 10, "{typed:?}");
    for line in typed {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "isobar", "{line}");
        let done = said(&command(&words[1..]).current_dir(folder.path()).output().unwrap());
        assert!(done.code.is_some_and(|code| may_end(&words, code)), "{line}: {:?} {}", done.code, done.err);
        assert!(done.out.lines().count() > 2 || words[1] == "report" || done.code == Some(1), "{line}: {}", done.out);
    }
    let report = std::fs::metadata(folder.path().join("run.html")).unwrap();
    assert!(report.len() > 10_000, "{}", report.len());
}
