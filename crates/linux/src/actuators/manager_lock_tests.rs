use super::*;

fn isobar(pid: u32, start: u64, manages: bool) -> (Other, bool) {
    let mut other = Other::look(std::process::id()).unwrap();
    (other.pid, other.start, other.isobar, other.privileged, other.ours) = (pid, start, true, true, false);
    (other, manages)
}

fn among(conflicting: Vec<(Other, bool)>) -> Others {
    Others { own_age: (100, 50), conflicting, ignored: Vec::new() }
}

#[test]
fn who_manages_stays_and_of_those_who_would_the_oldest_goes_first() {
    let soon = Duration::ZERO;
    assert_eq!(among(vec![]).verdict(soon), Verdict::Free);
    let refused = |start, pid, manages| matches!(among(vec![isobar(pid, start, manages)]).verdict(soon), Verdict::Refused(other) if other.pid == pid);
    assert!(refused(200, 60, true), "younger, but it manages");
    assert!(refused(99, 60, false));
    assert!(refused(100, 49, false), "of the same tick, and with the lower id");
    let younger = among(vec![isobar(51, 100, false)]);
    assert_eq!(younger.verdict(soon), Verdict::Wait);
    assert!(
        matches!(younger.verdict(PATIENCE), Verdict::Refused(_)),
        "one that was stopped is not waited for for ever"
    );
}

#[test]
fn only_an_isobar_that_may_touch_the_same_threads_conflicts() {
    let (other, _) = isobar(60, 1, true);
    let with = |isobar, privileged, ours| {
        let mut other = other.clone();
        (other.isobar, other.privileged, other.ours) = (isobar, privileged, ours);
        conflicts(&other)
    };
    assert!(with(true, true, false) && with(true, false, true));
    assert!(!with(true, false, false), "of another user, without privileges");
    assert!(!with(false, true, true), "anybody may hold the lock");
}

#[test]
fn the_file_of_the_kernel_can_be_locked_here() {
    let file = open(Path::new(DEFAULT_PATH)).unwrap();
    lock(&file, CANDIDATE).unwrap();
    let own = |phase| {
        let held = locks::on(&file.metadata().unwrap()).unwrap();
        held.iter().any(|held| held.pid == std::process::id() && manages(held) == phase)
    };
    assert!(own(false));
    lock(&file, MANAGER).unwrap();
    assert!(own(true));
}

#[test]
fn without_the_file_it_goes_on_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let lock = ManagerLock::take(&folder.path().join("none")).unwrap();
    let [remark] = lock.remarks() else { panic!("{:?}", lock.remarks()) };
    assert!(remark.contains("cannot see whether another isobar manages") && !remark.contains('\n'), "{remark}");
}
