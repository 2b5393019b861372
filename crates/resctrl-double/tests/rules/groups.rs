//! Making, removing and moving groups (fs/resctrl/rdtgroup.c: rdtgroup_mkdir, rdtgroup_rmdir,
//! rdtgroup_rename).

use isobar_resctrl_double::{Errno, Kernel, Machine};

use crate::Double;

fn tiny(closids: u32, rmids: u32) -> Machine {
    let mut machine = Machine::with_domains(&[(0, &[0, 1])]);
    machine.caches[0].closids = closids;
    machine.monitoring.as_mut().unwrap().rmids = rmids;
    machine
}

#[test]
fn where_groups_can_be_made() {
    let long = "n".repeat(256);
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
        (&long, Err(Errno::NAMETOOLONG)),
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
fn a_freed_rmid_is_in_limbo_until_its_occupancy_fell() {
    // resctrl_find_free_rmid: EBUSY while there is one in limbo, ENOSPC where there is none.
    let mut machine = tiny(8, 2);
    machine.monitoring.as_mut().unwrap().limbo_requests = 3;
    let mut double = Double::of(machine);
    double.mkdir("a").unwrap();
    assert_eq!(double.mkdir("b"), Err(Errno::NOSPC));
    double.rmdir("a").unwrap();
    for _ in 0..2 {
        let given = double.mkdir("b");
        double.expect("in limbo", given, Err(Errno::BUSY), "Out of RMIDs");
    }
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
    double.set("a/cpus_list", "1-2\n");
    double.rmdir("a").unwrap();
    assert_eq!(double.read("tasks"), "1\n10\n11\n12\n");
    assert_eq!(double.read("cpus_list"), "0-3\n");
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
    let (tasks, event) = (double.node("a/tasks"), double.node("a/mon_data/mon_L3_00/llc_occupancy"));
    double.rmdir("a").unwrap();
    assert_eq!(double.state.read(event), Err(Errno::NODEV));
    assert_eq!(double.state.write(tasks, b"10\n", double.caller), Err(Errno::NODEV));
    double.mkdir("a").unwrap();
    assert_eq!(double.state.read(tasks), Err(Errno::NODEV), "also when there is one of that name again");
}

#[test]
fn monitor_groups_can_be_moved() {
    // rdtgroup_rename; the words for a file have no line break in the kernel either.
    let rows = [
        ("a/mon_groups/m", "a/mon_groups/n", Ok(()), "ok\n"),
        ("a/mon_groups/m", "b/mon_groups/m", Ok(()), "ok\n"),
        (
            "a/mon_groups/m",
            "b/mon_groups/mon_groups",
            Err(Errno::PERM),
            "Destination must be a mon_groups subdirectory\n",
        ),
        ("a/mon_groups/m", "n", Err(Errno::PERM), "Destination must be a mon_groups subdirectory\n"),
        ("a", "c", Err(Errno::PERM), "Source must be a MON group\n"),
        ("a/mon_groups", "a/groups", Err(Errno::PERM), "Source must be a MON group\n"),
        ("a/tasks", "a/jobs", Err(Errno::PERM), "Source and destination must be directories"),
        ("a/mon_groups/m", "info/m", Err(Errno::NOENT), "ok\n"),
        ("info", "news", Err(Errno::NOENT), "ok\n"),
        ("nothing", "news", Err(Errno::NOENT), "ok\n"),
    ];
    for (from, to, answer, status) in rows {
        let mut double = Double::with_groups();
        assert_eq!((double.rename(from, to), double.status().as_str()), (answer, status), "{from} to {to}");
    }
    let mut double = Double::with_groups();
    double.mkdir("b/mon_groups/m").unwrap();
    assert_eq!(double.rename("a/mon_groups/m", "b/mon_groups/m"), Err(Errno::EXIST));
    double.set("a/tasks", "10\n");
    double.set("a/mon_groups/m/tasks", "10\n");
    double.rename("a/mon_groups/m", "b/mon_groups/n").unwrap();
    assert_eq!(
        (double.read("a/tasks"), double.read("b/tasks")),
        (String::new(), "10\n".to_owned()),
        "its tasks go with it"
    );
    double.set("b/cpus_list", "1\n");
    double.set("b/mon_groups/n/cpus_list", "1\n");
    let given = double.rename("b/mon_groups/n", "a/mon_groups/n");
    double.expect("with CPUs", given, Err(Errno::PERM), "Cannot move a MON group that monitors CPUs");
    double.rename("b/mon_groups/n", "b/mon_groups/o").unwrap();
}

#[test]
fn before_6_5_nothing_could_be_renamed() {
    let mut machine = Machine::with_domains(&[(0, &[0])]);
    machine.kernel = Kernel::of_version(6, 4);
    let mut double = Double::of(machine);
    double.mkdir("mon_groups/m").unwrap();
    assert_eq!(double.rename("mon_groups/m", "mon_groups/n"), Err(Errno::PERM));
}

#[test]
fn a_machine_that_only_monitors_or_only_allocates() {
    let mut machine = Machine::with_domains(&[(0, &[0])]);
    machine.caches.clear();
    let mut double = Double::of(machine);
    assert_eq!(double.mkdir("a"), Err(Errno::PERM), "no control groups");
    double.mkdir("mon_groups/m").unwrap();
    assert_eq!(double.read("schemata"), "", "there, and empty (rdt_get_tree)");
    assert_eq!(double.read("tasks"), "", "is_closid_match wants allocation");
    double.set("mon_groups/m/tasks", "10\n");
    assert_eq!(double.read("mon_groups/m/tasks"), "10\n");
    let mut machine = Machine::with_domains(&[(0, &[0])]);
    machine.monitoring = None;
    let mut double = Double::of(machine);
    double.mkdir("a").unwrap();
    assert_eq!(double.mkdir("a/b"), Err(Errno::PERM));
    assert_eq!(double.mkdir("info/b"), Err(Errno::PERM), "not even an attempt at a monitor group");
    double.mkdir("mon_groups").unwrap();
    assert!(double.state.at("a/mon_data").is_none() && double.state.at("info/L3_MON").is_none());
}
