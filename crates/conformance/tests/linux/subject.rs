//! A program to be watched and moved. It touches memory on a node, then computes or sleeps without
//! touching any more. It ends when its standard input ends, and after some minutes in any case.

use isobar_conformance::Subject;
use isobar_model::CpuId;
use rustix::thread::{CpuSet as Mask, disable_transparent_huge_pages, gettid, sched_getaffinity, sched_setaffinity};
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
    let order = format!("{} {} {} {}", subject.threads, subject.mib, cpu, u8::from(subject.busy));
    command.env(VARIABLE, order).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Runs the subject. Prints `ready` and the ids of its threads once it will touch no more memory
/// for the first time.
pub fn live() {
    let order = std::env::var(VARIABLE).unwrap();
    let numbers: Vec<usize> = order.split(' ').map(|word| word.parse().unwrap()).collect();
    let [threads, mib, cpu, busy] = numbers[..] else { panic!("{VARIABLE}={order}") };
    // A huge page would move as a whole with its first base page.
    disable_transparent_huge_pages(true).unwrap();
    let memory = on_cpu(cpu, || touched(mib << 20));
    let (sender, receiver) = channel();
    for _ in 0..threads {
        let sender = sender.clone();
        std::thread::spawn(move || work(&sender, busy == 1));
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

fn work(sender: &Sender<i32>, busy: bool) {
    let until = Instant::now() + LONGEST;
    sender.send(gettid().as_raw_nonzero().get()).unwrap();
    while Instant::now() < until {
        if busy {
            (0..100_000_u32).for_each(|step| {
                black_box(step);
            });
        } else {
            std::thread::sleep(Duration::from_secs(10));
        }
    }
}
