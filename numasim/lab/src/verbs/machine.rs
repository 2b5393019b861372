//! `numasim machine`.

use super::{print, spec};
use crate::args::MachineArgs;
use numasim::LabError;

/// Prints a scaled machine.
pub fn run(args: &MachineArgs) -> Result<u8, LabError> {
    print(&numasim::machine::to_toml(&spec(&args.name, args.scale.into())?)?);
    Ok(0)
}
