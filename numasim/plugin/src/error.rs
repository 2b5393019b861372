//! Errors on standard error, in the format that the program which runs QEMU looks for.

/// Prints `numasim: error: ...` on one line.
pub fn notify(problem: &str) {
    eprintln!("numasim: error: {}", problem.replace('\n', " "));
}

/// Reports and ends QEMU at once: after loading there is no caller to return an error to.
pub fn end(problem: &str) -> ! {
    notify(problem);
    // SAFETY: ends the process; no file that is read later is left half-written.
    unsafe { libc::_exit(70) }
}

/// Prints `numasim: ...` on one line.
pub fn note(what: &str) {
    eprintln!("numasim: {what}");
}
