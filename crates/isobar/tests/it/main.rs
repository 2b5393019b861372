//! The command as its users type it: one module a verb or a hazard. One program for all of them,
//! because each program of tests costs the build a link.

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
