//! The policy `isobar`. One decision covers threads, pages and cache ways. Each change is predicted
//! before it is made and measured afterwards, and a change that did harm is rolled back.
//!
//! The policy does not implement a paper. It takes these ideas from others: the queueing model of
//! its predictions is that of `crates/contention`; describing a program by two numbers, its
//! computing and how many of its stalls overlap, is CAMP's idea (ASPLOS 2026); judging a placement
//! by the predicted speed of every program is Pandia's (EuroSys 2017); that latency under load is
//! what counts is Colloid's (SOSP 2024).
//!
//! | step | file |
//! |---|---|
//! | properties of the machine, as reported, probed and observed | [`memory`], [`cores`] |
//! | properties of programs | [`estimate`], [`curves`], [`follows`], [`growth`], [`reading`], [`program`], [`programs`], [`remaining`], `transfers` |
//! | which program runs where now, which cores are free, whether the set of programs has settled | [`scene`], [`part`], `residence`, [`traits`], [`idle`], [`stable_programs`] |
//! | what a change would do: a cheap score for all candidates, a rough evaluation for many, an exact prediction for a few | [`prices`], [`rough`], [`predict`], [`exchange`] |
//! | which changes are possible, and which of them pays | [`step`], `candidates`, [`search`], [`likes`], [`gather`], [`weigh`], [`passed`], [`ways`], [`division`], [`guests`] |
//! | where the kernel would put a program, and which bound threads it should be free to move again | [`balance`], `crowded` |
//! | what was tried, what it brought, what is rolled back | [`trial`], [`verdict`], [`pace`], `attempt`, `grow`, `conclude`, `kept`, [`carry`] |
//! | changes that a person undid, and changes that were not carried out | `undone`, [`dry`] |
//! | how much the gain of each program counts, and how much each may lose | [`targets`], [`named`], [`alone`], `aims` |
//! | what is reported about a change | [`wording`] |
//! | pages that are still on their way, and where new pages go | [`pages`], [`new_pages`] |
//! | what can be done without counters | [`without_counters`] |
//! | what the policy knows, for tools that display it | [`outlook`] |
//! | the same predictions, as advice to a person | [`advise`] |
//! | the policy | [`isobar`] |

pub mod advise;
mod aims;
pub mod alone;
mod attempt;
pub mod balance;
mod candidates;
pub mod carry;
mod conclude;
pub mod config;
pub mod cores;
mod crowded;
pub mod curves;
pub mod division;
pub mod dry;
pub mod estimate;
pub mod exchange;
pub mod follows;
pub mod gather;
mod grow;
pub mod growth;
pub mod guests;
mod harm;
mod home;
pub mod idle;
#[allow(clippy::module_inception)] // The folder and its policy share a name.
pub mod isobar;
mod kept;
pub mod likes;
mod mates;
pub mod math;
pub mod memory;
pub mod named;
pub mod new_pages;
pub mod outlook;
pub mod pace;
pub mod pages;
pub mod part;
pub mod passed;
mod phase;
pub mod predict;
pub mod prices;
pub mod program;
pub mod programs;
pub mod reading;
pub mod remaining;
mod residence;
pub mod rough;
mod samples;
pub mod scene;
pub mod search;
pub mod stable_programs;
#[cfg(test)]
mod stage;
pub mod step;
mod taken;
pub mod targets;
pub mod traits;
mod transfers;
pub mod trial;
mod turns;
mod undone;
pub mod verdict;
pub mod ways;
pub mod weigh;
pub mod without_counters;
pub mod wording;

use crate::entry::Entry;

/// The policies of this folder.
pub const POLICIES: [Entry; 1] = [isobar::ENTRY];
