//! Moves that were planned together. If one thread of a swap is held off, the other one would join
//! it on its CPU. So a thread that would take the place of a thread that stays is held off too, and
//! then the thread that would take that thread's place, and so on. The same holds for pages that
//! would follow a thread that stays. A swap, or a longer exchange, is carried out as a whole or not
//! at all. Pure.

use isobar_model::{Action, CpuId, Pid, Plan, Tid};

/// Holds off the partners of the actions in `held`, which has an entry for each action of the plan:
/// the reason, if the action is held off. `on` returns the present CPU of a thread.
pub fn hold_off(plan: &Plan, on: impl Fn(Pid, Tid) -> Option<CpuId>, held: &mut [Option<String>]) {
    let mut settled: Vec<bool> = held.iter().map(Option::is_none).collect();
    while let Some(index) = settled.iter().position(|settled| !settled) {
        settled[index] = true;
        let (Some(Action::MoveThread { pid, tid, cpu, .. }), Some(Some(why))) =
            (plan.actions.get(index), held.get(index))
        else {
            continue;
        };
        let stays = on(*pid, *tid).filter(|stays| stays != cpu);
        let why = match why.strip_prefix(PARTNER) {
            Some(_) => why.clone(),
            None => format!("{PARTNER} of thread {tid}, which is held off ({why})"),
        };
        for (other, action) in plan.actions.iter().enumerate().filter(|(other, _)| *other != index) {
            let depends = match action {
                Action::MoveThread { cpu, .. } => stays == Some(*cpu),
                Action::MigratePages { pid: of, for_thread, .. } => of == pid && *for_thread == Some(*tid),
                _ => false,
            };
            if depends && held[other].is_none() {
                held[other] = Some(why.clone());
                settled[other] = false;
            }
        }
    }
}

/// How the reason of a partner begins.
const PARTNER: &str = "planned together with the move";

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::{NodeId, PageSelection, Pages};

    const PID: Pid = Pid(1);

    fn to(tid: u32, cpu: u32) -> Action {
        Action::MoveThread { pid: PID, tid: Tid(tid), cpu: CpuId(cpu), cpus: None, reason: "because".into() }
    }

    fn pages(for_thread: Option<Tid>) -> Action {
        let (from, to, select) = (NodeId(0), NodeId(1), PageSelection::ResidentSet);
        Action::MigratePages { pid: PID, from, to, pages: Pages(1), select, for_thread, reason: "because".into() }
    }

    /// Which of these actions are held off if the first is. Each thread is on the CPU with its own
    /// number.
    fn held(actions: &[Action]) -> Vec<bool> {
        let plan = Plan { actions: actions.to_vec(), ..Plan::nothing("test") };
        let mut held = vec![None; actions.len()];
        held[0] = Some("by hand".to_owned());
        hold_off(&plan, |_, tid| Some(CpuId(tid.0)), &mut held);
        held.iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_swap_is_whole_or_not_at_all() {
        assert_eq!(held(&[to(1, 2), to(2, 1)]), [true, true]);
        assert_eq!(held(&[to(1, 2), to(2, 1), to(3, 4), to(4, 3)]), [true, true, false, false], "another swap goes on");
        assert_eq!(held(&[to(1, 2), to(3, 1), to(2, 3)]), [true; 3], "three in a ring");
    }

    #[test]
    fn who_only_makes_way_goes_on_and_who_stays_where_it_is_hinders_no_one() {
        assert_eq!(held(&[to(1, 2), to(2, 3)]), [true, false]);
        assert_eq!(held(&[to(1, 1), to(2, 1)]), [true, false], "it was there before, and the plan knew");
    }

    #[test]
    fn pages_that_follow_a_thread_stay_with_it() {
        let all = [to(1, 2), pages(Some(Tid(1))), pages(Some(Tid(2))), pages(None)];
        assert_eq!(held(&all), [true, true, false, false]);
        assert_eq!(held(&[to(1, 2), to(2, 1), pages(Some(Tid(2)))]), [true; 3]);
    }

    #[test]
    fn the_reason_names_the_thread_that_was_held_off_first() {
        let plan = Plan { actions: vec![to(1, 2), to(3, 1), to(2, 3)], ..Plan::nothing("test") };
        let mut held = vec![Some("by hand".to_owned()), None, None];
        hold_off(&plan, |_, tid| Some(CpuId(tid.0)), &mut held);
        let why = "planned together with the move of thread 1, which is held off (by hand)";
        assert_eq!(held[1..], [Some(why.to_owned()), Some(why.to_owned())]);
    }
}
