//! Whether counters show a program, or the kernel that migrates its pages. NUMA balancing does that
//! in the program's own context: for seconds, if it has much memory, the program executes next to
//! nothing, and the misses of the copies count as its own. Such an epoch says nothing about the
//! program.

use isobar_model::{Process, num};

/// Misses per instruction of its own from which on they are the kernel's. Programs that do nothing
/// but miss, chains of pointers in memory, have a quarter of that.
const TOO_MANY: f64 = 1.0;

/// Whether most of what was counted of a process is the kernel's.
#[must_use]
pub fn is_being_migrated(process: &Process) -> bool {
    let (mut misses, mut instructions) = (0.0, 0.0);
    for thread in &process.threads {
        if let Some((missed, done)) = thread.llc_misses.zip(thread.instructions) {
            misses += num::float(missed);
            instructions += num::float(done);
        }
    }
    misses > TOO_MANY * instructions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::memory::Memory;
    use crate::isobar::part;
    use crate::isobar::programs::Programs;
    use crate::kit::domains::Domains;
    use crate::test_kit::{observation, process, thread};
    use isobar_model::Thread;

    /// As read in numasim: a pointer chase executed 6,300 instructions in an epoch in which 48 MiB
    /// were on the way to it, and 117,000 lines were missed; afterwards 400,000 and 104,000.
    #[test]
    fn a_program_is_not_read_while_the_kernel_migrates_it() {
        let chase = |done, missed| {
            let counts = Thread { instructions: Some(done), llc_misses: Some(missed), ..thread(1, 0, 0.0) };
            process(1, vec![counts])
        };
        let (during, after) = (chase(6_300, 117_000), chase(400_000, 104_000));
        assert_eq!([&during, &after].map(is_being_migrated), [true, false]);
        let mut programs = Programs::default();
        let mut read = |process: &Process| {
            let seen = observation("node:2 core:1", vec![process.clone()]);
            let domains = Domains::of(&seen.machine);
            programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            (programs.list[0].last.is_some(), programs.list[0].speeds.len())
        };
        assert_eq!([&during, &during, &after].map(&mut read), [(false, 0), (false, 0), (true, 1)]);
    }

    #[test]
    fn what_is_not_counted_is_not_judged() {
        assert!(!is_being_migrated(&process(1, vec![Thread { llc_misses: None, ..thread(1, 0, 0.0) }])));
    }
}
