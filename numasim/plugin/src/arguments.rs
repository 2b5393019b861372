//! What stands after the plugin's name on QEMU's command line.

use std::path::PathBuf;

/// `machine=FILE,page=FILE,out=FILE,window_us=N`.
pub struct Arguments {
    /// The machine, as TOML.
    pub machine: PathBuf,
    /// The file behind the guest's shared page.
    pub page: Option<PathBuf>,
    /// Where all counters go when QEMU ends.
    pub out: Option<PathBuf>,
    /// Length of a window, picoseconds of guest time.
    pub window: u64,
}

const KNOWN: &str = "known are machine=FILE, page=FILE, out=FILE and window_us=N";

impl Arguments {
    /// # Errors
    /// An unknown word, a value that is not a number, or no machine, in one line.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut machine, mut page, mut out, mut window) = (None, None, None, 100_000_000);
        for word in words {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("plugin argument '{word}' has no value; {KNOWN}"))?;
            match key {
                "machine" => machine = Some(PathBuf::from(value)),
                "page" => page = Some(PathBuf::from(value)),
                "out" => out = Some(PathBuf::from(value)),
                "window_us" => window = microseconds(value)?,
                _ => return Err(format!("plugin argument '{key}' is unknown; {KNOWN}")),
            }
        }
        let machine = machine.ok_or_else(|| format!("plugin argument 'machine' is missing; {KNOWN}"))?;
        Ok(Self { machine, page, out, window })
    }
}

fn microseconds(value: &str) -> Result<u64, String> {
    let good = value.parse::<u32>().ok().filter(|us| (1..=100_000).contains(us));
    good.map(|us| u64::from(us) * 1_000_000)
        .ok_or_else(|| format!("plugin argument window_us={value} must be from 1 to 100000"))
}
