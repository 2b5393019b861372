use super::*;
use isobar_model::PageSelection;

fn request(pid: u32, to: u32, pages: u64) -> Request {
    Request {
        pid: Pid(pid),
        pid_start: 1,
        from: NodeId(0),
        to: NodeId(to),
        pages: Pages(pages),
        select: PageSelection::ResidentSet,
        addresses: Vec::new(),
        accessed: Vec::new(),
        fill_up: false,
    }
}

const LIMIT: Pages = Pages(10_000);

fn asked(requests: &[(u32, u32, u64)]) -> Queue {
    let mut queue = Queue { plans: 1, ..Queue::default() };
    for (pid, to, pages) in requests {
        queue.take_on(request(*pid, *to, *pages), LIMIT);
    }
    queue
}

/// The next job, as the thread gets it.
fn job(queue: &mut Queue) -> Job {
    let (number, size) = queue.next(Pages(1 << 20)).unwrap();
    queue.hand_out(number, size).unwrap()
}

fn chosen(pages: std::ops::Range<u64>) -> Done {
    Done { chosen: Some(pages.collect()), took: Duration::from_millis(1), ..Done::default() }
}

fn copied(moved: u64, busy: u64) -> Done {
    let mut tally = Tally::default();
    tally.moved(moved);
    tally.stayed("busy", busy);
    Done { tally, took: Duration::from_millis(2), ..Done::default() }
}

fn became(moved: u64, stayed: &[(&str, u64)]) -> ActionOutcome {
    let stayed = stayed.iter().map(|(why, pages)| ((*why).to_owned(), Pages(*pages))).collect();
    ActionOutcome::Pages { moved: Pages(moved), stayed }
}

#[test]
fn pages_are_chosen_then_copied_in_batches_and_the_end_is_told_once() {
    let mut queue = asked(&[(7, 1, 700)]);
    let choice = job(&mut queue);
    assert_eq!((choice.number, &choice.batch), (1, &None));
    queue.settle(1, chosen(100..800));
    let first = job(&mut queue).batch.unwrap();
    assert_eq!((first.len(), first[0], first[511]), (512, 100, 611), "in their order");
    queue.settle(1, copied(510, 2));
    let news = queue.news();
    let [flight] = &news.flights[..] else { panic!("{news:?}") };
    assert_eq!((flight.left(), flight.ended, &flight.outcome), (Pages(188), false, &became(510, &[("busy", 2)])));
    assert_eq!(flight.copying, Seconds(0.003));
    assert_eq!((news.moved, news.outdated), (vec![(NodeId(0), NodeId(1), Pages(510))], [Pid(7)].into()));
    assert_eq!(job(&mut queue).batch.unwrap().len(), 188);
    queue.settle(1, copied(188, 0));
    let news = queue.news();
    assert_eq!((news.flights[0].ended, &news.flights[0].outcome), (true, &became(698, &[("busy", 2)])));
    assert_eq!(news.moved, [(NodeId(0), NodeId(1), Pages(188))]);
    assert!(queue.news().flights.is_empty() && queue.next(Pages(1)).is_none());
}

#[test]
fn processes_take_turns_and_the_migrations_of_one_follow_each_other() {
    let mut queue = asked(&[(5, 1, 2000), (3, 1, 2000), (5, 2, 2000)]);
    let mut turns = Vec::new();
    for _ in 0..12 {
        let job = job(&mut queue);
        turns.push(job.number);
        let done = job.batch.map_or_else(|| chosen(0..1000), |batch| copied(batch.len() as u64, 0));
        queue.settle(job.number, done);
        if queue.flights.is_empty() {
            break;
        }
    }
    // Choose pages, then copy 512 and 488 of them: migration 2 is of process 3, 1 and 3 are of
    // process 5.
    assert_eq!(turns, [2, 1, 2, 1, 2, 1, 3, 3, 3]);
}

#[test]
fn what_is_withdrawn_ends_at_once_or_after_its_batch() {
    let mut queue = asked(&[(7, 1, 1000), (7, 2, 300), (8, 1, 300)]);
    assert_eq!(queue.withdraw(Pid(7), None, None), 0, "of the same plan");
    queue.plans += 1;
    let number = job(&mut queue).number;
    queue.settle(number, chosen(0..1000));
    queue.served = None;
    let batch = job(&mut queue);
    assert_eq!(queue.withdraw(Pid(7), Some(NodeId(3)), None), 0, "none leaves node 3");
    let twice = (queue.withdraw(Pid(7), None, None), queue.withdraw(Pid(7), None, None));
    assert_eq!(twice, (2, 1), "one has ended, the other stops already");
    assert!(batch.stop.load(Ordering::SeqCst));
    let news = queue.news();
    let given: Vec<_> = news.flights.iter().map(|flight| (flight.number, flight.ended)).collect();
    assert_eq!(given, [(1, false), (2, true), (3, false)], "the batch is being copied");
    assert_eq!(news.flights[0].left(), Pages(0), "nothing else of it is on its way");
    assert_eq!(news.flights[1].outcome, became(0, &[("withdrawn", 300)]));
    queue.settle(1, copied(512, 0));
    assert_eq!(queue.news().flights[0].outcome, became(512, &[("withdrawn", 488)]));
    queue.stop_all();
    assert_eq!(queue.news().flights[0].outcome, became(0, &[("withdrawn", 300)]));
    assert!(queue.news().flights.is_empty());
}

#[test]
fn failures_are_outcomes_unless_something_has_moved() {
    let mut queue = asked(&[(7, 1, 10), (8, 1, 1000)]);
    let fails = || Done { failed: Some(ActionOutcome::Vanished), ..Done::default() };
    let first = job(&mut queue).number;
    queue.settle(first, fails());
    let second = job(&mut queue).number;
    queue.settle(second, chosen(0..1000));
    job(&mut queue);
    queue.settle(second, copied(512, 0));
    job(&mut queue);
    queue.settle(second, fails());
    let outcomes: Vec<_> = queue.news().flights.into_iter().map(|flight| flight.outcome).collect();
    assert_eq!(outcomes, [ActionOutcome::Vanished, became(512, &[("the process ended", 488)])]);
}

#[test]
fn a_full_queue_takes_a_batch_of_each_route_and_has_room_again_when_pages_arrive() {
    let mut queue = asked(&[(7, 1, 20_000)]);
    assert_eq!(queue.flights[&1].request.pages, LIMIT);
    let mut takes = |pid, to| queue.take_on(request(pid, to, 4000), LIMIT);
    assert_eq!((takes(7, 1), takes(7, 2), takes(8, 1)), ((None, Pages(0)), (Some(2), BATCH), (Some(3), BATCH)));
    assert_eq!(takes(8, 1), (None, Pages(0)));
    let number = job(&mut queue).number;
    queue.settle(number, chosen(0..10));
    assert_eq!(queue.next(Pages(4)).unwrap().0, 3, "the other process is next");
    // Of 10,000 pages 10 were found.
    let mut tally = Tally::default();
    tally.stayed("not found on the node", 9990);
    queue.settle(number, Done { tally, ..Done::default() });
    assert_eq!(queue.take_on(request(9, 1, 20_000), LIMIT).1, Pages(10_000 - 10 - 2 * BATCH.0));
}

#[test]
fn a_batch_is_no_larger_than_the_budget_can_hold() {
    let mut queue = asked(&[(7, 1, 700)]);
    job(&mut queue);
    queue.settle(1, chosen(0..700));
    assert_eq!(queue.next(Pages(100)), Some((1, Pages(100))));
    assert_eq!(queue.hand_out(1, Pages(100)).unwrap().batch.unwrap(), (0..100).collect::<Vec<_>>());
}
