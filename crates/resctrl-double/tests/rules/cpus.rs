//! `cpus` and `cpus_list` (fs/resctrl/rdtgroup.c: rdtgroup_cpus_write, cpus_ctrl_write,
//! cpus_mon_write).

use isobar_resctrl_double::{Errno, Machine};

use crate::Double;

fn double() -> Double {
    let mut double = Double::of(Machine { cpus: (0..40).collect(), ..Machine::with_domains([0]) });
    ["a", "b", "a/mon_groups/m"].into_iter().for_each(|path| assert_eq!(double.mkdir(path), Ok(())));
    double
}

fn lists(double: &mut Double) -> [String; 4] {
    ["cpus_list", "a/cpus_list", "b/cpus_list", "a/mon_groups/m/cpus_list"]
        .map(|file| double.read(file).trim_end().to_owned())
}

#[test]
fn a_cpu_is_in_one_control_group_and_in_one_monitor_group_of_it() {
    let mut double = double();
    assert_eq!(double.read("cpus"), "ff,ffffffff\n");
    assert_eq!(lists(&mut double), ["0-39", "", "", ""]);
    double.set("a/cpus_list", "0-3,39\n");
    assert_eq!((double.read("a/cpus"), double.read("b/cpus")), ("80,0000000f\n".into(), "00,00000000\n".into()));
    double.set("a/mon_groups/m/cpus", "3,\n");
    assert_eq!(lists(&mut double), ["4-38", "0-3,39", "", "0-1"]);
    double.set("b/cpus", "2");
    assert_eq!(lists(&mut double), ["4-38", "0,2-3,39", "1", "0"], "taken from both");
    double.set("a/cpus_list", "0,2\n");
    assert_eq!(lists(&mut double), ["3-39", "0,2", "1", ""], "what is dropped is the default group's");
    double.rmdir("a").unwrap();
    assert_eq!(double.read("cpus_list"), "0,2-39\n");
}

#[test]
fn wrong_cpus_are_refused_with_the_kernels_words() {
    for (file, text, status) in [
        ("a/cpus", "xyz\n", "Bad CPU list/mask"),
        ("a/cpus_list", "3-1\n", "Bad CPU list/mask"),
        ("a/cpus_list", "40\n", "Can only assign online CPUs"),
        ("cpus_list", "1\n", "Can't drop CPUs from default group"),
        ("a/mon_groups/m/cpus_list", "1\n", "Can only add CPUs to mongroup that belong to parent"),
    ] {
        let mut double = double();
        let answer = double.write(file, text);
        double.expect(text, answer, Err(Errno::INVAL), status);
        assert_eq!(lists(&mut double), ["0-39", "", "", ""], "{text}");
    }
}
