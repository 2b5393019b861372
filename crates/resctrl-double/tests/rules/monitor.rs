//! Counters, and what they show if there is no count (fs/resctrl/monitor.c: mon_event_count;
//! ctrlmondata.c: rdtgroup_mondata_show).

use crate::Double;

fn total(double: &mut Double, group: &str) -> String {
    double.read(&format!("{group}/mon_data/mon_L3_03/mbm_total_bytes"))
}

#[test]
fn bytes_stay_with_the_rmid() {
    let mut double = Double::with_groups();
    for (group, bytes) in [("a", 1000), ("a/mon_groups/m", 500), ("b", 1)] {
        double.set(&format!("{group}/tasks"), "10\n");
        double.state.move_bytes(10, 3, bytes);
    }
    assert_eq!(total(&mut double, "a/mon_groups/m"), "500\n");
    assert_eq!(total(&mut double, "a"), "1500\n", "its own 1000 and its monitor group's 500");
    assert_eq!(total(&mut double, "b"), "1\n");
    assert_eq!(double.read("b/mon_data/mon_L3_00/mbm_total_bytes"), "0\n", "another domain");
    double.rmdir("b").unwrap();
    double.mkdir("c").unwrap();
    assert_eq!(total(&mut double, "c"), "0\n", "a new group starts at nothing");
}

#[test]
fn counters_can_have_no_number() {
    let mut double = Double::with_groups();
    double.state.plan_reading("a/mon_data/*", "Unavailable");
    assert_eq!((total(&mut double, "a").as_str(), total(&mut double, "b").as_str()), ("Unavailable\n", "0\n"));
}
