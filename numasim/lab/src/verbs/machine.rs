//! `numasim machine`.

use super::{print, spec};
use crate::args::MachineArgs;
use numasim_lab::LabError;

/// Prints a scaled machine.
pub fn run(args: &MachineArgs) -> Result<u8, LabError> {
    print(&numasim_lab::machine::to_toml(&spec(&args.name, args.scale.into())?)?);
    Ok(0)
}
