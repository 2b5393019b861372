//! Opens and reads perf events (`perf_event_open(2)`): the code shared by counters, address
//! samplers and the watch on affinities. It knows neither which threads matter nor any event by
//! name.

pub mod event;
pub mod records;
pub mod ring;
