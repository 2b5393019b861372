//! Figures as SVG: grouped [`bars`] and [`boxes`], [`curves`] and [`scatter`] plots, 800 by 500,
//! the same bytes for the same numbers. Knows how a figure is laid out; what the numbers mean,
//! their callers know. Text is escaped and control characters are shown as `?`, so that a program's
//! name cannot break a figure; what is not finite is left out.

#![forbid(unsafe_code)]

mod bars;
mod boxes;
mod categories;
mod curves;
mod frame;
mod scatter;

pub use bars::bars;
pub use boxes::{Boxes, boxes};
pub use curves::curves;
pub use scatter::{Points, scatter};

#[cfg(test)]
mod tests;
