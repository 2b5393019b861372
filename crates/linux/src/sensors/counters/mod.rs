//! Reads hardware counters of threads: which events this CPU has ([`events`], [`pmu`],
//! [`available`]), which threads are counted ([`choice`]), what their counters read ([`group`],
//! [`set`]), which events really count ([`proof`]), and why a counter is missing ([`why`]).

pub mod available;
pub mod choice;
pub mod descriptors;
pub mod events;
pub mod group;
pub mod pmu;
pub mod proof;
pub mod set;
pub mod why;
