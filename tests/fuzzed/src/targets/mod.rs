//! The targets, one file each.

pub mod archive;
pub mod control;
pub mod cpu_text;
pub mod machine;
pub mod measured;
pub mod observation;
pub mod page_csv;
pub mod page_samples;
pub mod page_trace;
pub mod perf_bytes;
pub mod plan;
pub mod proc_text;
pub mod program;
pub mod resctrl;
pub mod settings;
pub mod state_file;
pub mod study;
pub mod topology;
pub mod workload;
