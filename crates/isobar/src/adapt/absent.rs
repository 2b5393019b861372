//! The place of a machine that is not connected yet: a type without values, so that the loop compiles over it and cannot
//! run on it.

use isobar_model::plan::Plan;
use isobar_model::{Machine, Outcome, Sample, Seconds, Wake};
use std::convert::Infallible;

/// No machine.
pub enum Absent {}

impl Machine for Absent {
    type Error = Infallible;

    fn sample(&mut self) -> Result<Sample, Infallible> {
        match *self {}
    }

    fn apply(&mut self, _: &Plan) -> Result<Outcome, Infallible> {
        match *self {}
    }

    fn wait(&mut self, _: Seconds) -> Result<Wake, Infallible> {
        match *self {}
    }

    fn restore(&mut self) -> Result<Outcome, Infallible> {
        match *self {}
    }
}
