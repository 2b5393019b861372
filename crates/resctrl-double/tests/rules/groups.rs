//! Making and removing groups (fs/resctrl/rdtgroup.c: rdtgroup_mkdir, rdtgroup_rmdir).

use isobar_resctrl_double::{Errno, Machine};

use crate::{CALLER, Double};

fn tiny(closids: u32, rmids: u32) -> Machine {
    Machine { closids, rmids, ..Machine::with_domains([0]) }
}

#[test]
fn where_groups_can_be_made() {
    let rows = [
        ("c", Ok(())),
        ("a/mon_groups/n", Ok(())),
        ("mon_groups/n", Ok(())),
        ("a", Err(Errno::EXIST)),
        ("info", Err(Errno::EXIST)),
        ("mon_groups", Err(Errno::EXIST)),
        ("mon_data", Err(Errno::EXIST)),
        ("tasks", Err(Errno::EXIST)),
        ("x\ny", Err(Errno::INVAL)),
        ("a/mon_groups/x\ny", Err(Errno::INVAL)),
        ("a/c", Err(Errno::PERM)),
        ("mon_data/c", Err(Errno::PERM)),
        ("mon_data/mon_L3_00/c", Err(Errno::PERM)),
        ("a/mon_groups/m/c", Err(Errno::PERM)),
        ("a/mon_groups/mon_groups", Err(Errno::PERM)),
        ("info/c", Err(Errno::NODEV)),
        ("info/L3/c", Err(Errno::NODEV)),
    ];
    for (path, answer) in rows {
        let mut double = Double::with_groups();
        assert_eq!(double.mkdir(path), answer, "{path:?}");
        assert_eq!(double.status(), "ok\n", "{path:?}");
    }
}

#[test]
fn closids_and_rmids_run_out() {
    let mut double = Double::of(tiny(2, 16));
    double.mkdir("a").unwrap();
    let given = double.mkdir("b");
    double.expect("no CLOSID", given, Err(Errno::NOSPC), "Out of CLOSIDs");
    double.rmdir("a").unwrap();
    assert_eq!(double.status(), "Out of CLOSIDs\n", "removing a group leaves the status alone");
    double.mkdir("b").unwrap();
    let mut double = Double::of(tiny(8, 3));
    double.mkdir("a").unwrap();
    double.mkdir("a/mon_groups/m").unwrap();
    let (control, monitor) = (double.mkdir("b"), double.mkdir("a/mon_groups/n"));
    assert_eq!(control, Err(Errno::NOSPC));
    double.expect("no RMID", monitor, Err(Errno::NOSPC), "Out of RMIDs");
    assert!(double.state.at("b").is_none(), "nothing of the refused group is left");
    double.rmdir("a/mon_groups/m").unwrap();
    double.mkdir("b").unwrap();
}

#[test]
fn no_room_for_a_new_groups_masks() {
    let mut double = Double::usual();
    double.mkdir("all").unwrap();
    double.set("schemata", "L3:0=1;3=1\n");
    double.set("all/schemata", "L3:0=7fe;3=7fe\n");
    double.set("all/mode", "exclusive\n");
    double.mkdir("root").unwrap();
    double.rmdir("root").unwrap();
    double.set("mode", "exclusive\n");
    let given = double.mkdir("b");
    double.expect("no ways", given, Err(Errno::NOSPC), "No space on L3:0");
    double.set("mode", "shareable\n");
    double.mkdir("b").unwrap();
}

#[test]
fn only_groups_can_be_removed() {
    let rows = [
        ("a", Ok(())),
        ("a/mon_groups/m", Ok(())),
        ("nothing", Err(Errno::NOENT)),
        ("tasks", Err(Errno::NOTDIR)),
        ("info", Err(Errno::PERM)),
        ("info/L3", Err(Errno::PERM)),
        ("mon_groups", Err(Errno::PERM)),
        ("a/mon_groups", Err(Errno::PERM)),
        ("mon_data", Err(Errno::PERM)),
        ("a/mon_data/mon_L3_00", Err(Errno::PERM)),
    ];
    for (path, answer) in rows {
        let mut double = Double::with_groups();
        assert_eq!(double.rmdir(path), answer, "{path}");
    }
}

#[test]
fn a_removed_group_gives_everything_back() {
    let mut double = Double::with_groups();
    double.set("a/tasks", "10,11\n");
    double.set("a/mon_groups/m/tasks", "11\n");
    double.rmdir("a").unwrap();
    assert_eq!(double.read("tasks"), "1\n10\n11\n12\n");
    assert!(double.state.at("a").is_none());
    double.mkdir("a").unwrap();
    assert_eq!(
        (double.read("a/tasks"), double.read("a/schemata")),
        (String::new(), double.read("schemata")),
        "a new one starts anew"
    );
    double.mkdir("a/mon_groups/m").unwrap();
    double.set("a/tasks", "10\n");
    double.set("a/mon_groups/m/tasks", "10\n");
    double.rmdir("a/mon_groups/m").unwrap();
    assert_eq!(double.read("a/tasks"), "10\n", "a monitor group's tasks go to its parent");
}

#[test]
fn a_file_of_a_removed_group_answers_enodev() {
    let mut double = Double::with_groups();
    let (tasks, event) = (double.node("a/tasks"), double.node("a/mon_data/mon_L3_00/mbm_total_bytes"));
    double.rmdir("a").unwrap();
    assert_eq!(double.state.read(event), Err(Errno::NODEV));
    assert_eq!(double.state.write(tasks, b"10\n", CALLER), Err(Errno::NODEV));
    double.mkdir("a").unwrap();
    assert_eq!(double.state.read(tasks), Err(Errno::NODEV), "also when there is one of that name again");
}
