//! Counters and what they read where there is none (fs/resctrl/monitor.c: mon_event_count;
//! ctrlmondata.c: rdtgroup_mondata_show).

use isobar_resctrl_double::{Errno, Machine, Reading, Traffic, TrafficFile};

use crate::Double;

fn traffic(occupancy: u64, total: u64, local: u64) -> Traffic {
    Traffic { occupancy, total, local }
}

#[test]
fn bytes_stay_with_the_rmid_and_occupancy_goes_with_the_task() {
    let mut double = Double::with_groups();
    let total = |double: &mut Double, group: &str| double.read(&format!("{group}/mon_data/mon_L3_03/mbm_total_bytes"));
    double.set("a/tasks", "10\n");
    double.state.set_traffic(10, 3, traffic(4096, 1000, 600));
    double.set("a/mon_groups/m/tasks", "10\n");
    double.state.set_traffic(10, 3, traffic(8192, 1500, 700));
    double.set("b/tasks", "10\n");
    double.state.set_traffic(10, 3, traffic(100, 1501, 701));
    assert_eq!(total(&mut double, "a/mon_groups/m"), "500\n");
    assert_eq!(total(&mut double, "a"), "1500\n", "its own 1000 and its monitor group's 500");
    assert_eq!(total(&mut double, "b"), "1\n");
    assert_eq!(double.read("b/mon_data/mon_L3_03/llc_occupancy"), "100\n");
    assert_eq!(double.read("b/mon_data/mon_L3_00/mbm_total_bytes"), "0\n", "another domain");
    assert_eq!(double.read("a/mon_data/mon_L3_03/mbm_local_bytes"), "700\n");
    double.rmdir("b").unwrap();
    double.mkdir("c").unwrap();
    assert_eq!(total(&mut double, "c"), "0\n", "a new group starts at nothing");
}

#[test]
fn the_last_bytes_before_a_move_count_where_they_were_moved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("traffic");
    let mut double = Double::with_groups();
    double.state.read_traffic_from(TrafficFile(file.clone()));
    double.set("a/tasks", "10\n");
    std::fs::write(&file, "10 0 0 700 0\n").unwrap();
    double.set("b/tasks", "10\n");
    std::fs::write(&file, "10 0 64 900 0\n").unwrap();
    let total = |double: &mut Double, group: &str| double.read(&format!("{group}/mon_data/mon_L3_00/mbm_total_bytes"));
    assert_eq!((total(&mut double, "a"), total(&mut double, "b")), ("700\n".to_owned(), "200\n".to_owned()));
}

#[test]
fn counters_can_have_no_number() {
    let mut double = Double::with_groups();
    double.state.plan_reading("a/mon_data/*", Reading::Unavailable);
    double.state.plan_reading("b/mon_data/*/mbm_local_bytes", Reading::Error);
    assert_eq!(double.read("a/mon_data/mon_L3_00/llc_occupancy"), "Unavailable\n");
    assert_eq!(double.read("b/mon_data/mon_L3_03/mbm_local_bytes"), "Error\n");
    assert_eq!(double.read("b/mon_data/mon_L3_03/mbm_total_bytes"), "0\n");
    let mut machine = Machine::with_domains(&[(0, &[0])]);
    machine.monitoring.as_mut().unwrap().silent_until_traffic = true;
    let mut double = Double::of(machine);
    let path = "mon_data/mon_L3_00/mbm_total_bytes";
    assert_eq!(double.read(path), "Unavailable\n");
    double.state.set_traffic(10, 0, traffic(0, 64, 0));
    assert_eq!(double.read(path), "64\n");
}

#[test]
fn in_mbm_event_mode_a_group_without_counters_is_unassigned() {
    let mut machine = Machine::with_domains(&[(0, &[0]), (1, &[1])]);
    machine.monitoring.as_mut().unwrap().counters = Some(5);
    let mut double = Double::of(machine);
    let left = |double: &mut Double| double.read("info/L3_MON/available_mbm_cntrs");
    assert_eq!(double.read("info/L3_MON/mbm_assign_mode"), "[mbm_event]\ndefault\n");
    assert_eq!(
        (double.read("info/L3_MON/num_mbm_cntrs"), left(&mut double)),
        ("0=5;1=5\n".to_owned(), "0=3;1=3\n".to_owned())
    );
    ["a", "b"].into_iter().for_each(|group| double.mkdir(group).unwrap());
    assert_eq!(left(&mut double), "0=1;1=1\n");
    assert_eq!(double.read("a/mon_data/mon_L3_00/mbm_total_bytes"), "0\n");
    assert_eq!(double.read("b/mon_data/mon_L3_00/mbm_total_bytes"), "Unassigned\n");
    assert_eq!(double.read("b/mon_data/mon_L3_00/llc_occupancy"), "0\n", "occupancy needs none");
    double.rmdir("a").unwrap();
    double.mkdir("c").unwrap();
    assert_eq!(double.read("c/mon_data/mon_L3_00/mbm_total_bytes"), "0\n");
}

#[test]
fn the_threshold_can_be_set_up_to_the_cache() {
    // max_threshold_occ_write: the status is not touched.
    let mut double = Double::usual();
    assert_eq!(double.read("info/L3_MON/max_threshold_occupancy"), format!("{}\n", 11 * (5 << 19) / 64));
    for (text, answer) in [
        ("4096\n", Ok(())),
        ("0x10\n", Ok(())),
        ("x\n", Err(Errno::INVAL)),
        ("99999999999\n", Err(Errno::INVAL)),
        ("30000000\n", Err(Errno::INVAL)),
    ] {
        assert_eq!(double.write("info/L3_MON/max_threshold_occupancy", text), answer, "{text}");
    }
    assert_eq!(double.read("info/L3_MON/max_threshold_occupancy"), "16\n");
}
