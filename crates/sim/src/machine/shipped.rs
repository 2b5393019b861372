//! The machines of the papers, as data files with the source of every number.

use super::MachineSpec;
use crate::error::SimError;

const MACHINES: [(&str, &str); 2] = [
    ("barcelona-4x4", include_str!("../../machines/barcelona-4x4.toml")),
    ("nehalem-2x4", include_str!("../../machines/nehalem-2x4.toml")),
];

/// Names of the machines that ship, ascending.
#[must_use]
pub fn shipped() -> Vec<&'static str> {
    MACHINES.iter().map(|(name, _)| *name).collect()
}

/// A machine by name.
///
/// # Errors
/// [`SimError::Unknown`] where none of that name ships.
pub fn find(name: &str) -> Result<MachineSpec, SimError> {
    let text = MACHINES.iter().find(|(known, _)| *known == name);
    let (_, text) =
        text.ok_or_else(|| SimError::unknown("machines that ship", "machine", "machine", name, &shipped()))?;
    MachineSpec::from_toml(name, text)
}
