//! What the hardware receives, and which of its counts are shown (fs/resctrl: __resctrl_sched_in,
//! mon_event_count).

use std::sync::{Arc, Mutex, MutexGuard};

use isobar_resctrl_double::{Allocation, Event, Hardware, Machine};

use crate::Double;

/// The last allocation, and the count of every RMID.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<(Allocation, u64)>>);

impl Seen {
    fn now(&self) -> MutexGuard<'_, (Allocation, u64)> {
        self.0.lock().unwrap()
    }
}

impl Hardware for Seen {
    fn allocate(&mut self, wanted: &Allocation) {
        self.now().0 = wanted.clone();
    }

    fn count(&self, event: Event, rmid: u32, _: u32) -> Option<u64> {
        (event != Event::LocalBytes).then(|| self.now().1 + u64::from(rmid))
    }
}

fn double() -> (Double, Seen) {
    let events = [Event::Occupancy, Event::TotalBytes, Event::LocalBytes].into();
    let machine = Machine { ways: 16, cpus: (0..4).collect(), events, ..Machine::with_domains([0, 3]) };
    let (mut double, seen) = (Double::of(machine), Seen::default());
    double.state.attach(Box::new(seen.clone()));
    (double, seen)
}

#[test]
fn every_group_has_a_mask_for_its_rmid_and_tasks_and_cpus_have_the_rmid_of_theirs() {
    let (mut double, seen) = double();
    assert_eq!(seen.now().0.masks, [((0, 0), 0xffff), ((0, 3), 0xffff)].into());
    double.mkdir("a").unwrap();
    double.mkdir("a/mon_groups/m").unwrap();
    double.set("a/schemata", "L3:3=00ff\n");
    assert_eq!(double.read("a/schemata"), "    L3:0=ffff;3=00ff\n");
    double.set("a/tasks", "10,11\n");
    double.set("a/mon_groups/m/tasks", "11\n");
    double.set("a/cpus_list", "1\n");
    let wanted = seen.now().0.clone();
    assert_eq!((wanted.masks[&(1, 3)], wanted.masks[&(2, 3)], wanted.masks[&(0, 3)]), (0xff, 0xff, 0xffff));
    let tasks = [(10, 1), (11, 2)];
    assert_eq!((wanted.tasks, wanted.cpus), (tasks.into(), [(1, 1)].into()));
    double.rmdir("a").unwrap();
    assert_eq!(
        seen.now().0,
        Allocation { masks: [((0, 0), 0xffff), ((0, 3), 0xffff)].into(), ..Allocation::default() }
    );
}

#[test]
fn tasks_are_looked_at_once_until_it_follows_and_again_for_one_that_is_not_known() {
    let (mut double, seen) = double();
    double.mkdir("a").unwrap();
    double.set("a/tasks", "10\n");
    double.tasks.process(20, 10);
    double.set("a/tasks", "11\n");
    assert_eq!(double.read("a/tasks"), "10\n11\n", "a child that nobody has looked for");
    double.state.follow();
    assert_eq!(seen.now().0.tasks.keys().copied().collect::<Vec<_>>(), [10, 11, 20]);
    double.tasks.process(30, 1);
    double.set("a/tasks", "30\n");
    assert_eq!(double.read("a/tasks"), "10\n11\n20\n30\n");
}

#[test]
fn a_group_counts_bytes_from_its_beginning_and_what_it_holds_now() {
    let (mut double, seen) = double();
    seen.now().1 = 1000;
    double.mkdir("a").unwrap();
    seen.now().1 = 1500;
    let mut read = |file: &str| double.read(&format!("a/mon_data/mon_L3_03/{file}"));
    assert_eq!(read("mbm_total_bytes"), "500\n");
    assert_eq!(read("llc_occupancy"), "1501\n");
    assert_eq!(read("mbm_local_bytes"), "Unavailable\n");
}
