//! The part of Perfetto's trace format that a recording needs (`protos/perfetto/trace`): packets
//! that describe tracks, and packets with events on them. Field numbers are Perfetto's.

use prost::Message;

/// A trace file is a sequence of packets; two files concatenated are a file, too.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One packet: a description or an event.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Identifies the writer: any number but 0.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Details, each with its name.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// One of [`BEGIN`], [`END`], [`INSTANT`], [`COUNTER`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// The value of a counter.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
}

/// A slice begins.
pub const BEGIN: i32 = 1;
/// The slice that began last ends.
pub const END: i32 = 2;
/// Something happens.
pub const INSTANT: i32 = 3;
/// A counter has a new value.
pub const COUNTER: i32 = 4;

/// A detail of an event.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// What it says.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// Its name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The process that the track belongs to.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// The thread that the track belongs to.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    /// The track below which this track is shown.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Present if the track is a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A process.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Its id.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A thread.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// Its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its id.
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// A counter.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// The unit, as it is shown.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}
