//! Tests the queue with a reader behind a gate: what arrives, in which order, and what is reported
//! of the rest.

use super::state::Bounds;
use super::*;
use std::io::ErrorKind;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A reader that reads only while its gate is open.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<Door>, Condvar)>);

#[derive(Default)]
struct Door {
    open: bool,
    gone: bool,
    read: Vec<u8>,
}

impl Gate {
    fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    fn leave(&self) {
        self.0.0.lock().unwrap().gone = true;
        self.0.1.notify_all();
    }

    fn read(&self) -> String {
        String::from_utf8(self.0.0.lock().unwrap().read.clone()).unwrap()
    }
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut door = self.0.0.lock().unwrap();
        while !door.open && !door.gone {
            door = self.0.1.wait(door).unwrap();
        }
        if door.gone {
            return Err(ErrorKind::BrokenPipe.into());
        }
        door.read.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn notice(lines: u64) -> String {
    format!("{lines} lost")
}

/// Room for four chunks, and for far more bytes than four chunks of these tests have.
const BOUNDS: Bounds = Bounds { bytes: 1000, chunks: 4 };

fn queue(gate: &Gate) -> Queue {
    Queue::start(gate.clone(), BOUNDS, notice).unwrap()
}

/// Waits until the writer has done something.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn say(out: &mut Chunks<'_>, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A queue whose writer is stuck with the first chunk.
fn stuck<'q>(queue: &'q Queue, gate: &Gate) -> Chunks<'q> {
    let mut out = Chunks::of(queue);
    say(&mut out, "0\n").unwrap();
    until("the writer takes the first chunk", || queue.has_taken_all());
    assert!(out.is_behind() && gate.read().is_empty());
    out
}

#[test]
fn what_is_flushed_arrives_in_order() {
    let gate = Gate::default();
    gate.open();
    let queue = queue(&gate);
    let mut out = Chunks::of(&queue);
    ["a\n", "b\n", "c\n"].iter().for_each(|text| {
        say(&mut out, text).unwrap();
        until("read", || !out.is_behind());
    });
    out.write_all(b"never flushed\n").unwrap();
    assert_eq!(queue.finish().unwrap(), 0);
    assert_eq!(gate.read(), "a\nb\nc\n");
}

#[test]
fn lines_that_find_no_room_are_counted_and_told_when_the_reader_reads_again() {
    let gate = Gate::default();
    let queue = queue(&gate);
    let mut out = stuck(&queue, &gate);
    (1..=7).for_each(|number| say(&mut out, &format!("{number}\n{number}\n")).unwrap());
    assert_eq!(out.dropped_lines(), 6, "four chunks are queued, three are not");
    gate.open();
    until("all is read", || !out.is_behind());
    say(&mut out, "after\n").unwrap();
    assert_eq!(queue.finish().unwrap(), 0);
    assert_eq!(gate.read(), "0\n1\n1\n2\n2\n3\n3\n4\n4\n6 lost\nafter\n");
}

#[test]
fn pictures_are_no_lines_and_the_end_is_kept() {
    let gate = Gate::default();
    let queue = queue(&gate);
    let mut out = stuck(&queue, &gate);
    for number in 1..=6 {
        out.draw(b"table\n").unwrap();
        say(&mut out, &format!("{number}\n")).unwrap();
    }
    out.keep_the_rest();
    say(&mut out, "end\n").unwrap();
    gate.open();
    assert_eq!(queue.finish().unwrap(), 0);
    assert!(gate.read().ends_with("table\n4\n2 lost\nend\n"), "{}", gate.read());
}

#[test]
fn bytes_are_bounded_too_and_a_chunk_larger_than_the_bounds_is_not_lost() {
    let gate = Gate::default();
    let queue = queue(&gate);
    let mut out = stuck(&queue, &gate);
    say(&mut out, &format!("{}\n", "x".repeat(5000))).unwrap();
    say(&mut out, "y\n").unwrap();
    assert_eq!(out.dropped_lines(), 1, "the large one found an empty queue");
    gate.open();
    assert_eq!(queue.finish().unwrap(), 0);
    assert!(gate.read().ends_with("xx\n1 lost\n"));
}

#[test]
fn a_reader_that_is_gone_is_a_broken_pipe() {
    let gate = Gate::default();
    let queue = queue(&gate);
    let mut out = stuck(&queue, &gate);
    gate.leave();
    until("the writer finds out", || say(&mut out, "more\n").is_err());
    assert_eq!(say(&mut out, "more\n").unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(queue.finish().unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn at_the_end_a_reader_that_does_not_read_is_given_up() {
    let gate = Gate::default();
    let queue = queue(&gate).with_patience(Duration::from_millis(200));
    let mut out = stuck(&queue, &gate);
    (1..=6).for_each(|number| say(&mut out, &format!("{number}\n")).unwrap());
    assert_eq!(queue.finish().unwrap(), 7, "one that is stuck, four queued, two dropped");
    gate.open();
}

#[test]
fn with_time_a_full_queue_waits_for_the_reader_until_it_is_to_stop() {
    let gate = Gate::default();
    let queue = queue(&gate).with_patience(Duration::from_millis(200));
    let mut out = stuck(&queue, &gate);
    let opener = gate.clone();
    queue.wait_for_the_reader(|| false);
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        opener.open();
    });
    (1..=20).for_each(|number| say(&mut out, &format!("{number}\n")).unwrap());
    assert_eq!((out.dropped_lines(), queue.finish().unwrap()), (0, 0));
    assert!(gate.read().ends_with("19\n20\n"));
    later.join().unwrap();

    let gate = Gate::default();
    let queue = self::queue(&gate).with_patience(Duration::from_millis(200));
    queue.wait_for_the_reader(|| true);
    let mut out = stuck(&queue, &gate);
    (1..=6).for_each(|number| say(&mut out, &format!("{number}\n")).unwrap());
    assert_eq!((out.dropped_lines(), queue.finish().unwrap()), (2, 7));
    gate.open();
}
