//! A guest from its order to its lines: lays out the folder of the boot, runs QEMU, and judges how
//! it ended. A guest that went down without a word is booted once more: emulation dies now and
//! then.

use crate::command::{self, Files, PAGE_BYTES, left};
use crate::ending::{Ending, Remains, judge};
use crate::error::LabError;
use crate::fetch::{self, Qemu};
use crate::image::{self, Contents, Image};
use crate::{machine, qemu};
use numasim_guest::wire::{Line, ORDER_FILE, Order, PAGE_TRACE};
use numasim_model::Spec;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Everything that boots of one experiment share.
#[derive(Clone, Debug)]
pub struct Host {
    /// The emulator.
    pub qemu: Qemu,
    /// The guest's kernel.
    pub kernel: PathBuf,
    /// What the guest holds.
    pub image: Image,
    /// The machine.
    pub spec: Spec,
    /// Host seconds that a boot may take.
    pub limit_seconds: u32,
}

impl Host {
    /// What boots of a machine need, found, fetched or built.
    ///
    /// # Errors
    /// What is missing here, or does not build.
    pub fn new(spec: Spec, contents: &Contents, plain: bool, limit_seconds: u32) -> Result<Self, LabError> {
        let (qemu, kernel) = (fetch::qemu()?, fetch::kernel()?);
        Ok(Self { qemu, kernel, image: image::build(contents, plain)?, spec, limit_seconds })
    }
}

/// The folder of a boot, from 0, within that of an experiment.
#[must_use]
pub fn folder(repeat: u32) -> String {
    format!("boot-{}", repeat + 1)
}

/// What the guest is to do.
pub enum Task<'a> {
    /// The runs of an order.
    Order {
        /// The runs.
        order: &'a Order,
        /// Of the guest's random numbers: repeats have seeds of their own, else they would be one
        /// and the same run.
        seed: u64,
    },
    /// One command.
    Command {
        /// Its words.
        words: &'a [String],
        /// Whether the machine is modelled.
        modelled: bool,
        /// Whether its page trace is wanted.
        page_trace: bool,
    },
}

impl Task<'_> {
    const fn seed(&self) -> u64 {
        match self {
            Self::Order { seed, .. } => *seed,
            Self::Command { .. } => 1,
        }
    }

    /// The director's arguments, as the shell reads them, and its order.
    fn files(&self) -> Result<Vec<(&'static str, String)>, LabError> {
        const ARGUMENTS: &str = "/etc/director.args";
        Ok(match self {
            Self::Order { order, .. } => {
                let text = serde_json::to_string(order).map_err(|error| LabError::Boot(error.to_string()))?;
                vec![(ARGUMENTS, "run\n".to_owned()), (ORDER_FILE, text)]
            }
            Self::Command { words, modelled, page_trace } => {
                let plain = if *modelled { "" } else { " --plain" };
                let traced = if *page_trace { format!(" {PAGE_TRACE}") } else { String::new() };
                let quoted: String = words.iter().map(|word| format!(" {}", quote(word))).collect();
                vec![(ARGUMENTS, format!("boot{plain}{traced}{quoted}\n"))]
            }
        })
    }
}

/// A word between single quotes, as the shell reads it.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r#"'"'"'"#))
}

/// How a boot ended, and what it left.
pub struct Booted {
    /// How it ended.
    pub ending: Ending,
    /// Console, errors, lines.
    pub remains: Remains,
}

/// Boots in `folder`, which is made.
///
/// # Errors
/// A file refuses; QEMU cannot be started; interrupted.
pub fn boot(host: &Host, task: &Task<'_>, folder: &Path, interrupted: &AtomicBool) -> Result<Booted, LabError> {
    let first = once(host, task, folder, interrupted)?;
    let last = if first.ending == Ending::Silent { once(host, task, folder, interrupted)? } else { first };
    if last.ending == Ending::Interrupted { Err(LabError::Interrupted) } else { Ok(last) }
}

fn once(host: &Host, task: &Task<'_>, folder: &Path, interrupted: &AtomicBool) -> Result<Booted, LabError> {
    let initramfs = lay_out(host, task, folder)?;
    let files = Files {
        firmware: host.qemu.firmware.clone(),
        kernel: host.kernel.clone(),
        initramfs: initramfs.clone(),
        plugin: host.image.plugin.clone(),
        seed: task.seed(),
        page_trace: matches!(task, Task::Command { page_trace: true, .. }),
        out: folder.to_owned(),
    };
    let arguments = command::arguments(&host.spec, &files)?;
    let start = qemu::Start {
        binary: &host.qemu.binary,
        arguments: &arguments,
        preload: files.plugin.as_deref(),
        errors: &folder.join(left::ERRORS),
        limit: Duration::from_secs(u64::from(host.limit_seconds)),
    };
    let stop = qemu::run(&start, interrupted)?;
    let _ = std::fs::remove_file(&initramfs);
    let remains = remains(folder);
    Ok(Booted { ending: judge(stop, &remains), remains })
}

fn lay_out(host: &Host, task: &Task<'_>, folder: &Path) -> Result<PathBuf, LabError> {
    std::fs::create_dir_all(folder).map_err(|error| LabError::io(folder, error))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| LabError::io(&path, error))
    };
    write(left::MACHINE, &machine::to_toml(&host.spec)?)?;
    [left::RESULTS, left::OUTPUT, left::CONSOLE].iter().try_for_each(|name| write(name, ""))?;
    let page = folder.join(left::PAGE);
    let made = File::create(&page).and_then(|file| file.set_len(PAGE_BYTES));
    made.map_err(|error| LabError::io(&page, error))?;
    let initramfs = folder.join("initramfs");
    host.image.with(&task.files()?, &initramfs)?;
    Ok(initramfs)
}

/// What a boot left; what is not there is empty.
fn remains(folder: &Path) -> Remains {
    let read = |name: &str| {
        std::fs::read(folder.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    let lines = read(left::RESULTS).lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()).collect();
    Remains { console: read(left::CONSOLE), errors: read(left::ERRORS), lines, output: read(left::OUTPUT) }
}
