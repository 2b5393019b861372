use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A script that takes QEMU's place. Its folder holds its errors, and the file in which it leaves
/// the pid of its child.
struct Fake {
    folder: tempfile::TempDir,
    binary: PathBuf,
}

impl Fake {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("qemu");
        std::fs::write(&binary, format!("#!/bin/sh\ncd '{}'\n{script}\n", folder.path().display())).unwrap();
        std::fs::set_permissions(&binary, PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder, binary }
    }

    fn run(&self, milliseconds: u64, interrupted: &AtomicBool) -> Stop {
        let errors = self.folder.path().join("errors");
        let limit = Duration::from_millis(milliseconds);
        let start = Start { binary: &self.binary, arguments: &[], preload: None, errors: &errors, limit };
        run(&start, interrupted).unwrap()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Whether the child is gone within two seconds.
    fn child_is_gone(&self) -> bool {
        let stat = PathBuf::from(format!("/proc/{}/stat", self.read("child").trim()));
        let gone = || std::fs::read_to_string(&stat).map_or(true, |text| text.contains(") Z"));
        (0..40).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            gone()
        })
    }
}

const HANGS: &str = "sleep 60 & echo $! > child; wait";

#[test]
fn one_that_hangs_is_ended_with_its_children() {
    let fake = Fake::new(HANGS);
    let began = Instant::now();
    assert_eq!(fake.run(700, &AtomicBool::new(false)), Stop::OutOfTime);
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(!fake.read("child").is_empty() && fake.child_is_gone());
}

#[test]
fn an_interruption_ends_it_with_its_children() {
    let fake = Fake::new(HANGS);
    let flag = AtomicBool::new(false);
    let stop = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fake.run(20_000, &flag));
        (0..100)
            .take_while(|_| fake.read("child").is_empty())
            .for_each(|_| std::thread::sleep(Duration::from_millis(50)));
        flag.store(true, Ordering::Relaxed);
        waiting.join().unwrap()
    });
    assert_eq!(stop, Stop::Interrupted);
    assert!(fake.child_is_gone());
}

#[test]
fn one_that_ends_leaves_no_child_and_tells_how() {
    let fake = Fake::new("sleep 60 & echo $! > child; echo 'something is wrong' >&2; exit 3");
    assert_eq!(fake.run(20_000, &AtomicBool::new(false)), Stop::Exit(3));
    assert_eq!(fake.read("errors"), "something is wrong\n");
    assert!(fake.child_is_gone());
    let killed = Fake::new("kill -ABRT $$");
    assert_eq!(killed.run(20_000, &AtomicBool::new(false)), Stop::Signal(6));
}
