//! `numasim machine`: prints a machine file.

use super::print;
use crate::args::MachineArgs;
use numasim_lab::{LabError, machine};

/// Prints a scaled machine.
pub fn run(args: &MachineArgs) -> Result<u8, LabError> {
    print(&machine::named(&args.name, args.scale.into())?.text);
    Ok(0)
}
