//! A virtio-serial port, which is opened by its name.

use anyhow::{Context, bail};
use numasim_guest::wire::Line;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// The folder in which the kernel lists the ports. The folder of each port has a file `name`
/// (drivers/char/virtio_console.c).
const PORTS: &str = "/sys/class/virtio-ports";

/// An open port.
pub struct Port(File);

impl Port {
    /// Opens the port of this name.
    pub fn open(name: &str) -> anyhow::Result<Self> {
        for entry in std::fs::read_dir(PORTS).context(PORTS)? {
            let folder = entry.context(PORTS)?.path();
            let called = std::fs::read_to_string(folder.join("name")).unwrap_or_default();
            if called.trim() == name {
                let device = Path::new("/dev").join(folder.file_name().unwrap_or_default());
                let file = OpenOptions::new().write(true).open(&device);
                return Ok(Self(file.with_context(|| device.display().to_string())?));
            }
        }
        bail!("{PORTS}: no virtio-serial port is named `{name}`: was the guest started by numasim?")
    }

    /// Writes a line. The line has left the guest when this returns.
    pub fn notify(&mut self, line: &Line) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.0.write_all(text.as_bytes()).context("virtio-serial")
    }

    /// The same port for a child.
    pub fn file(&self) -> anyhow::Result<File> {
        self.0.try_clone().context("virtio-serial")
    }
}
