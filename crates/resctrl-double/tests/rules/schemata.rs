//! Writing and showing `schemata` (fs/resctrl/ctrlmondata.c).

use isobar_resctrl_double::{Errno, Machine};

use crate::Double;

const BAD: Result<(), Errno> = Err(Errno::INVAL);

#[test]
fn what_is_refused_and_in_which_words() {
    // rdtgroup_schemata_write, parse_line, parse_cbm, cbm_validate, bw_validate.
    let rows = [
        ("L3:0=3", BAD, "Mask out of range"),
        ("", BAD, "Mask out of range"),
        ("\n", BAD, "Missing ':'"),
        ("L3\n", BAD, "Missing ':'"),
        ("L3:\n", BAD, "Missing 'L3' value"),
        ("L4:0=3\n", BAD, "Unknown or unsupported resource name 'L4'"),
        ("l3:0=3\n", BAD, "Unknown or unsupported resource name 'l3'"),
        ("L3:0\n", BAD, "Missing '=' or non-numeric domain"),
        ("L3:x=3\n", BAD, "Missing '=' or non-numeric domain"),
        ("L3: 0=3\n", BAD, "Missing '=' or non-numeric domain"),
        ("L3:0=3;;3=3\n", BAD, "Missing '=' or non-numeric domain"),
        // An unknown domain is refused without a text.
        ("L3:1=3\n", BAD, "ok"),
        ("MB:7=10\n", BAD, "ok"),
        ("L3:0=3;0=3\n", BAD, "Duplicate domain 0"),
        ("L3:0=3\nL3:0=3\n", BAD, "Duplicate domain 0"),
        ("MB:3=20;3=20\n", BAD, "Duplicate domain 3"),
        ("L3:0=g\n", BAD, "Non-hex character in the mask g"),
        ("L3:0=\n", BAD, "Non-hex character in the mask "),
        ("L3:0=-1\n", BAD, "Non-hex character in the mask -1"),
        ("L3:0=0\n", BAD, "Mask out of range"),
        ("L3:0=800\n", BAD, "Mask out of range"),
        ("L3:0=ffffffffffff\n", BAD, "Mask out of range"),
        ("L3:0=5\n", BAD, "The mask 5 has non-consecutive 1-bits"),
        ("L3:0=7fd\n", BAD, "The mask 7fd has non-consecutive 1-bits"),
        ("MB:0=x\n", BAD, "Non-decimal digit in MB value x"),
        ("MB:0=9\n", BAD, "MB value 9 out of range [10,100]"),
        ("MB:0=101\n", BAD, "MB value 101 out of range [10,100]"),
        ("L3:0=3\nMB:0=5\n", BAD, "MB value 5 out of range [10,100]"),
        ("L3:0=3\n\n", BAD, "Missing ':'"),
        ("L3:0=3\n", Ok(()), "ok"),
        ("  L3 :0= 0x3 ;3=7F0\n", Ok(()), "ok"),
        ("L3:0=3;\n", Ok(()), "ok"),
        ("L3:+0=+3\n", Ok(()), "ok"),
        ("MB:0=10\nL3:0=3\n", Ok(()), "ok"),
        ("L3:0=3\0L3:0=nonsense\n", Ok(()), "ok"),
    ];
    for (text, answer, status) in rows {
        let mut double = Double::with_groups();
        // A refusal before the status is touched leaves the text of the previous command.
        double.write("a/schemata", "L3:0=0\n").unwrap_err();
        let given = double.write("a/schemata", text);
        double.expect(&format!("{text:?}"), given, answer, status);
        if answer.is_err() {
            assert_eq!(
                double.read("a/schemata"),
                "    MB:0=100;3=100\n    L3:0=7ff;3=7ff\n",
                "{text:?} changed something"
            );
        }
    }
}

#[test]
fn what_is_written_is_shown_in_the_kernels_form() {
    let mut double = Double::with_groups();
    double.set("a/schemata", "L3:0=3;3=7f0\nMB:0=15;3=20\n");
    assert_eq!(
        double.read("a/schemata"),
        "    MB:0= 20;3= 20\n    L3:0=003;3=7f0\n",
        "rounded up to the step, padded until 6.14"
    );
    assert_eq!(double.read("b/schemata"), "    MB:0=100;3=100\n    L3:0=7ff;3=7ff\n");
}

#[test]
fn code_and_data_have_masks_of_their_own() {
    let mut double = Double::of(Machine { cdp: true, ..Machine::with_domains([0]) });
    assert_eq!(double.read("schemata"), "L3DATA:0=7ff\nL3CODE:0=7ff\n");
    assert_eq!(double.read("info/L3CODE/num_closids"), "8\n", "half of 16");
    double.set("schemata", "L3CODE:0=3\n");
    assert_eq!(double.read("schemata"), "L3DATA:0=7ff\nL3CODE:0=003\n");
    let given = double.write("schemata", "L3:0=3\n");
    double.expect("L3 under CDP", given, BAD, "Unknown or unsupported resource name 'L3'");
}

#[test]
fn a_new_group_gets_what_is_shareable_or_unused() {
    // __init_one_rdt_domain, cbm_ensure_valid.
    let mut double = Double::usual();
    double.set("schemata", "L3:0=f\n");
    double.mkdir("a").unwrap();
    assert_eq!(double.read("a/schemata"), "    MB:0=100;3=100\n    L3:0=7ff;3=7ff\n");
    double.set("a/schemata", "L3:0=7f0;3=7f0\n");
    double.set("schemata", "L3:0=f;3=f\n");
    double.set("a/mode", "exclusive\n");
    double.mkdir("b").unwrap();
    assert_eq!(double.read("b/schemata"), "    MB:0=100;3=100\n    L3:0=00f;3=00f\n", "not what is exclusive");
    double.set("b/schemata", "L3:0=1;3=1\n");
    double.set("schemata", "L3:0=e;3=e\n");
    double.set("b/mode", "exclusive\n");
    double.set("schemata", "L3:0=2;3=8\n");
    double.mkdir("c").unwrap();
    assert_eq!(double.read("c/schemata"), "    MB:0=100;3=100\n    L3:0=00e;3=00e\n", "the root's and the unused");
}
