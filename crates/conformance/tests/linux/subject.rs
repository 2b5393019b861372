//! A program to be watched and moved. It touches memory on a node, then computes now and then, or
//! sleeps, without touching any more. It ends when its standard input ends, and after some minutes
//! in any case.

use isobar_conformance::{Subject, Work};
use isobar_linux::kernel::clock::now;
use isobar_model::CpuId;
use rustix::thread::{CpuSet as Mask, disable_transparent_huge_pages, gettid, sched_getaffinity, sched_setaffinity};
use rustix::time::ClockId;
use std::hint::black_box;
use std::io::{Write, stdin};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

const VARIABLE: &str = "ISOBAR_CONFORMANCE_SUBJECT";

/// Longer than any assertion takes on a loaded machine.
const LONGEST: Duration = Duration::from_secs(300);

const PAGE: usize = 4096;

/// Whether this process is a subject.
pub fn is_one() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// A command that starts this program as a subject, its memory touched from this CPU.
pub fn command(subject: &Subject, cpu: CpuId) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let (computes, sleeps) = rhythm(subject.work);
    let order = format!("{} {} {} {computes} {sleeps}", subject.threads, subject.mib, cpu);
    command.env(VARIABLE, order).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Runs the subject. Prints `ready` and the ids of its threads once it will touch no more memory
/// for the first time.
pub fn live() {
    let order = std::env::var(VARIABLE).unwrap();
    let numbers: Vec<usize> = order.split(' ').map(|word| word.parse().unwrap()).collect();
    let [threads, mib, cpu, computes, sleeps] = numbers[..] else { panic!("{VARIABLE}={order}") };
    let [computes, sleeps] = [computes, sleeps].map(|ms| Duration::from_millis(ms as u64));
    // A huge page would move as a whole with its first base page.
    disable_transparent_huge_pages(true).unwrap();
    let memory = on_cpu(cpu, || touched(mib << 20));
    let (sender, receiver) = channel();
    for _ in 0..threads {
        let sender = sender.clone();
        std::thread::spawn(move || work(&sender, computes, sleeps));
    }
    let mut line = String::with_capacity(PAGE);
    stdin().read_line(&mut line).unwrap();
    let mut ids: Vec<i32> = (0..threads).map(|_| receiver.recv().unwrap()).collect();
    ids.sort_unstable();
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    println!("ready {}", ids.join(" "));
    std::io::stdout().flush().unwrap();
    line.clear();
    let _ = stdin().read_line(&mut line);
    black_box(&memory);
    std::process::exit(0);
}

/// Runs a function bound to a CPU, and unbinds the thread afterwards. First touch puts the pages on
/// the CPU's node.
fn on_cpu<T>(cpu: usize, run: impl FnOnce() -> T) -> T {
    let free = sched_getaffinity(None).unwrap();
    let mut only = Mask::new();
    only.set(cpu);
    sched_setaffinity(None, &only).unwrap();
    let done = run();
    sched_setaffinity(None, &free).unwrap();
    done
}

fn touched(bytes: usize) -> Vec<u8> {
    let mut memory = vec![0; bytes];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    black_box(memory)
}

/// Milliseconds of CPU time after which a thread sleeps, and for how long it then does. Computing
/// now and then, it uses several of the kernel's ticks of 10 ms an epoch, and more than the 5 % of
/// a CPU below which sensors read no pages.
const fn rhythm(work: Work) -> (u64, u64) {
    match work {
        Work::None => (0, 10_000),
        Work::Some => (10, 30),
        Work::Constant => (10, 0),
    }
}

fn work(sender: &Sender<i32>, computes: Duration, sleeps: Duration) {
    let until = Instant::now() + LONGEST;
    sender.send(gettid().as_raw_nonzero().get()).unwrap();
    while Instant::now() < until {
        let begun = now(ClockId::ThreadCPUTime);
        while now(ClockId::ThreadCPUTime) - begun < computes {
            (0..1000_u32).for_each(|step| {
                black_box(step);
            });
        }
        std::thread::sleep(sleeps);
    }
}
