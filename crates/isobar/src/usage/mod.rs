//! A report on page usage, for people and for programs, and its figures. It lays out what
//! [`isobar_pages::report`] found, and computes nothing of its own.

mod bars;
mod figures;
mod text;

#[cfg(test)]
mod tests;

pub use figures::draw;
pub use isobar_pages::report::{Shown, document};
pub use text::lines;
