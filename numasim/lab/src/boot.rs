//! Runs a guest from its order to its result lines: prepares the folder of the boot, runs QEMU, and
//! judges how the boot ended. A guest that went down without reporting anything is booted once
//! more, because emulation dies now and then.

use crate::brought;
use crate::command::{self, Files, PAGE_BYTES, left};
use crate::ending::{Ending, Remains, judge};
use crate::error::LabError;
use crate::fetch::{self, Qemu};
use crate::image::{self, Contents, Image};
use crate::machine::Machine;
use crate::{kernel, qemu};
use numasim_guest::wire::{Line, ORDER_FILE, Order, PAGE_TRACE, WITH_RESCTRL};
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
    /// The kernel file that boots.
    pub kernel: PathBuf,
    /// The file that the user named or numasim found; the kernel may be a copy of it.
    pub kernel_from: PathBuf,
    /// The guest's image.
    pub image: Image,
    /// The machine.
    pub spec: Spec,
    /// The text of its machine file.
    pub machine: String,
    /// Host seconds that a boot may take.
    pub limit_seconds: u32,
    /// Whether the folders of boots are kept. If so, they keep the guest's image as well.
    pub keep: bool,
    /// Whether the kernel's constants are scaled like the machine.
    pub scaled_kernel: bool,
}

impl Host {
    /// Finds, fetches or builds what boots of a machine need.
    ///
    /// # Errors
    /// Something is missing here and cannot be fetched, or something does not build.
    pub fn new(machine: Machine, contents: &Contents, plain: bool, limit_seconds: u32) -> Result<Self, LabError> {
        // Before anything is built, because building takes minutes.
        let (qemu, kernel) = (fetch::qemu()?, fetch::kernel()?);
        let image = image::build(contents, plain)?;
        Ok(Self::of(machine, (qemu, kernel), image, limit_seconds))
    }

    /// A host made of a QEMU, a kernel and an image that are at hand.
    #[must_use]
    pub fn of(machine: Machine, (qemu, kernel): (Qemu, PathBuf), image: Image, limit_seconds: u32) -> Self {
        let (spec, machine) = (machine.spec, machine.text);
        let kernel_from = kernel.clone();
        Self { qemu, kernel, kernel_from, image, spec, machine, limit_seconds, keep: false, scaled_kernel: false }
    }

    /// The same host; `keep` says whether its boots keep all that they were made of.
    #[must_use]
    pub fn keeping(self, keep: bool) -> Self {
        Self { keep, ..self }
    }

    /// The same host with another kernel: a copy, and the file that it is a copy of.
    #[must_use]
    pub fn under(self, kernel: PathBuf, kernel_from: PathBuf) -> Self {
        Self { kernel, kernel_from, ..self }
    }

    /// The same host; `scaled_kernel` says whether the kernel's constants are scaled like the
    /// machine.
    #[must_use]
    pub fn kernel_scaled(self, scaled_kernel: bool) -> Self {
        Self { scaled_kernel, ..self }
    }
}

/// The name of the folder of a boot, within the folder of an experiment. Boots count from 0.
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
        /// Seed of the guest's random numbers. Each repeat has its own seed, because boots of one
        /// seed are all the same.
        seed: u64,
    },
    /// One command.
    Command {
        /// Its words.
        words: &'a [String],
        /// Whether the machine is modelled.
        modelled: bool,
        /// Seed of the guest's random numbers.
        seed: u64,
        /// Whether a page trace of the command is wanted.
        page_trace: bool,
        /// Whether the guest has resctrl.
        resctrl: bool,
    },
}

impl Task<'_> {
    const fn seed(&self) -> u64 {
        match self {
            Self::Order { seed, .. } | Self::Command { seed, .. } => *seed,
        }
    }

    fn has_resctrl(&self) -> bool {
        match self {
            Self::Order { order, .. } => order.runs.iter().any(|run| run.regime.resctrl),
            Self::Command { resctrl, .. } => *resctrl,
        }
    }

    /// The director's arguments, as the shell reads them, and its order, each with its path in the
    /// guest.
    fn files(&self) -> Result<Vec<(&'static str, String)>, LabError> {
        const ARGUMENTS: &str = "/etc/director.args";
        Ok(match self {
            Self::Order { order, .. } => {
                let text = serde_json::to_string(order).map_err(|error| LabError::Boot(error.to_string()))?;
                vec![(ARGUMENTS, "run\n".to_owned()), (ORDER_FILE, text)]
            }
            Self::Command { words, modelled, page_trace, resctrl, .. } => {
                let plain = if *modelled { "" } else { " --plain" };
                let traced = if *page_trace { format!(" {PAGE_TRACE}") } else { String::new() };
                let with = if *resctrl { format!(" {WITH_RESCTRL}") } else { String::new() };
                let quoted: String = words.iter().map(|word| format!(" {}", quote(word))).collect();
                vec![(ARGUMENTS, format!("boot{plain}{traced}{with}{quoted}\n"))]
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

/// Boots in `folder`, which is created if it is missing.
///
/// # Errors
/// A file cannot be read or written, QEMU cannot be started, or the boot was interrupted.
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
        resctrl: task.has_resctrl(),
        out: folder.to_owned(),
    };
    let arguments = command::arguments(&host.spec, &files)?;
    write(&folder.join(left::COMMAND), &by_hand(host, &files)?)?;
    let start = qemu::Start {
        binary: &host.qemu.binary,
        arguments: &arguments,
        preload: files.plugin.as_deref(),
        errors: &folder.join(left::ERRORS),
        limit: Duration::from_secs(u64::from(host.limit_seconds)),
    };
    let stop = qemu::run(&start, interrupted)?;
    if !host.keep {
        let _ = std::fs::remove_file(&initramfs);
    }
    let remains = remains(folder);
    if host.keep {
        brought::write(&remains.lines, folder)?;
    }
    Ok(Booted { ending: judge(stop, &remains), remains })
}

/// The command line with the files that the user named or numasim found, and not with the copies
/// that boot, because numasim removes the copies when it ends.
fn by_hand(host: &Host, files: &Files) -> Result<String, LabError> {
    let plugin = files.plugin.as_ref().and(host.image.plugin_from.clone());
    let files = Files { kernel: host.kernel_from.clone(), plugin, ..files.clone() };
    let arguments = command::arguments(&host.spec, &files)?;
    Ok(shown(&host.qemu.binary, files.plugin.as_deref(), &arguments))
}

/// The command line as text for a shell. Run again there, it leaves the same files.
fn shown(binary: &Path, preload: Option<&Path>, arguments: &[String]) -> String {
    let preload = preload.map(|library| format!("env LD_PRELOAD={} ", quote(&library.to_string_lossy())));
    let begin = format!("{}{}", preload.unwrap_or_default(), quote(&binary.to_string_lossy()));
    let mut text =
        format!("cd {} && exec {begin}", quote(&std::env::current_dir().unwrap_or_default().to_string_lossy()));
    for word in arguments {
        text.push_str(if word.starts_with('-') { " \\\n    " } else { " " });
        text.push_str(&quote(word));
    }
    text.push('\n');
    text
}

fn write(path: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(|error| LabError::io(path, error))
}

fn lay_out(host: &Host, task: &Task<'_>, folder: &Path) -> Result<PathBuf, LabError> {
    std::fs::create_dir_all(folder).map_err(|error| LabError::io(folder, error))?;
    write(&folder.join(left::MACHINE), &host.machine)?;
    [left::RESULTS, left::OUTPUT, left::CONSOLE].iter().try_for_each(|name| write(&folder.join(name), ""))?;
    let page = folder.join(left::PAGE);
    let made = File::create(&page).and_then(|file| file.set_len(PAGE_BYTES));
    made.map_err(|error| LabError::io(&page, error))?;
    let initramfs = folder.join(left::INITRAMFS);
    let mut files = task.files()?;
    files.extend(host.scaled_kernel.then(|| (kernel::FILE, kernel::lines(&host.spec))));
    host.image.with(&files, &initramfs)?;
    Ok(initramfs)
}

/// What a boot left. A file that is missing counts as empty.
fn remains(folder: &Path) -> Remains {
    let read = |name: &str| {
        std::fs::read(folder.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    let lines = read(left::RESULTS).lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()).collect();
    Remains { console: read(left::CONSOLE), errors: read(left::ERRORS), lines, output: read(left::OUTPUT) }
}
