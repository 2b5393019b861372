//! Figures as SVG: grouped [`bars`] and [`curves`], 800 by 500, the same bytes for the same numbers. Knows how a figure is
//! laid out; what the numbers mean, their callers know. Text is escaped and control characters are shown as `?`, so that a
//! program's name cannot break a figure; what is not finite is left out.

mod bars;
mod curves;
mod frame;

pub use bars::bars;
pub use curves::curves;

#[cfg(test)]
mod tests;
