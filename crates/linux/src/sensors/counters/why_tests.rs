//! Checks that each cause gets the words of its own reason, and not those of another.

use super::*;

fn base() -> Evidence {
    Evidence {
        role: Role::Instructions,
        cause: Cause::Refused(Errno::NOENT),
        counted: None,
        software_opens: true,
        paranoid: Some(2),
        has_cap_perfmon: false,
        is_vm: false,
        arch: Arch::X86,
        recipe: "RECIPE",
    }
}

fn refused(errno: Errno) -> Evidence {
    Evidence { cause: Cause::Refused(errno), ..base() }
}

fn check(evidence: &Evidence, start: &str) -> String {
    let said = reason(evidence);
    assert!(said.starts_with(start), "{evidence:?}: {said}");
    assert!(!said.contains('\n') && !said.contains("  "), "{said}");
    said
}

#[test]
fn each_errno_gets_its_own_reason() {
    let cases = [
        (Evidence { is_vm: true, ..base() }, "no PMU: this is a virtual machine"),
        (Evidence { is_vm: true, ..refused(Errno::OPNOTSUPP) }, "no PMU: this is a virtual machine"),
        (refused(Errno::NODEV), "no PMU: software events can be opened"),
        (Evidence { software_opens: false, ..base() }, "neither hardware nor software"),
        (refused(Errno::ACCESS), "not permitted: kernel.perf_event_paranoid is 2 and CAP_PERFMON"),
        (
            Evidence { paranoid: None, ..refused(Errno::PERM) },
            "not permitted: kernel.perf_event_paranoid cannot be read and CAP_PERFMON",
        ),
        (
            Evidence { has_cap_perfmon: true, ..refused(Errno::PERM) },
            "perf_event_open is refused in spite of CAP_PERFMON (kernel.perf_event_paranoid is 2)",
        ),
        (
            Evidence { has_cap_perfmon: true, paranoid: Some(3), ..refused(Errno::ACCESS) },
            "not permitted: kernel.perf_event_paranoid is 3, where the kernels of Debian and Ubuntu demand \
             CAP_SYS_ADMIN",
        ),
        (refused(Errno::NOSYS), "the kernel has no perf events"),
        (refused(Errno::MFILE), "the process's descriptor limit is reached"),
        (refused(Errno::NFILE), "the system's table of open files is full"),
        (refused(Errno::BUSY), "another program holds the CPU's counters"),
        (refused(Errno::INVAL), "the kernel does not know this event"),
        (refused(Errno::IO), "perf_event_open failed: "),
    ];
    for (evidence, start) in cases {
        check(&evidence, start);
    }
}

#[test]
fn cycles_without_instructions_are_a_pmu_and_not_none() {
    let cycles = Evidence { counted: Some(Role::Cycles), is_vm: true, arch: Arch::Arm, ..base() };
    let said = check(&cycles, "the CPU counts cycles but no instructions: in this virtual machine, ");
    assert!(said.contains("-icount shift=0"), "{said}");
    let bare = Evidence { is_vm: false, ..cycles.clone() };
    let said = check(&bare, "the CPU counts cycles but no instructions: the kernel's driver");
    assert!(said.contains("firmware") && !said.contains("QEMU"), "{said}");
    let misses = Evidence { role: Role::LlcMisses, ..cycles };
    let said = check(&misses, "the CPU counts cycles but no LLC misses: ");
    assert!(!said.contains("-icount"), "it would not help: {said}");
}

#[test]
fn an_event_that_sysfs_does_not_list_is_named() {
    let cause = Cause::Unlisted(vec!["l3d_cache_refill", "ll_cache_miss_rd"]);
    let bare = Evidence { role: Role::LlcMisses, cause, counted: Some(Role::Cycles), arch: Arch::Arm, ..base() };
    let said = check(&bare, "sysfs lists the events of this CPU, but none for LLC misses (none of l3d_cache_refill");
    assert!(said.ends_with("firmware hides the event"), "{said}");
    assert!(reason(&Evidence { is_vm: true, ..bare.clone() }).ends_with("run isobar on the host"));
    let hidden = reason(&Evidence { cause: Cause::Unlisted(Vec::new()), ..bare });
    assert!(hidden.contains("sysfs lists no events") && !hidden.contains("()"), "{hidden}");
}

#[test]
fn a_counter_that_never_counts_says_over_what() {
    let evidence = proof::Evidence { threads: 3, work: 2_345_000_000, in_instructions: true };
    let start = "the counter can be opened but read 0 over 2 billion instructions of 3 threads: ";
    let said = |evidence, is_vm, arch| never_counted(&evidence, is_vm, arch);
    assert!(said(evidence, true, Arch::X86).strip_prefix(start).unwrap().contains("hypervisor"));
    assert!(said(evidence, false, Arch::Arm).strip_prefix(start).unwrap().contains("EXTLLC"));
    assert!(!said(evidence, false, Arch::X86).contains("EXTLLC"));
    let cycles = proof::Evidence { in_instructions: false, ..evidence };
    assert!(said(cycles, false, Arch::Other).contains("2 billion cycles"));
    assert!(stands_still(true, Arch::X86).contains("pmu=on") && !stands_still(false, Arch::X86).contains("pmu=on"));
}

#[test]
fn who_has_the_capability_is_not_told_that_it_is_missing() {
    let without = numa_maps_denied(2, false);
    assert!(without.starts_with("numa_maps of 2 processes cannot be read: ") && without.contains("run as root"));
    assert!(numa_maps_denied(1, false).starts_with("numa_maps of 1 process cannot"));
    let with = numa_maps_denied(2, true);
    assert!(!with.contains("missing") && !with.contains("dumpable") && !with.contains("  "), "{with}");
}
