//! The policy `isobar`: threads, pages and ways in one decision, predicted before it acts and
//! checked after it acted.
//!
//! It is not of a paper. What it takes from others: the queueing model of its predictions is
//! `crates/contention`'s; that a program is two numbers, computing and stalls in flight together,
//! is CAMP's idea (ASPLOS 2026); that a placement is judged by the predicted speed of everyone is
//! Pandia's (EuroSys 2017); that latency under load is what counts is Colloid's (SOSP 2024).
//!
//! | step | file |
//! |---|---|
//! | what the machine is like, as told, probed and seen | [`memory`], [`cores`] |
//! | what programs are like | [`estimate`], [`curves`], [`follows`], [`reading`], [`program`], [`programs`] |
//! | who runs where now, which cores are free, whether it is about to change | [`scene`], [`part`], [`traits`], [`idle`], [`calm`] |
//! | what a change would do: at first sight for all, roughly for many, exactly for a few | [`prices`], [`rough`], [`predict`] |
//! | which changes there are, and which pays | [`step`], `candidates`, [`search`], [`likes`], [`gather`], [`weigh`], [`passed`], [`ways`], [`division`], [`guests`] |
//! | where the kernel would put a program, and whom it may not take away | [`balance`], `crowded` |
//! | what was tried, what it brought, what is taken back | [`trial`], [`pace`], `attempt`, `grow`, `conclude`, [`carry`] |
//! | what a person took back | `undone` |
//! | whose gain weighs how much, who may lose what | [`targets`], [`named`], [`alone`], `aims` |
//! | what others are told of a change | [`tell`] |
//! | pages on their way to where they should be, and where new ones go | [`pages`], [`new_pages`] |
//! | what is left without counters | [`blind`] |
//! | what it knows, for who shows it | [`outlook`] |
//! | the same predictions for a person | [`advise`] |
//! | the policy | [`isobar`] |

pub mod advise;
mod aims;
pub mod alone;
mod attempt;
pub mod balance;
pub mod blind;
pub mod calm;
mod candidates;
pub mod carry;
mod conclude;
pub mod config;
pub mod cores;
mod crowded;
pub mod curves;
pub mod division;
pub mod estimate;
pub mod follows;
pub mod gather;
mod grow;
pub mod guests;
mod harm;
mod home;
pub mod idle;
#[allow(clippy::module_inception)] // The folder and its policy share a name.
pub mod isobar;
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
pub mod rough;
pub mod scene;
pub mod search;
#[cfg(test)]
mod stage;
pub mod step;
mod taken;
pub mod targets;
pub mod tell;
pub mod traits;
pub mod trial;
mod undone;
pub mod ways;
pub mod weigh;

use crate::entry::Entry;

/// The policies of this folder.
pub const POLICIES: [Entry; 1] = [isobar::ENTRY];
