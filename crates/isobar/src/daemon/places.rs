//! Where the daemon's files are: where the service manager says, otherwise at the usual places of
//! root or of another user.

use crate::machines::linux;
use std::env;
use std::path::{Path, PathBuf};

/// The usual configuration.
const CONFIG: &str = "/etc/isobar/isobar.toml";

/// The name of the socket in its folder.
const SOCKET: &str = "control.sock";

/// The folder of recordings if no service manager names one.
const RECORDINGS: &str = "/var/lib/isobar";

/// The folder of the state file and of the socket.
pub fn runtime_folder() -> PathBuf {
    let usual = || linux::default_state().parent().map(Path::to_path_buf).unwrap_or_default();
    from_service_manager("RUNTIME_DIRECTORY").unwrap_or_else(usual)
}

/// The configuration of a daemon for which `--config` names none; `None` if there is no such file.
pub fn config() -> Option<PathBuf> {
    Some(PathBuf::from(CONFIG)).filter(|file| file.exists())
}

/// Where a daemon records what it changed, unless its configuration names another file.
pub fn state_file() -> PathBuf {
    runtime_folder().join("state.json")
}

/// Where a daemon creates its socket.
pub fn socket(configured: Option<&Path>) -> PathBuf {
    configured.map_or_else(|| runtime_folder().join(SOCKET), Path::to_path_buf)
}

/// Where a daemon's socket may be, the most likely place first: the user's own, then root's.
pub fn sockets() -> Vec<PathBuf> {
    let mut all = vec![runtime_folder().join(SOCKET)];
    let roots = Path::new("/run/isobar").join(SOCKET);
    if !all.contains(&roots) {
        all.push(roots);
    }
    all
}

/// The folder of recordings.
pub fn recordings(configured: Option<&Path>) -> PathBuf {
    let usual = || from_service_manager("STATE_DIRECTORY").unwrap_or_else(|| RECORDINGS.into());
    configured.map_or_else(usual, Path::to_path_buf)
}

/// The first folder of a variable of `systemd.exec(5)`, which may name several folders.
fn from_service_manager(variable: &str) -> Option<PathBuf> {
    let value = env::var(variable).ok()?;
    let first = value.split(':').next().filter(|first| first.starts_with('/'))?;
    Some(first.into())
}
