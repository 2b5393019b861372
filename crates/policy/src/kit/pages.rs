//! Makes pages follow their threads (DINO, section 4.2). After a layout, pages that lie on other
//! nodes than the threads that use them are asked to move: K pages around each sampled address.
//!
//! The paper's migration daemon wakes every 10 ms, takes one sample, and moves the page and K
//! around it to wherever the thread runs then. Here the decision of an interval asks for all of
//! that at once: K pages per sample, and at most as many samples as the daemon would have taken.
//! The machine copies pages in parallel with the control loop, as the daemon does. Pages under way
//! count as asked for, and are withdrawn if no thread of the process runs on their target any more.
//!
//! - All threads of a process on one node: its pages on every other node follow, until at most
//!   `stray_percent` are left or the rest does not move (shared libraries, locked pages).
//! - Threads on several nodes: only a thread that crosses to another node takes pages along, K of
//!   them, from the node that it left. Taking more would move the memory of the other threads away
//!   from them.

use super::domains::{Domains, SeatId};
use super::flight;
use super::group::Member;
use super::immovable::ImmovablePages;
use super::page_settings::PageSettings;
use super::ping_pong::{Limits, PingPong, Verdict};
use super::refused::{Refused, RequestKey};
use super::words::whole_percent;
use isobar_model::{Action, NodeId, NodeMap, Observation, Pages, Pid, Plan, Process, Tid};

/// The nodes on which a thread ran and will run.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its process's position in the observation.
    pub process: usize,
    /// The thread.
    pub tid: Tid,
    /// The node on which it ran.
    pub was: Option<NodeId>,
    /// The node on which it will run.
    pub will: Option<NodeId>,
}

impl Place {
    /// The place of a thread that gets a seat. A thread whose move was refused stays until it
    /// moves, and so do its pages.
    #[must_use]
    pub fn of(domains: &Domains, member: &Member<'_>, seat: SeatId, refused: &Refused) -> Self {
        let was = member.seat.and_then(|seat| domains.node_of(seat));
        let stays = refused.doubts(RequestKey::Thread(member.pid, member.thread.tid));
        let will = if stays { was } else { domains.node_of(seat) };
        Self { process: member.process, tid: member.thread.tid, was, will }
    }

    /// From where to where the thread crosses, if it does.
    fn crosses(&self) -> Option<(NodeId, NodeId, Tid)> {
        let (from, to) = (self.was?, self.will?);
        (from != to).then_some((from, to, self.tid))
    }
}

/// What is remembered between intervals.
#[derive(Clone, Debug)]
pub struct Follower {
    settings: PageSettings,
    ping_pong: Option<PingPong>,
    stuck: ImmovablePages,
    /// Intervals so far.
    interval: u64,
}

impl Follower {
    /// Nothing is remembered yet. `limits` say when to stop because of ping-pong; `None`: never
    /// (DI-Migrate).
    #[must_use]
    pub fn new(settings: PageSettings, limits: Option<Limits>) -> Self {
        Self { settings, ping_pong: limits.map(PingPong::new), stuck: ImmovablePages::default(), interval: 0 }
    }

    /// Adds to a plan the migrations that an interval's layout asks for, and notes on what is not
    /// done. `places` are ascending by process. Pages of a process whose migration was `refused`
    /// lately are not asked for; that these pages stay is no sign that they are stuck.
    pub fn follow(&mut self, seen: &Observation, places: &[Place], refused: &Refused, plan: &mut Plan) {
        self.interval += 1;
        let alive = |pid: Pid| seen.processes.binary_search_by_key(&pid, |process| process.pid).is_ok();
        self.stuck.next_interval();
        if let Some(detector) = &mut self.ping_pong {
            detector.keep_only(alive);
        }
        for together in places.chunk_by(|a, b| a.process == b.process) {
            let process = &seen.processes[together[0].process];
            if process.elsewhere {
                continue;
            }
            if together.iter().any(|place| place.will.is_some()) {
                let runs_on = |node| together.iter().any(|place| place.will == Some(node));
                plan.actions.extend(flight::withdrawals(seen, process.pid, runs_on));
            }
            if refused.waits(RequestKey::Pages(process.pid)) {
                continue;
            }
            let wishes = match single_node(together) {
                Some(node) => self.gather(seen, process, node, together),
                None => self.accompany(seen, process, together),
            };
            wishes.into_iter().for_each(|wish| self.ask(process.pid, wish, plan));
        }
    }

    /// All threads run on `to`: pages on the other nodes follow.
    fn gather(&mut self, seen: &Observation, process: &Process, to: NodeId, places: &[Place]) -> Vec<PageRequest> {
        let Some(pages) = &process.pages else { return self.accompany(seen, process, places) };
        let remote = |(node, count): (NodeId, &Pages)| (node != to && count.0 > 0).then_some((node, count.0));
        let total: u64 = pages.values().map(|count| count.0).sum();
        let away: u64 = pages.iter().filter_map(remote).map(|(_, count)| count).sum();
        let arrived = places.iter().any(|place| place.was != place.will);
        if percent(away, total) <= self.settings.stray_percent {
            return Vec::new();
        }
        let whole = self.settings.whole_resident_set;
        let per_interval = self.settings.pages_in(seen.interval);
        let waiting = |from: NodeId| flight::under_way(seen, process.pid, from, to);
        let stuck = &mut self.stuck;
        let nodes = pages.iter().filter_map(remote).filter(|(node, left)| {
            let key = (process.pid, *node, to);
            let waits = waiting(*node) > 0;
            if waits {
                stuck.wait(key);
            }
            waits || stuck.moves(key, *left, arrived)
        });
        let wish = |(from, count): (NodeId, u64)| {
            let limit = if whole { count } else { count.min(per_interval) };
            let reason = format!(
                "its threads run on node {to}, {} % of its pages are on node {from}",
                whole_percent(count, total)
            );
            let pages = limit.saturating_sub(waiting(from));
            (pages > 0).then_some(PageRequest { from, to, pages, thread: None, reason })
        };
        nodes.filter_map(wish).collect()
    }

    /// Threads run on several nodes, or the pages are not measured: K pages go with each thread
    /// that crosses.
    fn accompany(&self, seen: &Observation, process: &Process, places: &[Place]) -> Vec<PageRequest> {
        let mut crossing: Vec<(NodeId, NodeId, Tid)> = places.iter().filter_map(Place::crosses).collect();
        crossing.sort_unstable();
        let mut left = process.pages.clone();
        let together = crossing.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let wish = |threads: &[(NodeId, NodeId, Tid)]| {
            let (from, to, first) = threads[0];
            let waiting = flight::under_way(seen, process.pid, from, to);
            let wanted = self.settings.pages_per_sample.saturating_mul(threads.len() as u64);
            let pages = take(&mut left, from, wanted).saturating_sub(waiting);
            let (thread, who) = match threads.len() {
                1 => (Some(first), format!("thread {first} goes")),
                several => (None, format!("{several} threads go")),
            };
            let reason = format!("{who} from node {from} to node {to}, and pages follow");
            (pages > 0).then_some(PageRequest { from, to, pages, thread, reason })
        };
        together.filter_map(wish).collect()
    }

    fn ask(&mut self, pid: Pid, wish: PageRequest, plan: &mut Plan) {
        let PageRequest { from, to, pages, thread, reason } = wish;
        let now = self.interval;
        let verdict = self.ping_pong.as_mut().map_or(Verdict::Go, |detector| detector.ask(pid, from, to, now));
        match verdict {
            Verdict::Go => plan.actions.push(Action::MigratePages {
                pid,
                from,
                to,
                pages: Pages(pages),
                select: self.settings.selection(),
                for_thread: thread,
                reason,
            }),
            Verdict::Found(rest) => plan.notes.push(format!(
                "the memory of process {pid} goes back and forth between nodes {from} and {to}: it is not moved for \
                 {rest} intervals"
            )),
            Verdict::Rests => {}
        }
    }
}

struct PageRequest {
    from: NodeId,
    to: NodeId,
    pages: u64,
    thread: Option<Tid>,
    reason: String,
}

/// The node on which all threads will run, if it is a single one.
fn single_node(places: &[Place]) -> Option<NodeId> {
    let first = places.first()?.will?;
    places.iter().all(|place| place.will == Some(first)).then_some(first)
}

/// Takes up to `wanted` pages of a node out of the count. If nothing was measured, all of them are
/// taken to be there.
fn take(left: &mut Option<NodeMap<Pages>>, from: NodeId, wanted: u64) -> u64 {
    let Some(left) = left else { return wanted };
    let present = left.entry(from);
    let taken = present.0.min(wanted);
    present.0 -= taken;
    taken
}

fn percent(part: u64, whole: u64) -> f64 {
    use isobar_model::num::float;
    if whole == 0 { 0.0 } else { float(part) / float(whole) * 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::in_flight;
    use isobar_model::Seconds;
    use isobar_model::wire::observation_from_json;

    const LIMITS: Limits = Limits { window: 10, reversals: 2, rest: 5 };

    fn follower(limits: Option<Limits>) -> Follower {
        let settings =
            PageSettings { pages_per_sample: 10, samples_per_second: 5, whole_resident_set: false, stray_percent: 1.0 };
        Follower::new(settings, limits)
    }

    fn seen(pages: &str) -> Observation {
        observation_from_json(&format!(
            r#"{{"time": 1, "interval": 1, "machine": {{"nodes": [{{"id": 0}}, {{"id": 1}}], "cpus": [{{"id": 0, "node": 0}}, {{"id": 1, "node": 1}}]}},
            "processes": [{{"pid": 7, "pages": {pages}, "threads": [{{"tid": 7}}, {{"tid": 8}}]}}]}}"#
        ))
        .unwrap()
    }

    fn place(tid: u32, was: u32, will: u32) -> Place {
        Place { process: 0, tid: Tid(tid), was: Some(NodeId(was)), will: Some(NodeId(will)) }
    }

    fn show(action: &Action) -> String {
        match action {
            Action::MigratePages { from, to, pages, .. } => format!("{from}>{to}:{pages}"),
            Action::WithdrawPages { to: Some(to), .. } => format!("withdraw >{to}"),
            other => format!("{other:?}"),
        }
    }

    /// `from>to:pages` for each action.
    fn asked(follower: &mut Follower, pages: &str, places: &[Place]) -> Vec<String> {
        let mut plan = Plan::nothing("test");
        follower.follow(&seen(pages), places, &Refused::default(), &mut plan);
        plan.actions.iter().map(show).collect()
    }

    #[test]
    fn pages_follow_a_process_whose_threads_are_together() {
        let mut follower = follower(Some(LIMITS));
        assert_eq!(asked(&mut follower, "[80, 20]", &[place(7, 0, 1), place(8, 1, 1)]), ["0>1:50"]);
        assert_eq!(asked(&mut follower, "[30, 70]", &[place(7, 1, 1), place(8, 1, 1)]), ["0>1:30"]);
        assert!(asked(&mut follower, "[1, 99]", &[place(7, 1, 1), place(8, 1, 1)]).is_empty(), "strays may stay");
    }

    #[test]
    fn what_is_under_way_counts_as_asked_and_goes_nowhere_else() {
        let mut follower = follower(Some(LIMITS));
        let asked = |follower: &mut Follower, seen: &Observation, places: &[Place]| -> Vec<String> {
            let mut plan = Plan::nothing("test");
            follower.follow(seen, places, &Refused::default(), &mut plan);
            plan.actions.iter().map(show).collect()
        };
        let (there, back) = ([place(7, 0, 1), place(8, 1, 1)], [place(7, 1, 0), place(8, 1, 0)]);
        let mut seen = seen("[80, 20]");
        in_flight(&mut seen, 7, (0, 1), 30);
        for _ in 0..9 {
            assert_eq!(asked(&mut follower, &seen, &there), ["0>1:20"], "it is no sign that pages are stuck");
        }
        in_flight(&mut seen, 7, (0, 1), 20);
        assert!(asked(&mut follower, &seen, &there).is_empty());
        assert_eq!(asked(&mut follower, &seen, &back), ["withdraw >1", "1>0:20"]);
        let crossing = [place(7, 0, 1), place(8, 0, 0)];
        assert!(asked(&mut follower, &seen, &crossing).is_empty(), "K pages are under way");
    }

    #[test]
    fn a_long_interval_has_more_samples() {
        let mut follower = follower(Some(LIMITS));
        let mut seen = Observation { interval: Seconds(0.4), ..seen("[80, 20]") };
        let mut plan = Plan::nothing("test");
        follower.follow(&seen, &[place(7, 0, 1), place(8, 1, 1)], &Refused::default(), &mut plan);
        seen.interval = Seconds(1.2);
        follower.follow(&seen, &[place(7, 0, 1), place(8, 1, 1)], &Refused::default(), &mut plan);
        assert_eq!(plan.actions.iter().map(show).collect::<Vec<_>>(), ["0>1:20", "0>1:60"]);
    }

    #[test]
    fn what_does_not_move_is_left_in_peace() {
        let mut follower = follower(Some(LIMITS));
        let places = [place(7, 1, 1), place(8, 1, 1)];
        let tries = (0..6).map(|_| asked(&mut follower, "[80, 20]", &places).len());
        assert_eq!(tries.collect::<Vec<_>>(), [1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn a_thread_that_crosses_takes_k_pages_of_what_is_there() {
        let mut follower = follower(Some(LIMITS));
        assert_eq!(asked(&mut follower, "[15, 20]", &[place(7, 0, 1), place(8, 0, 0)]), ["0>1:10"]);
        assert_eq!(asked(&mut follower, "null", &[place(7, 0, 1), place(8, 0, 0)]), ["0>1:10"]);
        assert!(asked(&mut follower, "[0, 20]", &[place(7, 0, 1), place(8, 0, 0)]).is_empty());
    }

    #[test]
    fn threads_that_cross_together_take_their_pages_in_one_migration() {
        let mut follower = follower(Some(LIMITS));
        let places = [place(7, 0, 1), place(8, 0, 1), place(9, 0, 0), place(10, 1, 0)];
        assert_eq!(asked(&mut follower, "[100, 5]", &places), ["0>1:20", "1>0:5"]);
    }

    #[test]
    fn memory_that_goes_back_and_forth_rests_where_that_is_looked_for() {
        let there = [place(7, 0, 1), place(8, 0, 0)];
        let back = [place(7, 1, 0), place(8, 0, 0)];
        let counts = |limits| -> Vec<usize> {
            let mut follower = follower(limits);
            (0..8)
                .map(|now| asked(&mut follower, "[50, 50]", if now % 2 == 0 { &there } else { &back }).len())
                .collect()
        };
        // Interval 1 gathers (all threads on node 0), which reverses interval 0; interval 2 is the
        // second reversal.
        assert_eq!(counts(Some(LIMITS)), [1, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(counts(None), [1; 8]);
    }
}
