//! `mode` and overlaps (fs/resctrl/rdtgroup.c: rdtgroup_mode_write, rdtgroup_mode_test_exclusive;
//! ctrlmondata.c: parse_cbm).

use isobar_resctrl_double::{Errno, Machine};

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
        ("a", "pseudo-locksetup\n", BAD, "Unknown or unsupported mode"),
    ];
    for (group, text, answer, status) in rows {
        let mut double = Double::with_groups();
        let given = double.write(&format!("{group}/mode"), text);
        double.expect(&format!("{group} {text:?}"), given, answer, status);
    }
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
    double.set("a/schemata", "L3:0=780\n");
    double.set("a/mode", "shareable\n");
    double.set("b/schemata", "L3:0=7ff\n");
}

#[test]
fn under_cdp_code_and_data_overlap_too() {
    let mut double = Double::of(Machine { cdp: true, ..Machine::with_domains([0]) });
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
