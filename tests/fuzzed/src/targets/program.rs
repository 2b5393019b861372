//! A user's own programs as TOML. An accepted program has a curve that never rises, and a
//! description in words without control characters.

use crate::check::{accepted, one_line};
use isobar_sim::program::ProgramFile;

const MIB: f64 = 1_048_576.0;

/// Checks one input.
pub fn run(text: &str) {
    let file = ProgramFile { path: "input.toml", text };
    for name in accepted(file.names()).into_iter().flatten() {
        let program = file.program(Some(&name), None).unwrap_or_else(|error| panic!("{error}"));
        let misses: Vec<_> = (0..64).map(|mib| program.mpki.misses(f64::from(mib) * MIB)).collect();
        let falls = misses.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12));
        assert!(falls && misses.iter().all(|one| one.is_finite() && *one >= 0.0), "{program:?}");
        program.notes().iter().for_each(|note| one_line(note));
    }
}
