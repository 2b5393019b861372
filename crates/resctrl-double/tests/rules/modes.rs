//! `mode`, overlaps, `bit_usage` and pseudo-locked regions (fs/resctrl/rdtgroup.c:
//! rdtgroup_mode_write, rdtgroup_mode_test_exclusive, rdt_bit_usage_show; ctrlmondata.c: parse_cbm;
//! pseudo_lock.c: rdtgroup_locksetup_enter).

use isobar_resctrl_double::{Cdp, Errno, Machine};

use crate::Double;

const BAD: Result<(), Errno> = Err(Errno::INVAL);

#[test]
fn modes_and_their_refusals() {
    let rows = [
        ("a", "shareable\n", Ok(()), "ok"),
        ("a", "exclusive", BAD, "ok"),
        ("a", "", BAD, "ok"),
        ("a", "private\n", BAD, "Unknown or unsupported mode"),
        ("a", "pseudo-locked\n", BAD, "Unknown or unsupported mode"),
        ("a", "exclusive\n", BAD, "Schemata overlaps"),
        ("a", "pseudo-locksetup\n", BAD, "Pseudo-locking not supported"),
        ("", "pseudo-locksetup\n", BAD, "Cannot pseudo-lock default group"),
    ];
    for (group, text, answer, status) in rows {
        let mut double = Double::with_groups();
        let given = double.write(&format!("{group}/mode"), text);
        double.expect(&format!("{group} {text:?}"), given, answer, status);
    }
    let mut machine = Machine::with_domains(&[(0, &[0])]).with_bandwidth();
    machine.caches[0].cdp = Cdp::On;
    let mut cdp = Double::of(machine.clone());
    cdp.mkdir("a").unwrap();
    let given = cdp.write("a/mode", "pseudo-locksetup\n");
    cdp.expect("CDP", given, BAD, "CDP enabled");
    machine.caches.clear();
    let mut without = Double::of(machine);
    let given = without.write("mode", "exclusive\n");
    without.expect("no cache", given, BAD, "Cannot be exclusive without CAT/CDP");
}

#[test]
fn exclusive_groups_share_with_no_one() {
    let mut double = Double::with_groups();
    double.set("schemata", "L3:0=f;3=f\n");
    double.set("b/schemata", "L3:0=f;3=f\n");
    double.set("a/schemata", "L3:0=7f0;3=7f0\n");
    double.set("a/mode", "exclusive\n");
    assert_eq!(double.read("a/mode"), "exclusive\n");
    let given = double.write("b/schemata", "L3:0=1f\n");
    double.expect("into it", given, BAD, "Overlaps with exclusive group");
    let given = double.write("a/schemata", "L3:0=7f8\n");
    double.expect("out of it", given, BAD, "Overlaps with other group");
    assert_eq!(double.read("info/L3/bit_usage"), "0=EEEEEEESSSS;3=EEEEEEESSSS\n");
    double.set("a/schemata", "L3:0=780\n");
    assert_eq!(double.read("info/L3/bit_usage"), "0=EEEE000SSSS;3=EEEEEEESSSS\n");
    double.set("a/mode", "shareable\n");
    double.set("b/schemata", "L3:0=7ff\n");
}

#[test]
fn ways_of_other_agents_cannot_be_exclusive() {
    let mut machine = Machine::with_domains(&[(0, &[0])]);
    machine.caches[0].shareable = 0x600;
    let mut double = Double::of(machine);
    double.mkdir("a").unwrap();
    double.set("schemata", "L3:0=3\n");
    double.set("a/schemata", "L3:0=700\n");
    let given = double.write("a/mode", "exclusive\n");
    double.expect("shareable bits", given, BAD, "Schemata overlaps");
    assert_eq!(double.read("info/L3/bit_usage"), "0=XXS000000SS\n");
    double.set("a/schemata", "L3:0=c\n");
    double.set("a/mode", "exclusive\n");
    assert_eq!(double.read("info/L3/bit_usage"), "0=HH00000EESS\n");
}

#[test]
fn under_cdp_code_and_data_overlap_too() {
    let mut machine = Machine::with_domains(&[(0, &[0])]);
    machine.caches[0].cdp = Cdp::On;
    let mut double = Double::of(machine);
    double.mkdir("a").unwrap();
    double.set("schemata", "L3CODE:0=1\nL3DATA:0=30\n");
    double.set("a/schemata", "L3CODE:0=20\nL3DATA:0=2\n");
    let given = double.write("a/mode", "exclusive\n");
    double.expect("its code with the other's data", given, BAD, "Schemata overlaps");
    double.set("a/schemata", "L3CODE:0=c\n");
    double.set("a/mode", "exclusive\n");
    let given = double.write("schemata", "L3DATA:0=c\n");
    double.expect("data into its code", given, BAD, "Overlaps with exclusive group");
}

#[test]
fn another_tools_pseudo_locked_region_is_left_alone() {
    let mut double = Double::usual();
    double.set("schemata", "L3:0=7fc\n");
    double.state.pseudo_lock("locked", 0, 0b11);
    double.mkdir("a").unwrap();
    assert_eq!(double.read("a/schemata"), "    MB:0=100;3=100\n    L3:0=7fc;3=7ff\n", "a new group gets none of it");
    for (path, text, status) in [
        ("a/schemata", "L3:0=7\n", "CBM overlaps with pseudo-locked region"),
        ("locked/schemata", "L3:0=1\n", "Resource group is pseudo-locked"),
        ("locked/tasks", "10\n", "Pseudo-locking in progress"),
        ("locked/cpus", "1\n", "Pseudo-locking in progress"),
        ("locked/mode", "shareable\n", "Cannot change pseudo-locked group"),
    ] {
        let given = double.write(path, text);
        double.expect(path, given, BAD, status);
    }
    let given = double.mkdir("locked/mon_groups/m");
    double.expect("monitoring", given, BAD, "Pseudo-locking in progress");
    assert_eq!(
        (double.read("locked/schemata"), double.read("locked/size")),
        ("L3:0=3\n".to_owned(), "L3:0=5242880\n".to_owned())
    );
    assert_eq!(
        (double.read("locked/mode"), double.read("locked/cpus_list")),
        ("pseudo-locked\n".to_owned(), "0-1\n".to_owned())
    );
    assert_eq!(double.read("info/L3/bit_usage"), "0=SSSSSSSSSPP;3=SSSSSSSSSSS\n");
    double.rmdir("locked").unwrap();
    double.set("a/schemata", "L3:0=7\n");
}
