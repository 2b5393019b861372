//! The sensors on the running kernel, over a process of the tests. Whatever this machine lacks is
//! skipped with a message.

// Helpers of tests fail by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;
mod sensors_child;

use isobar_linux::sensors::counters::available::software_opens;
use isobar_linux::sensors::{CounterSource, Sampled, Sensing, SensorOptions, Sensors};
use isobar_model::{Observation, Pid, Sensor};
use sensors_child::{Observed, machine, process, thread_of};
use std::thread::sleep;
use std::time::Duration;

#[test]
#[ignore = "a helper of the tests, not a test"]
fn child_role() {
    sensors_child::obey();
}

fn software() -> SensorOptions {
    SensorOptions { counters: CounterSource::Software, ..SensorOptions::default() }
}

fn pause() {
    sleep(Duration::from_millis(400));
}

#[test]
fn busy_and_sleeping_threads_are_told_apart() {
    let mut child = Observed::start();
    let (asleep, spinning) = (child.threads("sleep", 3), child.threads("spin", 1));
    let mut sensors = Sensors::open(SensorOptions::default(), machine()).unwrap();
    let first = sensors.sample().unwrap();
    sleep(Duration::from_millis(800));
    let second = sensors.sample().unwrap();
    assert!(second.time.0 > first.time.0 && first.time.0 >= 0.0);
    let seen = process(&second, child.pid());
    assert!(seen.start > 0 && !seen.name.is_empty());
    assert!(seen.threads.windows(2).all(|pair| pair[0].tid < pair[1].tid));
    assert!(second.processes.windows(2).all(|pair| pair[0].pid < pair[1].pid));
    let used = |tid| {
        let at = |sample| thread_of(process(sample, child.pid()), tid).unwrap().cpu_time.unwrap().0;
        at(&second) - at(&first)
    };
    assert!(used(spinning[0]) > 0.02, "a spinning thread used {} s", used(spinning[0]));
    assert!(asleep.iter().all(|&tid| used(tid) < used(spinning[0])));
    let thread = thread_of(seen, spinning[0]).unwrap();
    assert!(thread.allowed.as_ref().unwrap().contains(thread.cpu.unwrap()));
}

#[test]
fn a_process_has_the_cgroup_that_the_kernel_says() {
    let child = Observed::start();
    let text = std::fs::read_to_string(format!("/proc/{}/cgroup", child.pid())).unwrap();
    let mut sensors = Sensors::open(SensorOptions::default(), machine()).unwrap();
    let (first, second) = (sensors.sample().unwrap(), sensors.sample().unwrap());
    let (one, two) = (process(&first, child.pid()).cgroup.clone(), process(&second, child.pid()).cgroup.clone());
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(text.lines().any(|line| line.ends_with(&format!(":{}", one.path))), "{one:?} {text}");
    assert!(std::sync::Arc::ptr_eq(&one, &two), "nothing is made where nothing changed");
}

#[test]
fn neither_isobar_nor_the_kernel_is_observed() {
    let mut sensors = Sensors::open(SensorOptions::default(), machine()).unwrap();
    let sample = sensors.sample().unwrap();
    assert!(sample.processes.iter().all(|process| process.pid.0 != std::process::id() && process.pid.0 != 2));
    assert!(sample.processes.iter().all(|process| !process.name.starts_with("ksoftirqd")));
    assert!(
        sample.processes.iter().any(|process| process.pid.0 == 1) || !std::path::Path::new("/proc/1/stat").exists()
    );
    assert!(sample.free.values().all(|free| free.0 > 0));
}

#[test]
fn a_thread_that_its_owner_pinned_is_known() {
    let mut child = Observed::start();
    let (free, pinned) = (child.threads("sleep", 1)[0], child.threads("pinned", 1)[0]);
    sleep(Duration::from_millis(50));
    let topology = machine();
    let mut sensors = Sensors::open(SensorOptions::default(), topology.clone()).unwrap();
    let sample = sensors.sample().unwrap();
    let seen = process(&sample, child.pid());
    let one = thread_of(seen, pinned).unwrap();
    assert_eq!(one.allowed.as_ref().unwrap().len(), 1);
    let all = thread_of(seen, free).unwrap();
    if all.pinned || topology.online().len() < 2 {
        eprintln!("SKIPPED: this test itself may use one CPU only, or its mask is narrowed");
        return;
    }
    assert!(one.pinned);
}

#[test]
fn counters_grow_with_the_work_and_become_an_observation() {
    if !software_opens() {
        eprintln!("SKIPPED: software events do not open here");
        return;
    }
    let mut child = Observed::start();
    let faulting = child.threads("fault", 2);
    let mut sensors = Sensors::open(software(), machine()).unwrap();
    let remarks = sensors.capabilities().remarks.clone();
    assert!(remarks.iter().any(|remark| remark.contains("software stand-in")), "{remarks:?}");
    sensors.sample().unwrap();
    pause();
    let first = sensors.sample().unwrap();
    pause();
    let second = sensors.sample().unwrap();
    let seen = Observation::between(&first, &second);
    for tid in faulting {
        let (_, thread) = seen.threads().find(|(_, thread)| thread.tid == tid).unwrap();
        // 16 MiB in pages of 4 KiB fault 4096 times per round; with transparent huge pages at least
        // 8 times.
        assert!(thread.llc_misses.unwrap() >= 8, "{thread:?}");
        let cpu = thread.instructions.unwrap();
        let interval = isobar_model::num::round(seen.interval.0 * 1.1e9);
        assert!(cpu > 1_000_000 && cpu < interval, "{cpu} ns of CPU time in {interval} ns");
        // Minor faults are also faults, but a sample may fall between the counting of the two.
        assert!(thread.llc_references.unwrap() <= thread.llc_misses.unwrap() + 2, "{thread:?}");
    }
    let count = thread_of(process(&second, child.pid()), seen.threads().next().unwrap().1.tid);
    assert!(count.is_none_or(|thread| thread.counters.bytes.is_none()));
}

#[test]
fn sampled_addresses_lie_where_the_thread_touched() {
    let mut child = Observed::start();
    let thread = child.threads("fault", 1)[0];
    let mut sensors = Sensors::open(software(), machine()).unwrap();
    sensors.sample().unwrap();
    let first = sensors.sampled_addresses(child.pid(), Some(thread));
    if first == Sampled::NoThread && !software_opens() {
        eprintln!("SKIPPED: software events do not open here");
        return;
    }
    assert_eq!(first, Sampled::NotYet);
    pause();
    let Sampled::Seen(addresses) = sensors.sampled_addresses(child.pid(), None) else { panic!("a sampler is open") };
    assert!(!addresses.is_empty());
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", child.pid())).unwrap();
    let user = maps.lines().filter_map(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
    let (lowest, highest) = (user.clone().min().unwrap(), user.max().unwrap());
    assert!(addresses.iter().all(|address| (lowest..=highest).contains(address)), "{addresses:x?}");
    // Faults of one pass over an area come in ascending order, so with the most recent first the
    // addresses mostly descend.
    let descending = addresses.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(descending * 2 > addresses.len(), "{descending} of {}", addresses.len());
}

#[test]
fn pages_of_a_busy_process_are_where_memory_is() {
    let mut child = Observed::start();
    child.threads("touch", 2);
    child.threads("spin", 1);
    let mut sensors = Sensors::open(SensorOptions { pages_every: 1, ..software() }, machine()).unwrap();
    sensors.sample().unwrap();
    sleep(Duration::from_millis(800));
    let sample = sensors.sample().unwrap();
    let Some(pages) = &process(&sample, child.pid()).pages else {
        let missing = &sample.capabilities.missing;
        let explained = missing.contains_key(&Sensor::PagesByNode)
            || sample.capabilities.remarks.iter().any(|remark| remark.contains("numa_maps"));
        assert!(explained, "pages are missing without a reason");
        eprintln!("SKIPPED: pages by node are not known here");
        return;
    };
    let total: u64 = pages.values().map(|pages| pages.0).sum();
    // Two areas of 16 MiB; 64 KiB is the largest base page in use.
    assert!(total >= 2 * (16 << 20) / (64 << 10), "{total} pages");
}

#[test]
fn pages_of_an_idle_process_are_read_only_when_asked_for() {
    let mut child = Observed::start();
    child.threads("sleep", 1);
    let read = |share: f64| {
        let options = SensorOptions { min_cpu_share_for_pages: share, ..software() };
        let mut sensors = Sensors::open(options, machine()).unwrap();
        let sample = sensors.sample().unwrap();
        (process(&sample, child.pid()).pages.is_some(), sample.capabilities.missing.contains_key(&Sensor::PagesByNode))
    };
    assert!(!read(0.05).0);
    let (known, missing) = read(0.0);
    assert!(known || missing, "pages are missing without a reason");
}

/// The pages of a process in the next sample.
fn pages(sensors: &mut Sensors, pid: Pid) -> Option<u64> {
    sleep(Duration::from_millis(500));
    let sample = sensors.sample().unwrap();
    process(&sample, pid).pages.as_ref().map(|pages| pages.values().map(|pages| pages.0).sum())
}

#[test]
fn pages_that_were_moved_are_read_anew_at_once() {
    let mut child = Observed::start();
    child.threads("touch", 1);
    let mut sensors =
        Sensors::open(SensorOptions { pages_every: 1000, pages_budget: 0.0, ..software() }, machine()).unwrap();
    let pid = child.pid();
    pages(&mut sensors, pid);
    let Some(first) = pages(&mut sensors, pid) else { return eprintln!("SKIPPED: pages by node are not known here") };
    // Another area of 16 MiB; 64 KiB is the largest base page in use.
    child.threads("touch", 1);
    assert_eq!(pages(&mut sensors, pid), Some(first), "the last reading stands");
    sensors.pages_moved(pid);
    let fresh = pages(&mut sensors, pid).unwrap();
    assert!(fresh >= first + (16 << 20) / (64 << 10) / 2, "{fresh} pages after {first}");
}

#[test]
fn pages_that_are_cheap_to_read_are_read_in_every_sample() {
    let mut child = Observed::start();
    child.threads("touch", 1);
    let options = SensorOptions { pages_every: 1000, pages_budget: 0.2, ..software() };
    let mut sensors = Sensors::open(options, machine()).unwrap();
    let pid = child.pid();
    pages(&mut sensors, pid);
    let Some(first) = pages(&mut sensors, pid) else { return eprintln!("SKIPPED: pages by node are not known here") };
    child.threads("touch", 1);
    let fresh = pages(&mut sensors, pid).unwrap();
    assert!(fresh >= first + (16 << 20) / (64 << 10) / 2, "{fresh} pages after {first}");
}

#[test]
fn every_counter_that_is_missing_has_a_reason() {
    let sensors = Sensors::open(SensorOptions::default(), machine()).unwrap();
    let capabilities = sensors.capabilities();
    let mut sampled = Sensors::open(SensorOptions::default(), machine()).unwrap();
    let mut child = Observed::start();
    let spinning = child.threads("spin", 1)[0];
    sampled.sample().unwrap();
    pause();
    sampled.sample().unwrap();
    pause();
    let sample = sampled.sample().unwrap();
    let thread = thread_of(process(&sample, child.pid()), spinning).unwrap();
    let sensors =
        [(Sensor::Instructions, thread.counters.instructions), (Sensor::LlcMisses, thread.counters.llc_misses)];
    for (sensor, count) in sensors {
        match capabilities.missing.get(&sensor) {
            Some(reason) => {
                eprintln!("{sensor}: {reason}");
                assert!(count.is_none() && !reason.is_empty() && !reason.contains('\n'));
            }
            None => assert!(count.is_some(), "{sensor} is not missing and was not counted: {:?}", sample.capabilities),
        }
    }
    let probed = !cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    assert_eq!(capabilities.missing.contains_key(&Sensor::Latency), probed);
}

#[test]
fn latency_is_probed_where_it_is_wanted_and_only_there() {
    let mut sensors = Sensors::open(software(), machine()).unwrap();
    assert_eq!(sensors.sample().unwrap().latency, None);
    sensors.probe_latency();
    let sample = sensors.sample().unwrap();
    let Some(now) = sample.latency else {
        return eprintln!("SKIPPED: {}", sample.capabilities.missing[&Sensor::Latency]);
    };
    assert!(now.values().all(|latency| (20.0..100_000.0).contains(&latency.0)), "{now:?}");
    assert_eq!(now.nodes().len(), sample.topology.nodes().len());
    let idle = sample.latency_idle.unwrap();
    assert!(idle.values().zip(now.values()).all(|(idle, now)| idle <= now));
}
