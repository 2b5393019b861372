//! Writes a recording as a trace for Perfetto's UI: a track for each thread that shows where it
//! ran, counters of nodes and programs, actions as events with their reasons, and changes as events
//! when they are made and when they are judged.

use super::schema::{
    BEGIN, COUNTER, CounterDescriptor, DebugAnnotation, END, INSTANT, ProcessDescriptor, ThreadDescriptor, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};
use crate::past::Past;
use crate::text::plain;
use isobar_model::{CpuId, Observation, Pid, Tid, num};
use isobar_view::{Moment, ProgramView, View, Watch};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Writes the trace.
///
/// # Errors
/// A damaged recording, and errors of the writer.
pub fn write(past: &mut Past, mut to: impl Write) -> anyhow::Result<u64> {
    let (mut watch, mut tracks, mut epochs) = (Watch::default(), Tracks::default(), 0);
    while past.next(&mut |moment| {
        epochs += 1;
        let view = watch.take(moment);
        tracks.epoch(moment, &view);
    })? {
        to.write_all(&tracks.drain())?;
    }
    tracks.end();
    to.write_all(&tracks.drain())?;
    to.flush()?;
    Ok(epochs)
}

/// What a track shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Machine,
    Changes,
    Process(Pid, String),
    Thread(Pid, Tid, String),
    /// A counter by its name, shown below another track.
    Counter(u64, String),
}

/// The tracks that are already described, and the packets that are not written yet.
#[derive(Default)]
struct Tracks {
    numbers: BTreeMap<Of, u64>,
    packets: Vec<TracePacket>,
    /// The CPU where each thread is, with the thread's track.
    places: BTreeMap<(Pid, Tid), (CpuId, u64)>,
    now: u64,
}

/// The one writer of this trace.
const WRITER: u32 = 1;

impl Tracks {
    fn drain(&mut self) -> Vec<u8> {
        Trace { packet: std::mem::take(&mut self.packets) }.encode_to_vec()
    }

    fn epoch(&mut self, moment: &Moment<'_>, view: &View) {
        self.now = num::round((view.time_seconds - view.interval_seconds).max(0.0) * 1e9);
        self.threads(moment.seen);
        self.now = num::round(view.time_seconds * 1e9);
        let machine = self.track(Of::Machine, None);
        for node in &view.nodes {
            let name = |what: &str| format!("node {} {what}", node.id);
            self.counter(machine, &name("controller"), "%", node.load().map(|load| load * 100.0));
            self.counter(machine, &name("CPUs in use"), "%", node.busy.map(|busy| busy * 100.0));
            self.counter(machine, &name("latency"), "ns", node.latency_ns);
        }
        for llc in &view.llcs {
            self.counter(machine, &format!("llc {} pressure", llc.id), "MPKI", llc.pressure);
        }
        for program in &view.programs {
            self.program(program, view);
        }
        self.actions(view);
        self.changes(moment);
    }

    fn program(&mut self, program: &ProgramView, view: &View) {
        let track = self.process(program.pid, &program.name);
        self.counter(track, "slowdown", "times as long as alone", program.slowdown);
        self.counter(track, "IPC", "", program.ipc);
        self.counter(track, "MPKI", "", program.mpki);
        self.counter(track, "bandwidth", "GB/s", program.bandwidth.map(|bytes| bytes / 1e9));
        for (node, pages) in view.nodes.iter().zip(program.pages.iter().flatten()) {
            let mib = num::float(*pages) * 4096.0 / f64::from(1 << 20);
            self.counter(track, &format!("pages on node {}", node.id), "MiB", Some(mib));
        }
    }

    fn process(&mut self, pid: Pid, name: &str) -> u64 {
        let process =
            ProcessDescriptor { pid: Some(pid.0.cast_signed()), process_name: Some(plain(name).into_owned()) };
        let described = TrackDescriptor { process: Some(process), ..TrackDescriptor::default() };
        self.track(Of::Process(pid, name.to_owned()), Some(described))
    }

    /// Draws threads as slices, each as long as a thread stays on one CPU.
    fn threads(&mut self, seen: &Observation) {
        let mut there = BTreeSet::new();
        for (process, thread) in seen.threads() {
            let ran = thread.cpu_time.is_none_or(|time| time.0 > 0.0);
            let id = (process.pid, thread.tid);
            let Some(cpu) = thread.cpu.filter(|_| ran || self.places.contains_key(&id)) else { continue };
            there.insert(id);
            match self.places.get(&id).copied() {
                Some((at, _)) if at == cpu => continue,
                Some((_, track)) => self.event(track, END, None, &[]),
                None => {}
            }
            self.process(process.pid, &process.name);
            let track = self.thread(process.pid, thread.tid, &process.name);
            self.event(track, BEGIN, Some(place(cpu, seen)), &[]);
            self.places.insert(id, (cpu, track));
        }
        let gone: Vec<(Pid, Tid)> = self.places.keys().filter(|id| !there.contains(*id)).copied().collect();
        for id in gone {
            if let Some((_, track)) = self.places.remove(&id) {
                self.event(track, END, None, &[]);
            }
        }
    }

    fn thread(&mut self, pid: Pid, tid: Tid, name: &str) -> u64 {
        let (pid_, tid_) = (Some(pid.0.cast_signed()), Some(tid.0.cast_signed()));
        let thread = ThreadDescriptor { pid: pid_, tid: tid_, thread_name: Some(plain(name).into_owned()) };
        let described = TrackDescriptor { thread: Some(thread), ..TrackDescriptor::default() };
        self.track(Of::Thread(pid, tid, name.to_owned()), Some(described))
    }

    fn actions(&mut self, view: &View) {
        for action in &view.actions {
            let details = [("reason", action.reason.clone()), ("result", action.became.clone())];
            let programs = view.programs.iter().filter(|program| action.programs.contains(&program.pid));
            for program in programs {
                let track = self.process(program.pid, &program.name);
                self.event(track, INSTANT, Some(action.words.clone()), &details);
            }
        }
    }

    /// Shows changes on a track of their own: the prediction when a change is made, the measurement
    /// when it is judged.
    fn changes(&mut self, moment: &Moment<'_>) {
        let percent = |part: f64| format!("{:+.1} %", part * 100.0);
        if moment.plan.predictions.is_empty() && moment.plan.effects.is_empty() {
            return;
        }
        let track = self.track(Of::Changes, None);
        for one in &moment.plan.effects {
            let fate = if one.kept { "kept" } else { "taken back" };
            let details = [
                ("predicted", percent(one.predicted)),
                ("measured", percent(one.measured)),
                ("error", percent(one.error)),
            ];
            self.event(track, INSTANT, Some(format!("change {} {fate}", one.change)), &details);
        }
        for one in &moment.plan.predictions {
            let details = [("predicted", percent(one.gain))];
            self.event(track, INSTANT, Some(format!("change {} made", one.change)), &details);
        }
    }

    fn end(&mut self) {
        let open: Vec<u64> = self.places.values().map(|(_, track)| *track).collect();
        open.into_iter().for_each(|track| self.event(track, END, None, &[]));
    }

    fn counter(&mut self, parent: u64, name: &str, unit: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        let described = TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(parent),
            counter: Some(CounterDescriptor { unit_name: Some(unit.to_owned()) }),
            ..TrackDescriptor::default()
        };
        let track = self.track(Of::Counter(parent, name.to_owned()), Some(described));
        self.push(TrackEvent {
            r#type: Some(COUNTER),
            track_uuid: Some(track),
            double_counter_value: Some(value),
            ..TrackEvent::default()
        });
    }

    fn event(&mut self, track: u64, kind: i32, name: Option<String>, details: &[(&str, String)]) {
        let details = details
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| DebugAnnotation { name: Some((*name).to_owned()), string_value: Some(value.clone()) });
        let debug_annotations = details.collect();
        self.push(TrackEvent {
            debug_annotations,
            r#type: Some(kind),
            track_uuid: Some(track),
            name,
            ..TrackEvent::default()
        });
    }

    fn push(&mut self, event: TrackEvent) {
        self.packets.push(TracePacket {
            timestamp: Some(self.now),
            trusted_packet_sequence_id: Some(WRITER),
            track_event: Some(event),
            track_descriptor: None,
        });
    }

    /// The number of a track. A new track is described first.
    fn track(&mut self, of: Of, described: Option<TrackDescriptor>) -> u64 {
        if let Some(number) = self.numbers.get(&of) {
            return *number;
        }
        let number = num::float_len(self.numbers.len());
        let number = num::round(number) + 1;
        let name = match &of {
            Of::Machine => Some("machine".to_owned()),
            Of::Changes => Some("changes".to_owned()),
            _ => None,
        };
        let described = described.unwrap_or(TrackDescriptor { name, ..TrackDescriptor::default() });
        self.packets.push(TracePacket {
            trusted_packet_sequence_id: Some(WRITER),
            track_descriptor: Some(TrackDescriptor { uuid: Some(number), ..described }),
            ..TracePacket::default()
        });
        self.numbers.insert(of, number);
        number
    }
}

/// `node 1, llc 2, cpu 9`.
fn place(cpu: CpuId, seen: &Observation) -> String {
    let found = seen.machine.cpu(cpu);
    let node = found.and_then(|cpu| cpu.node).map(|node| format!("node {node}, ")).unwrap_or_default();
    let llc = found.and_then(|cpu| cpu.llc).map(|llc| format!("llc {llc}, ")).unwrap_or_default();
    format!("{node}{llc}cpu {cpu}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;
    use isobar_model::{Process, Seconds, Thread};
    use std::sync::Arc;

    fn seen(second: u32, cpu: u32) -> Observation {
        let cpu_time = Some(Seconds(1.0));
        let thread = Thread { cpu: Some(CpuId(cpu)), cpu_time, ..Thread::unmeasured(Tid(8)) };
        let process = Process { pid: Pid(7), name: "a\u{1b}".into(), threads: vec![thread], ..Process::default() };
        let mut seen = Observation::bare(Arc::new(synthetic("node:2 llc:1 core:2").unwrap()), vec![process]);
        seen.time = Seconds(f64::from(second));
        seen
    }

    #[test]
    fn a_stay_is_one_slice_and_every_slice_ends() {
        let mut tracks = Tracks::default();
        for (second, cpu) in [(1, 0), (2, 0), (3, 2)] {
            tracks.now = u64::from(second) * 1_000_000_000;
            tracks.threads(&seen(second, cpu));
        }
        tracks.end();
        let bytes = tracks.drain();
        let trace = Trace::decode(&bytes[..]).unwrap();
        let events = trace.packet.iter().filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)));
        let given: Vec<_> =
            events.map(|(time, event)| (time / 1_000_000_000, event.r#type.unwrap(), event.name.clone())).collect();
        let at = |place: &str| Some(place.to_owned());
        let expected = [
            (1, BEGIN, at("node 0, llc 0, cpu 0")),
            (3, END, None),
            (3, BEGIN, at("node 1, llc 1, cpu 2")),
            (3, END, None),
        ];
        assert_eq!(given, expected);
        let described: Vec<_> = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
        assert_eq!(described[0].process.as_ref().unwrap().process_name.as_deref(), Some("a\\u{1b}"));
        assert_eq!(described[1].thread.as_ref().unwrap().tid, Some(8));
    }

    #[test]
    fn counters_stand_below_their_track_and_what_is_not_measured_is_left_out() {
        let mut tracks = Tracks::default();
        let machine = tracks.track(Of::Machine, None);
        tracks.counter(machine, "load", "%", Some(50.0));
        tracks.counter(machine, "load", "%", None);
        let trace = Trace::decode(&tracks.drain()[..]).unwrap();
        assert_eq!(trace.packet.len(), 3, "two tracks, one value");
        assert_eq!(trace.packet[1].track_descriptor.as_ref().unwrap().parent_uuid, Some(machine));
        assert_eq!(trace.packet[2].track_event.as_ref().unwrap().double_counter_value, Some(50.0));
    }
}
