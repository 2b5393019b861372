//! Tests the command as its users type it, in one module for each verb or hazard. All tests are one
//! program, because each test program costs the build a link.

#![allow(clippy::unwrap_used)]

mod advise;
mod bad_input;
mod bounds;
mod daemon;
mod daemon_disks;
mod decide;
mod exec;
mod export;
mod file_capabilities;
mod full_disk;
mod groups;
mod help;
mod manage;
mod manual;
mod numasim;
mod pages;
mod pages_apply;
mod policies_by_group;
mod protect;
mod record;
mod report;
mod reproduce;
mod restore;
mod sim;
mod sim_catalogue;
mod stalled;
mod stop;
mod study;
mod study_vectors;
mod support;
mod sweep;
mod top;
mod topo;
mod tutorial;
mod unchanged;
mod verb_pages;
