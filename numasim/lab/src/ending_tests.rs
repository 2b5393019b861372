use super::*;

fn remains(console: &str, errors: &str, lines: Vec<Line>) -> Remains {
    Remains { console: console.to_owned(), errors: errors.to_owned(), lines, output: String::new() }
}

#[test]
fn each_fault_is_told_as_what_it_is() {
    let hello = || vec![Line::Hello { kernel: "6.12".into(), online: "0-7".into() }];
    let done = || vec![Line::Done];
    let check = |stop, remains: &Remains, expected: Ending| assert_eq!(judge(stop, remains), expected);
    check(Stop::Exit(17), &remains("", "numasim: modelling\n", done()), Ending::Done);
    let failed = vec![Line::Failed { why: "no device".into() }];
    check(Stop::Exit(19), &remains("", "", failed), Ending::Director("no device".into()));
    let panic = "[ 3.1] Kernel panic - not syncing: Attempted to kill init!";
    check(Stop::Exit(0), &remains(&format!("x\n{panic}\ny"), "", hello()), Ending::Panicked(panic.into()));
    let error = "numasim: error: m.toml: `nodes` is no key";
    check(Stop::Exit(1), &remains("", &format!("{error}\nqemu: bye"), vec![]), Ending::Plugin(error.into()));
    let qemu = "qemu-system-x86_64: -numa: wrong";
    check(Stop::Exit(1), &remains("", qemu, vec![]), Ending::Qemu(format!("it ended with code 1: {qemu}")));
    check(
        Stop::Signal(11),
        &remains("", "Segmentation\n", hello()),
        Ending::Qemu("it was killed by signal 11: Segmentation".into()),
    );
    check(Stop::OutOfTime, &remains("", "", hello()), Ending::OutOfTime { runs: 0 });
    check(Stop::Exit(0), &remains("booting", "", vec![]), Ending::Silent);
    check(Stop::Exit(0), &remains("booting", "numasim: modelling\n", hello()), Ending::Down);
    let ended = "qemu-system-x86_64: terminating on signal 15 from pid 1 (sh)";
    let given = Ending::Qemu(format!("it ended with code 0: {ended}"));
    check(Stop::Exit(0), &remains("booting", &format!("numasim: modelling\n{ended}\n"), hello()), given);
    check(Stop::Interrupted, &remains(panic, error, vec![]), Ending::Interrupted);
    // The verdict alone does not count: the last line must be there.
    assert!(matches!(judge(Stop::Exit(17), &remains("", "", hello())), Ending::Qemu(_)));
}

#[test]
fn every_ending_is_one_line() {
    let all = [
        Ending::Done,
        Ending::Silent,
        Ending::Down,
        Ending::OutOfTime { runs: 2 },
        Ending::Panicked("p".into()),
        Ending::Interrupted,
    ];
    all.iter().for_each(|ending| assert!(!ending.in_words(5).is_empty() && !ending.in_words(5).contains('\n')));
    assert!(Ending::OutOfTime { runs: 2 }.in_words(5).contains("2 run(s) done"));
}
