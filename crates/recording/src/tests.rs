//! Recordings that are written and read back, bounded, cut short and damaged.

use super::*;
use isobar_model::num;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{
    Action, ActionId, ActionOutcome, Bytes, Cgroup, Count, Counters, CpuId, Effect, Gain, Machine, Observation,
    Outcome, Pid, Plan, Prediction, ProcessSample, Sample, Seconds, ThreadSample, Tid, Topology, Wake,
};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn machine() -> Arc<Topology> {
    Arc::new(synthetic("node:2 llc:1 core:2").unwrap())
}

fn sample(machine: &Arc<Topology>, second: u64, threads: u32) -> Sample {
    let thread = |tid: u32| ThreadSample {
        tid: Tid(tid),
        cpu: Some(CpuId(tid % 4)),
        cpu_time: Some(Seconds(num::float(second) * f64::from(tid) / 100.0)),
        counters: Counters { instructions: Some(Count::whole(second * 1000, second)), ..Counters::default() },
        ..ThreadSample::default()
    };
    let process = ProcessSample {
        pid: Pid(7),
        cgroup: Some(Arc::new(Cgroup::at("/a.slice"))),
        name: "a\u{202e}\"; DROP TABLE epoch; --".into(),
        threads: (1..=threads).map(thread).collect(),
        ..ProcessSample::default()
    };
    let mut sample = Sample::bare(Seconds(num::float(second)), Arc::clone(machine), vec![process]);
    sample.free = machine.nodes().iter().map(|node| (node.id, Bytes(u64::MAX / 2))).collect();
    sample
}

fn plan(second: u64) -> Plan {
    let action = Action::MoveThread { pid: Pid(7), tid: Tid(1), cpu: CpuId(0), cpus: None, reason: "because".into() };
    let programs = vec![Gain { pid: Pid(7), gain: 0.1 }];
    Plan {
        predictions: vec![Prediction { change: second, actions: vec![0], gain: 0.1, programs: programs.clone() }],
        effects: vec![Effect { change: second - 1, measured: 0.3, kept: true, programs, ..Effect::default() }],
        notes: vec!["a note".into()],
        actions: vec![action],
        ..Plan::nothing("isobar")
    }
}

fn moment(machine: &Arc<Topology>, number: u64) -> Moment {
    let outcome = Some(Outcome { actions: vec![ActionOutcome::Done] });
    let taken =
        |id: u64| TakenBack { id: ActionId(id), action: plan(id).actions.remove(0), outcome: ActionOutcome::Done };
    let decision = (number > 0).then(|| Decision {
        plan: plan(number),
        outcome,
        own_cpu: Some(Seconds(0.01)),
        first_id: Some(ActionId(number)),
        undone: if number % 5 == 2 { vec![taken(1), taken(2)] } else { Vec::new() },
    });
    let managed = [(Pid(7), Tid(1))].into();
    Moment { number, wall_time: Some(1e9), sample: sample(machine, number, 3), managed, decision }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("a.isobar")
    }

    fn writer(&self, bounds: Bounds) -> Writer {
        Writer::create(&self.file(), &About::default(), bounds).unwrap()
    }

    fn write(&self, bounds: Bounds, epochs: u64) -> Writer {
        let (mut writer, machine) = (self.writer(bounds), machine());
        (0..=epochs).for_each(|number| writer.write(&moment(&machine, number)).unwrap());
        writer
    }
}

fn text(moment: &Moment) -> String {
    format!("{moment:?}")
}

fn one<T: rusqlite::types::FromSql>(path: &Path, query: &str) -> T {
    Connection::open(path).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn what_was_written_is_read_from_the_start_and_from_anywhere() {
    let folder = Folder::new();
    drop(folder.write(Bounds::default(), 130));
    let machine = machine();
    let mut recording = Recording::open(&folder.file()).unwrap();
    assert_eq!(recording.ends().unwrap(), Some((0, 130)));
    for number in 0..=130 {
        let read = recording.next_moment().unwrap().unwrap();
        assert_eq!(text(&read), text(&moment(&machine, number)));
    }
    assert!(recording.next_moment().unwrap().is_none());
    for number in [70, 71, 130, 3, 0, 60, 59, 61] {
        let read = recording.moment_at(number).unwrap().unwrap();
        assert_eq!(text(&read), text(&moment(&machine, number)), "{number}");
    }
    assert_eq!(recording.moment_at(5000).unwrap().unwrap().number, 130);
    assert_eq!(recording.moment_at(2).unwrap().unwrap().number, 2);
    assert_eq!(recording.next_moment().unwrap().unwrap().number, 3);
}

#[test]
fn the_machine_stays_one_object_over_key_frames_since_policies_know_it_by_that() {
    let folder = Folder::new();
    drop(folder.write(Bounds::default(), 130));
    let mut recording = Recording::open(&folder.file()).unwrap();
    let first = recording.next_moment().unwrap().unwrap().sample.topology;
    while let Some(moment) = recording.next_moment().unwrap() {
        assert!(Arc::ptr_eq(&first, &moment.sample.topology), "{}", moment.number);
    }
}

#[test]
fn any_sql_client_can_ask() {
    let folder = Folder::new();
    folder
        .write(Bounds { rows: 2, ..Bounds::default() }, 3)
        .finish(&[("complete".into(), "true".into())].into())
        .unwrap();
    let file = folder.file();
    assert_eq!(one::<i64>(&file, "SELECT count(*) FROM epoch"), 4);
    assert_eq!(one::<i64>(&file, "SELECT count(*) FROM thread"), 2, "the two busiest of three");
    // 0.03 + 0.02 + 0.01 seconds in the second epoch.
    let busy: f64 = one(&file, "SELECT cpu_seconds FROM process_epoch WHERE epoch = 2");
    assert!((busy - 0.06).abs() < 1e-9, "{busy}");
    assert_eq!(one::<i64>(&file, "SELECT instructions FROM process_epoch WHERE epoch = 2"), 3000);
    assert_eq!(one::<String>(&file, "SELECT cgroup FROM process"), "/a.slice");
    assert_eq!(one::<String>(&file, "SELECT name FROM process"), "a\u{202e}\"; DROP TABLE epoch; --");
    assert_eq!(one::<String>(&file, "SELECT result FROM action WHERE epoch = 1"), "done");
    // Change 2 was made in epoch 2 and judged in epoch 3.
    let change = "SELECT measured || ' ' || judged_in_epoch || ' ' || reason FROM change WHERE change = 2";
    assert_eq!(one::<String>(&file, change), "0.3 3 because");
    assert_eq!(one::<String>(&file, "SELECT value FROM about WHERE key = 'complete'"), "true");
    assert!(!file.with_extension("isobar-wal").exists(), "at the end it is one file");
}

#[test]
fn a_bounded_recording_drops_what_is_oldest_and_can_still_be_read() {
    let folder = Folder::new();
    let old = Bounds { age: Some(Seconds(100.0)), ..Bounds::default() };
    drop(folder.write(old, 400));
    let mut recording = Recording::open(&folder.file()).unwrap();
    // Key frames are at 0, 60, ... At 360, epochs before 260 may go, but only up to a key frame:
    // the file begins with the one at 240, because dropping up to 300 would be too much.
    assert_eq!(recording.ends().unwrap(), Some((240, 400)));
    let first = recording.next_moment().unwrap().unwrap();
    assert_eq!(text(&first), text(&moment(&machine(), 240)));
    assert_eq!(one::<i64>(&folder.file(), "SELECT min(epoch) FROM process_epoch"), 240);
    assert!(recording.moment_at(100).unwrap().is_none());
}

#[test]
fn a_recording_of_bounded_bytes_stays_near_them() {
    let folder = Folder::new();
    let most = 300_000;
    drop(folder.write(Bounds { bytes: Some(most), ..Bounds::default() }, 3000));
    let size = std::fs::metadata(folder.file()).unwrap().len();
    assert!(size < most + most / 2, "{size}");
    let (first, last) = Recording::open(&folder.file()).unwrap().ends().unwrap().unwrap();
    assert!(last == 3000 && first > 500 && first < 2900, "{first}");
    let orphans = "SELECT count(*) FROM process_epoch WHERE process NOT IN (SELECT id FROM process)";
    assert_eq!(one::<i64>(&folder.file(), orphans), 0);
}

#[test]
fn it_can_be_read_while_it_grows() {
    let folder = Folder::new();
    let mut writer = folder.write(Bounds::default(), 2);
    let mut recording = Recording::open(&folder.file()).unwrap();
    assert_eq!((0..3).filter_map(|_| recording.next_moment().unwrap()).count(), 3);
    assert!(recording.next_moment().unwrap().is_none());
    writer.write(&moment(&machine(), 3)).unwrap();
    assert_eq!(recording.next_moment().unwrap().unwrap().number, 3);
}

#[test]
fn nothing_is_overwritten_and_other_files_are_told_apart() {
    let folder = Folder::new();
    let said = |path: &Path| Recording::open(path).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said(&folder.file()).contains("No such file"), "{}", said(&folder.file()));
    let other = folder.0.path().join("other");
    std::fs::write(&other, "not a database, and longer than a header of SQLite would be").unwrap();
    assert!(said(&other).contains("is not a recording of isobar"), "{}", said(&other));
    std::fs::write(&other, "").unwrap();
    assert!(said(&other).contains("is not a recording of isobar"), "{}", said(&other));
    drop(folder.writer(Bounds::default()));
    assert!(said(&folder.file()).contains("holds no reading"));
    let again = Writer::create(&folder.file(), &About::default(), Bounds::default());
    assert!(again.err().unwrap().to_string().contains("already exists"));
    Connection::open(folder.file()).unwrap().pragma_update(None, "user_version", 9).unwrap();
    assert!(said(&folder.file()).contains("format 9: this isobar reads format 1"));
}

#[test]
fn a_damaged_frame_names_its_epoch() {
    let folder = Folder::new();
    drop(folder.write(Bounds::default(), 3));
    Connection::open(folder.file()).unwrap().execute("UPDATE frame SET data = x'00ff' WHERE epoch = 2", []).unwrap();
    let mut recording = Recording::open(&folder.file()).unwrap();
    assert_eq!((0..2).filter_map(|_| recording.next_moment().unwrap()).count(), 2);
    let said = recording.next_moment().unwrap_err().to_string();
    assert!(said.contains("a.isobar: epoch 2 cannot be unpacked"), "{said}");
}

#[test]
fn a_full_disk_ends_the_recording_and_leaves_what_was_written() {
    let folder = Folder::new();
    let mut writer = folder.write(Bounds::default(), 5);
    let pages: i64 = one(&folder.file(), "PRAGMA page_count");
    writer.allow_pages(pages + 4);
    let machine = machine();
    let failed =
        (6..1000).find_map(|number| writer.write(&moment(&machine, number)).err().map(|error| (number, error)));
    let (number, error) = failed.unwrap();
    assert!(error.to_string().contains("full"), "{error}");
    drop(writer);
    let mut recording = Recording::open(&folder.file()).unwrap();
    assert_eq!(recording.ends().unwrap(), Some((0, number - 1)));
    let mut left = 0;
    while recording.next_moment().unwrap().is_some() {
        left += 1;
    }
    assert_eq!(left, number);
}

#[test]
fn the_queue_hands_everything_over_and_the_reason_of_a_failure_comes_back() {
    let folder = Folder::new();
    let machine = machine();
    let mut recorder = Recorder::start(&folder.file(), folder.writer(Bounds::default()), true).unwrap();
    (0..=200).for_each(|number| recorder.record(moment(&machine, number)));
    assert_eq!(recorder.finish([].into()).unwrap(), 0);
    assert_eq!(Recording::open(&folder.file()).unwrap().ends().unwrap(), Some((0, 200)));

    let folder = Folder::new();
    let mut recorder = Recorder::start(&folder.file(), folder.writer(Bounds::default()), true).unwrap();
    // The same epoch cannot be written twice.
    (0..40).for_each(|_| recorder.record(moment(&machine, 1)));
    assert!(recorder.why_ended().unwrap().to_string().contains("UNIQUE constraint"));
    assert!(recorder.finish([].into()).unwrap_err().to_string().contains("UNIQUE constraint"));
}

#[test]
fn a_recording_is_a_machine_that_cannot_be_changed() {
    let folder = Folder::new();
    drop(folder.write(Bounds::default(), 2));
    let mut machine = RecordedMachine::new(Recording::open(&folder.file()).unwrap()).unwrap();
    let first = machine.sample().unwrap();
    assert_eq!(machine.wait(Seconds(3600.0)).unwrap(), Wake::Elapsed);
    let second = machine.sample().unwrap();
    assert_eq!(Observation::between(&first, &second).interval, Seconds(1.0));
    let outcome = machine.apply(&plan(1)).unwrap();
    assert!(matches!(&outcome.actions[..], [ActionOutcome::LeftAlone { .. }]));
    assert_eq!(machine.wait(Seconds(1.0)).unwrap(), Wake::Elapsed);
    assert_eq!((machine.wait(Seconds(1.0)).unwrap(), machine.missing()), (Wake::Ended, 0));
}

#[test]
fn a_recording_answers_in_sql_and_is_not_changed_by_it() {
    let folder = Folder::new();
    folder.write(Bounds::default(), 3);
    let recording = Recording::open(&folder.file()).unwrap();
    assert!(recording.tables().unwrap().iter().any(|name| name == "change"));
    let table = recording.query("SELECT number, policy.value AS policy, 1.5 AS half, NULL AS none, x'07' AS bytes FROM epoch LEFT JOIN about AS policy ON policy.key = 'none' WHERE number = 2").unwrap();
    assert_eq!(table.columns, ["number", "policy", "half", "none", "bytes"]);
    assert_eq!(table.rows, [[Cell::Integer(2), Cell::Null, Cell::Real(1.5), Cell::Null, Cell::Bytes(vec![7])]]);
    let notes = recording.query("SELECT text FROM note WHERE epoch = 1").unwrap();
    assert_eq!(notes.rows, [[Cell::Text("a note".into())]]);
    for wrong in ["DELETE FROM note", "SELECT nothing FROM note", "SELECT"] {
        let said = recording.query(wrong).unwrap_err().to_string();
        assert!(said.starts_with(&folder.file().display().to_string()), "{said}");
    }
    assert_eq!(one::<i64>(&folder.file(), "SELECT count(*) FROM note"), 3);
}
