//! Descriptors of counters: closed with their threads, and distinguished from permissions when they
//! run out. One test in a process of its own, because descriptors and their limit belong to the
//! process.

// Helpers of tests fail by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;
mod sensors_child;

use isobar_linux::sensors::counters::available::software_opens;
use isobar_linux::sensors::counters::descriptors;
use isobar_linux::sensors::{CounterSource, Sensing, SensorOptions, Sensors};
use isobar_model::{Pid, Sample};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sensors_child::{Observed, machine, process};
use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

#[test]
#[ignore = "a helper of the tests, not a test"]
fn child_role() {
    sensors_child::obey();
}

const PER_THREAD: usize = 4;

fn options() -> SensorOptions {
    SensorOptions { counters: CounterSource::Software, ..SensorOptions::default() }
}

fn counted(sample: &Sample, pid: Pid) -> usize {
    process(sample, pid).threads.iter().filter(|thread| thread.counters.instructions.is_some()).count()
}

fn in_use() -> usize {
    descriptors::in_use().unwrap()
}

fn next(sensors: &mut Sensors) -> Sample {
    sleep(Duration::from_millis(500));
    sensors.sample().unwrap()
}

fn limit_remark(sample: &Sample) -> Option<&String> {
    sample.capabilities.remarks.iter().find(|remark| remark.contains("descriptor limit"))
}

#[test]
fn descriptors_follow_the_threads() {
    if !software_opens() {
        eprintln!("SKIPPED: software events do not open here");
        return;
    }
    ended_threads_give_their_descriptors_back();
    an_injected_limit_is_divided_and_told();
    the_real_limit_is_emfile_and_not_a_permission();
    descriptors_that_are_opened_later_are_counted();
    when_none_is_left_some_are_given_back();
}

/// Sets the soft limit of descriptors, and returns the one before.
fn limit(soft: usize) -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    let lower = Rlimit { current: u64::try_from(soft).ok(), maximum: before.maximum };
    setrlimit(Resource::Nofile, lower).unwrap();
    before
}

fn descriptors_that_are_opened_later_are_counted() {
    const RESERVE: usize = 16;
    let mut child = Observed::start();
    child.threads("fault", 12);
    let mut sensors = Sensors::open(SensorOptions { descriptor_reserve: RESERVE, ..options() }, machine()).unwrap();
    let soft = in_use() + RESERVE + 10 * PER_THREAD;
    let before = limit(soft);
    next(&mut sensors);
    next(&mut sensors);
    let others: Vec<File> = (0..12).map(|_| File::open("/dev/null").unwrap()).collect();
    next(&mut sensors);
    let used = in_use();
    setrlimit(Resource::Nofile, before).unwrap();
    // They come to more of the reserve than leaves a few.
    assert!(used + 8 <= soft, "{used} of {soft} are in use, {} of them by files of others", others.len());
}

fn when_none_is_left_some_are_given_back() {
    let mut child = Observed::start();
    child.threads("fault", 12);
    // A given limit does not look at what else is open.
    let all = SensorOptions { descriptor_limit: Some(4096), descriptor_reserve: 0, ..options() };
    let mut sensors = Sensors::open(all, machine()).unwrap();
    let soft = in_use() + 5 * PER_THREAD;
    let before = limit(soft);
    next(&mut sensors);
    let used = in_use();
    setrlimit(Resource::Nofile, before).unwrap();
    assert!(used + 8 <= soft, "{used} of {soft} are in use");
}

fn ended_threads_give_their_descriptors_back() {
    let mut child = Observed::start();
    child.threads("fault", 6);
    let mut sensors = Sensors::open(options(), machine()).unwrap();
    next(&mut sensors);
    let open = next(&mut sensors);
    let before = in_use();
    assert!(counted(&open, child.pid()) >= 6);
    assert_eq!(limit_remark(&open), None);
    child.send("end");
    let mut after = next(&mut sensors);
    after = if counted(&after, child.pid()) < 6 { after } else { next(&mut sensors) };
    assert!(counted(&after, child.pid()) <= 1, "only the main thread is left");
    let total = |sample: &Sample| {
        let threads = sample.processes.iter().flat_map(|process| &process.threads);
        threads.filter(|thread| thread.counters.instructions.is_some()).count()
    };
    // Other processes come and go meanwhile, so the number of open descriptors must match what is
    // counted: four for each thread.
    let gone = i64::try_from(before).unwrap() - i64::try_from(in_use()).unwrap();
    let fewer = i64::try_from(total(&open)).unwrap() - i64::try_from(total(&after)).unwrap();
    assert_eq!(gone, fewer * i64::try_from(PER_THREAD).unwrap());
}

fn an_injected_limit_is_divided_and_told() {
    let mut child = Observed::start();
    child.threads("fault", 6);
    let limited = SensorOptions { descriptor_limit: Some(28), descriptor_reserve: 16, ..options() };
    let mut sensors = Sensors::open(limited, machine()).unwrap();
    next(&mut sensors);
    let mut sample = next(&mut sensors);
    let all = |sample: &Sample| -> usize { sample.processes.iter().map(|process| counted(sample, process.pid)).sum() };
    // (28 - 16) / 4 = 3, or fewer in a sample in which one of the three has just ended.
    for _ in 0..20 {
        assert!(all(&sample) <= 3, "the limit is kept");
        if all(&sample) == 3 {
            break;
        }
        sample = next(&mut sensors);
    }
    assert_eq!(all(&sample), 3);
    let remark = limit_remark(&sample).expect("the limit is reported");
    assert!(remark.starts_with("descriptor limit 28 reached, 3 of "), "{remark}");
    assert!(remark.ends_with("threads counted; raise LimitNOFILE"), "{remark}");
}

fn the_real_limit_is_emfile_and_not_a_permission() {
    let mut child = Observed::start();
    let mut sensors = Sensors::open(options(), machine()).unwrap();
    child.threads("fault", 12);
    let soft = in_use() + 10;
    let before = limit(soft);
    next(&mut sensors);
    let sample = next(&mut sensors);
    setrlimit(Resource::Nofile, before).unwrap();
    let remark = limit_remark(&sample).expect("EMFILE is reported");
    assert!(remark.starts_with(&format!("descriptor limit {soft} reached")), "{remark}");
    assert!(!remark.contains("permi") && !remark.contains("CAP_"), "{remark}");
    // No half-open group remains: the next sample, with descriptors, counts all of them.
    next(&mut sensors);
    let recovered = next(&mut sensors);
    assert!(counted(&recovered, child.pid()) >= 12, "{:?}", recovered.capabilities.remarks);
}
