//! What went wrong, on standard error, in the one form that whoever runs QEMU looks for.

/// `numasim: error: ...` in one line.
pub fn tell(problem: &str) {
    eprintln!("numasim: error: {}", problem.replace('\n', " "));
}

/// Tells and ends QEMU at once: past loading there is nobody to hand an error to.
pub fn end(problem: &str) -> ! {
    tell(problem);
    // SAFETY: ends the process; nothing of ours is left half-written that anybody reads.
    unsafe { libc::_exit(70) }
}

/// `numasim: ...` in one line.
pub fn note(what: &str) {
    eprintln!("numasim: {what}");
}
