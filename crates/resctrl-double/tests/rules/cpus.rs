//! The `cpus` and `cpus_list` files (fs/resctrl/rdtgroup.c: rdtgroup_cpus_write, cpus_ctrl_write,
//! cpus_mon_write).

use isobar_resctrl_double::{Errno, Machine};

use crate::Double;

#[test]
fn what_is_refused_and_in_which_words() {
    let rows = [
        ("a/cpus_list", "1-2\n", Ok(()), "ok", "1-2\n"),
        ("a/cpus", "6\n", Ok(()), "ok", "1-2\n"),
        ("a/cpus", "6", Ok(()), "ok", "1-2\n"),
        ("a/cpus_list", "\n", Ok(()), "ok", "\n"),
        ("a/cpus", "0\n", Ok(()), "ok", "\n"),
        ("a/cpus_list", "2-1\n", Err(Errno::INVAL), "Bad CPU list/mask", "\n"),
        ("a/cpus_list", "x\n", Err(Errno::INVAL), "Bad CPU list/mask", "\n"),
        ("a/cpus_list", "9\n", Err(Errno::RANGE), "Bad CPU list/mask", "\n"),
        ("a/cpus", "g\n", Err(Errno::INVAL), "Bad CPU list/mask", "\n"),
        ("a/cpus", "100\n", Err(Errno::OVERFLOW), "Bad CPU list/mask", "\n"),
        ("a/cpus_list", "1,5\n", Err(Errno::INVAL), "Can only assign online CPUs", "\n"),
    ];
    for (path, text, answer, status, shown) in rows {
        let mut machine = Machine::with_domains(&[(0, &[0, 1, 2, 3])]);
        machine.possible_cpus = 8;
        let mut double = Double::of(machine);
        double.mkdir("a").unwrap();
        let given = double.write(path, text);
        double.expect(&format!("{path} {text:?}"), given, answer, status);
        assert_eq!(double.read("a/cpus_list"), shown, "{path} {text:?}");
    }
    let mut double = Double::with_groups();
    let given = double.write("cpus_list", "0-2\n");
    double.expect("dropped from the root", given, Err(Errno::INVAL), "Can't drop CPUs from default group");
    let given = double.write("a/mon_groups/m/cpus", "1\n");
    double.expect("not the parent's", given, Err(Errno::INVAL), "Can only add CPUs to mongroup that belong to parent");
}

#[test]
fn a_cpu_is_in_one_control_group() {
    let mut double = Double::with_groups();
    double.set("a/cpus_list", "0-1\n");
    double.set("a/mon_groups/m/cpus_list", "0\n");
    assert_eq!(double.read("a/cpus"), "3\n", "a monitor group's CPUs stay the parent's");
    double.set("b/cpus_list", "1-2\n");
    assert_eq!((double.read("a/cpus_list"), double.read("cpus_list")), ("0\n".to_owned(), "3\n".to_owned()));
    assert_eq!(double.read("a/mon_groups/m/cpus_list"), "0\n");
    double.set("a/cpus_list", "0,3\n");
    assert_eq!(double.read("a/mon_groups/m/cpus_list"), "\n", "the parent's new mask clears its monitor groups'");
    double.set("cpus_list", "0-3\n");
    assert_eq!((double.read("a/cpus_list"), double.read("b/cpus_list")), ("\n".to_owned(), "\n".to_owned()));
}
