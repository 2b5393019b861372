//! Starts commands on this machine for `isobar run`, and finds out what this machine offers for
//! that.

pub use isobar_allocation::{Decision, Mode, PAGE, SHIM, Way};
pub use isobar_linux::kernel::shared_page::SharedPage;
pub use isobar_linux::launch::{Launch, LaunchError, end_group, start};

pub use isobar_linux::actuators::file_capabilities::become_ordinary;
pub use isobar_linux::machine::stop::ignores;

use anyhow::Context;
use isobar_linux::actuators::Actuators;
use isobar_linux::actuators::manager_lock::{self, ManagerLock};
use isobar_linux::actuators::weights;
use isobar_linux::kernel::mempolicy;
use isobar_linux::launch::program;
use isobar_model::Topology;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// A command that was looked up.
#[derive(Clone, Debug)]
pub struct Program {
    /// Path of its file.
    pub path: PathBuf,
    /// Why the shim cannot be loaded into it, if it cannot.
    pub obstacle: Option<Obstacle>,
}

/// Why the shim cannot be loaded into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle(pub program::Obstacle);

/// Obstacles for tests.
#[cfg(test)]
pub mod obstacles {
    /// The program has no loader.
    pub const STATIC: super::Obstacle = super::Obstacle(super::program::Obstacle::Static);
}

/// What this machine offers to commands.
#[derive(Clone, Debug)]
pub struct Here {
    /// Its topology.
    pub topology: Topology,
    /// The nodes with memory, as a bit mask.
    pub memory_bits: u64,
    /// The shim, if it is installed.
    pub shim: Option<PathBuf>,
    /// Why we cannot set the machine's weights, if we cannot.
    pub no_weights: Option<String>,
    /// Whether a manager that this user or root started runs.
    pub manager: bool,
}

/// The machine's weights of weighted interleave, held as their only manager. They are put back when
/// this is dropped.
pub struct Weights {
    // Dropped first, because this puts the weights back.
    actuators: Actuators,
    _manager: Option<ManagerLock>,
}

impl Weights {
    /// Becomes the manager of the weights.
    ///
    /// # Errors
    /// If another isobar manages this machine, or the state file cannot be written.
    pub fn take() -> anyhow::Result<Self> {
        let manager = manager_lock::place().as_deref().map(ManagerLock::take).transpose()?;
        let (actuators, _) = Actuators::open(&super::linux::default_state())?;
        Ok(Self { actuators, _manager: manager })
    }

    /// Sets the weights as a decision says.
    ///
    /// # Errors
    /// The reason, in one line.
    pub fn set(&mut self, decision: &Decision) -> anyhow::Result<()> {
        self.actuators.set_weights(decision).map_err(anyhow::Error::msg)
    }

    /// Puts the weights back.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn put_back(&mut self) -> anyhow::Result<()> {
        let report = self.actuators.restore()?;
        report.remarks.iter().for_each(|remark| crate::failure::notify(remark));
        Ok(())
    }
}

/// Finds a command and examines its file.
///
/// # Errors
/// As [`program::find`].
pub fn examine(command: &OsStr) -> io::Result<Program> {
    let path = program::find(command, std::env::var_os("PATH").as_ref())?;
    let obstacle = program::obstacle(&path).map(Obstacle);
    Ok(Program { path, obstacle })
}

/// The exit code of a command that could not be started, as env(1) defines it.
pub fn exit_code(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Examines this machine.
///
/// # Errors
/// If its topology cannot be read.
pub fn here() -> anyhow::Result<Here> {
    let nodes = mempolicy::with_memory().unwrap_or_default();
    Ok(Here {
        topology: super::linux::read_topology(None)?,
        memory_bits: mempolicy::bits(nodes)
            .context("a node above 63 has memory: memory policies are supported for nodes 0 to 63")?,
        shim: shim(),
        no_weights: weights::absence(),
        manager: is_managed(),
    })
}

/// Whether a manager runs that acts on our processes.
pub fn is_managed() -> bool {
    manager_lock::place().is_some_and(|place| manager_lock::is_managed(&place))
}

/// The shim, beside this executable or where a package puts it.
fn shim() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?;
    let places = [folder.join(SHIM), folder.join("../lib/isobar").join(SHIM)];
    places.into_iter().find(|place: &PathBuf| is_plain(place))
}

/// Whether a path can be given to the loader, which would split one with a blank or a colon in two.
fn is_plain(path: &Path) -> bool {
    path.is_file() && path.to_str().is_some_and(|path| !path.contains([' ', ':']))
}
