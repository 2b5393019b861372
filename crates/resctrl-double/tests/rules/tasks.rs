//! The `tasks` file (fs/resctrl/rdtgroup.c: rdtgroup_tasks_write, rdtgroup_move_task,
//! __rdtgroup_move_task, show_rdt_tasks).

use isobar_resctrl_double::{Errno, Fault, FaultEffect, Operation};

use crate::Double;

#[test]
fn what_is_refused_and_in_which_words() {
    let rows = [
        ("10\n", Ok(()), "ok", "10\n"),
        ("10", Ok(()), "ok", "10\n"),
        (" 10 \n", Ok(()), "ok", "10\n"),
        ("0xa\n", Ok(()), "ok", "10\n"),
        ("10,11\n", Ok(()), "ok", "10\n11\n"),
        ("10, 11,\n", Ok(()), "ok", "10\n11\n"),
        ("0\n", Ok(()), "ok", "12\n"),
        ("", Ok(()), "ok", ""),
        ("\n", Ok(()), "ok", ""),
        ("10\n11\n", Err(Errno::INVAL), "Task list parsing error pid 10\n11", ""),
        ("x\n", Err(Errno::INVAL), "Task list parsing error pid x", ""),
        ("-5\n", Err(Errno::INVAL), "Invalid pid -5", ""),
        ("99\n", Err(Errno::SRCH), "No task 99\nError while processing task 99", ""),
        // Tasks before the refused one stay moved.
        ("10,99,11\n", Err(Errno::SRCH), "No task 99\nError while processing task 99", "10\n"),
    ];
    for (text, answer, status, shown) in rows {
        let mut double = Double::with_groups();
        let given = double.write("a/tasks", text);
        double.expect(&format!("{text:?}"), given, answer, status);
        assert_eq!(double.read("a/tasks"), shown, "{text:?}");
    }
}

#[test]
fn a_monitor_group_takes_only_tasks_of_its_parent() {
    let mut double = Double::with_groups();
    let given = double.write("a/mon_groups/m/tasks", "10\n");
    double.expect(
        "of the root",
        given,
        Err(Errno::INVAL),
        "Can't move task to different control group\nError while processing task 10",
    );
    double.set("a/tasks", "10\n");
    double.set("a/mon_groups/m/tasks", "10\n");
    assert_eq!((double.read("a/tasks"), double.read("a/mon_groups/m/tasks")), ("10\n".to_owned(), "10\n".to_owned()));
    double.set("a/tasks", "10\n");
    assert_eq!(
        double.read("a/mon_groups/m/tasks"),
        "",
        "written to the control group again, it leaves the monitor group"
    );
    double.set("a/mon_groups/m/tasks", "10\n");
    double.set("b/tasks", "10\n");
    assert_eq!(
        (double.read("a/tasks"), double.read("a/mon_groups/m/tasks"), double.read("b/tasks")),
        (String::new(), String::new(), "10\n".to_owned())
    );
}

#[test]
fn the_new_are_born_where_their_relatives_are_and_the_dead_leave() {
    let mut double = Double::with_groups();
    double.set("a/tasks", "10\n");
    double.set("b/tasks", "11\n");
    double.tasks.process(20, 10);
    double.tasks.thread(21, 20, 10);
    double.tasks.process(22, 20);
    double.tasks.thread(13, 11, 1);
    double.tasks.process(30, 1);
    assert_eq!(double.read("a/tasks"), "10\n20\n21\n22\n", "child, its thread, grandchild");
    assert_eq!(double.read("b/tasks"), "11\n13\n", "a thread is where its leader is");
    assert_eq!(double.read("tasks"), "1\n12\n30\n");
    double.set("b/tasks", "20\n");
    assert_eq!(double.read("a/tasks"), "10\n21\n22\n", "one task is moved, not its threads and children");
    double.tasks.exit(21);
    assert_eq!(double.read("a/tasks"), "10\n22\n");
    // The same id again is a different task.
    double.tasks.thread(21, 20, 10);
    assert_eq!(double.read("b/tasks"), "11\n13\n20\n21\n");
}

#[test]
fn a_monitor_groups_child_is_born_in_it() {
    let mut double = Double::with_groups();
    double.set("a/tasks", "10\n");
    double.set("a/mon_groups/m/tasks", "10\n");
    double.tasks.process(20, 10);
    assert_eq!(double.read("a/mon_groups/m/tasks"), "10\n20\n");
}

#[test]
fn a_task_can_die_while_it_is_written() {
    let mut double = Double::with_groups();
    double.set("a/tasks", "10\n");
    double.state.plan(Fault::at(Operation::Write, "a/tasks", FaultEffect::TasksDie));
    let given = double.write("a/tasks", "11\n");
    double.expect("dead", given, Err(Errno::SRCH), "No task 11\nError while processing task 11");
    assert_eq!(
        (double.read("a/tasks"), double.read("tasks")),
        ("10\n".to_owned(), "1\n12\n".to_owned()),
        "and stays so"
    );
}

#[test]
fn threads_follow_their_leader_in_the_list() {
    let mut double = Double::usual();
    double.tasks.thread(5, 10, 1);
    assert_eq!(double.read("tasks"), "1\n10\n5\n11\n12\n");
}
