//! The plugin's arguments: what follows the plugin's name on QEMU's command line.

use std::path::PathBuf;

/// `machine=FILE,page=FILE,trace=FILE,l1=on`.
pub struct Arguments {
    /// The machine, as TOML.
    pub machine: PathBuf,
    /// The file behind the guest's shared page.
    pub page: Option<PathBuf>,
    /// The file that a page trace is written to, if the guest may request one.
    pub trace: Option<PathBuf>,
    /// Whether the guest also sees an L1, which has the same size as the private cache.
    pub l1: bool,
}

const KNOWN: &str = "known are machine=FILE, page=FILE, trace=FILE and l1=on";

impl Arguments {
    /// # Errors
    /// An unknown word or no machine, as one line.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut machine, mut page, mut trace, mut l1) = (None, None, None, false);
        for word in words {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("plugin argument '{word}' has no value; {KNOWN}"))?;
            match key {
                "machine" => machine = Some(PathBuf::from(value)),
                "page" => page = Some(PathBuf::from(value)),
                "trace" => trace = Some(PathBuf::from(value)),
                "l1" if value == "on" => l1 = true,
                _ => return Err(format!("plugin argument '{key}' is unknown; {KNOWN}")),
            }
        }
        let machine = machine.ok_or_else(|| format!("plugin argument 'machine' is missing; {KNOWN}"))?;
        Ok(Self { machine, page, trace, l1 })
    }
}
