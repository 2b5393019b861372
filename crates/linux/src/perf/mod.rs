//! Opening and reading perf events (`perf_event_open(2)`): what counters, address samplers and the
//! watch on affinities share. It knows no thread that matters and no event by name.

pub mod event;
pub mod records;
pub mod ring;
