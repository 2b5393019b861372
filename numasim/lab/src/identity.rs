//! Hashes everything that a boot depends on, by SHA-256: the experiment, the machine file, and the
//! bytes of image, kernel, QEMU and plugin. Boots of one identity and seed are the same to the last
//! digit. This file reads files and runs nothing.

use crate::boot::Host;
use crate::command::{self, Files};
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::fetch::Qemu;
use crate::kernel;
use crate::plan::{self, Options, contenders};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// SHA-256 of each thing that a boot depends on, except its seed, in hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The experiment as it was read, and which contenders ran. Left out are the number of boots,
    /// the first seed, the description, the host's time limit, and the baseline. Included is what
    /// numasim makes of the experiment: the order of a boot, QEMU's arguments, and the kernel's
    /// constants if they are scaled.
    pub experiment: String,
    /// The machine file.
    pub machine: String,
    /// The guest's kernel.
    pub kernel: String,
    /// The emulator, with its firmware.
    pub qemu: String,
    /// The plugin; empty if there is none.
    pub plugin: String,
    /// The packed image of the guest, without an order.
    pub image: String,
}

impl Identity {
    /// The identity of the boots of an experiment.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(experiment: &Experiment, options: &Options, host: &Host) -> Result<Self, LabError> {
        Ok(Self {
            experiment: of_text(&[settings(experiment, options)?, comes_to(experiment, options, host)?].join("\n")),
            machine: of_text(&host.machine),
            kernel: of_file(&host.kernel)?,
            qemu: of_emulator(&host.qemu)?,
            plugin: host.image.plugin.as_deref().map(of_file).transpose()?.unwrap_or_default(),
            image: of_file(&host.image.archive)?,
        })
    }

    /// Hash of the identity and a seed, in twelve digits, for the name of a file.
    #[must_use]
    pub fn short(&self, seed: u64) -> String {
        let all = self.parts().map(|(_, hash)| hash).join(" ");
        of_text(&format!("{all} {seed}")).chars().take(12).collect()
    }

    /// Each part with its name.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &str); 6] {
        [
            ("experiment", &self.experiment),
            ("machine", &self.machine),
            ("kernel", &self.kernel),
            ("qemu", &self.qemu),
            ("plugin", &self.plugin),
            ("image", &self.image),
        ]
    }
}

/// The part of an experiment that decides what happens in a boot.
fn settings(experiment: &Experiment, options: &Options) -> Result<String, LabError> {
    let contender = contenders(experiment, &options.only).into_iter().cloned().collect();
    let same = Experiment {
        about: String::new(),
        repeats: 1,
        seed: 1,
        boot_limit_seconds: 1,
        compare_with: None,
        contender,
        ..experiment.clone()
    };
    serde_json::to_string(&same).map_err(|error| LabError::Boot(error.to_string()))
}

/// What numasim makes of an experiment, which may differ between versions of numasim: the order
/// before the seed rotates it, QEMU's arguments without folders and seed, and the lines of the
/// kernel's constants.
fn comes_to(experiment: &Experiment, options: &Options, host: &Host) -> Result<String, LabError> {
    let unrotated = Experiment { seed: 0, ..experiment.clone() };
    let order = plan::order(&unrotated, &host.spec, 0, options);
    let order = order.map_err(|problem| LabError::input(&experiment.name, problem))?;
    let order = serde_json::to_string(&order).map_err(|error| LabError::Boot(error.to_string()))?;
    let arguments = command::arguments(&host.spec, &nowhere(host.image.plugin.is_some()))?;
    let constants = if host.scaled_kernel { kernel::lines(&host.spec) } else { String::new() };
    Ok([order, arguments.join("\n"), constants].join("\n"))
}

/// Files whose folders are left out.
fn nowhere(plugin: bool) -> Files {
    Files {
        firmware: Vec::new(),
        kernel: "kernel".into(),
        initramfs: "initramfs".into(),
        plugin: plugin.then(|| "plugin".into()),
        seed: 0,
        page_trace: false,
        resctrl: false, // the order says so
        out: PathBuf::new(),
    }
}

/// SHA-256 of a text, in hexadecimal digits.
#[must_use]
pub fn of_text(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// The firmware that runs in a guest before its kernel does, in the guest's time: the BIOS, and the
/// ROMs that start a kernel of either format.
const FIRMWARE: [&str; 4] = ["bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin", "pvh.bin"];

/// The hash of an emulator with the firmware that it finds: each file in the first folder that has
/// it.
fn of_emulator(qemu: &Qemu) -> Result<String, LabError> {
    let found = |name: &&str| qemu.firmware.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    let files = std::iter::once(qemu.path()).chain(FIRMWARE.iter().filter_map(found));
    let hashes: Vec<String> = files.map(|file| of_file(&file)).collect::<Result<_, _>>()?;
    Ok(of_text(&hashes.join(" ")))
}

/// SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// The file cannot be read.
pub fn of_file(path: &Path) -> Result<String, LabError> {
    let told = |error| LabError::io(path, error);
    let (mut file, mut hash, mut part) = (File::open(path).map_err(told)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part).map_err(told)? {
            0 => return Ok(hex::encode(hash.finalize())),
            count => hash.update(&part[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Image;

    const TEXT: &str = "name = \"t\"\nmachine = \"small-2x2\"\n[[program]]\nname = \"a\"\nrun = \"chase\"\n\
                        [[contender]]\nkind = \"linux\"\nnuma_balancing = true\n[[contender]]\nkind = \"numad\"\n";

    fn of(text: &str, only: &[&str]) -> String {
        let experiment = Experiment::parse(text, "t.toml").unwrap();
        let options = Options { only: only.iter().map(|name| (*name).to_owned()).collect(), plain: false };
        of_text(&settings(&experiment, &options).unwrap())
    }

    #[test]
    fn how_often_and_what_is_compared_change_no_boot() {
        let again =
            TEXT.replacen("machine", "repeats = 9\nseed = 4\nabout = \"x\"\ncompare_with = \"numad\"\nmachine", 1);
        assert_eq!(of(TEXT, &[]), of(&again, &[]));
        assert_ne!(of(TEXT, &[]), of(&TEXT.replacen("chase", "chase --work 5", 1), &[]));
        assert_ne!(of(TEXT, &[]), of(TEXT, &["linux"]), "contenders run one after another in a boot");
        assert_eq!(of(TEXT, &[]), of(TEXT, &["linux", "numad"]));
    }

    /// What numasim makes of an experiment on a host without files.
    fn made_of(text: &str, change: impl FnOnce(&mut Host)) -> String {
        let experiment = Experiment::parse(text, "t.toml").unwrap();
        let machine = crate::machine::named("small-2x2", experiment.scale).unwrap();
        let qemu = Qemu { binary: "qemu".into(), version: "10".into(), firmware: vec!["somewhere".into()] };
        let mut host = Host::of(machine, (qemu, "vmlinuz".into()), Image::nowhere(), 60);
        change(&mut host);
        comes_to(&experiment, &Options::default(), &host).unwrap()
    }

    /// Another BIOS is another emulator; a second copy in a later folder, or elsewhere, is not.
    #[test]
    fn an_emulator_is_its_binary_and_its_firmware() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("qemu", "binary");
        write("one/bios-256k.bin", "1");
        write("two/bios-256k.bin", "2");
        let of = |folders: &[&str]| {
            let firmware = folders.iter().map(|name| folder.path().join(name)).collect();
            let qemu = Qemu { binary: folder.path().join("qemu"), version: "10".into(), firmware };
            of_emulator(&qemu).unwrap()
        };
        let one = of(&["one"]);
        assert_eq!([of(&["none", "one"]), of(&["one", "two"])], [one.clone(), one.clone()]);
        assert!(of(&["two", "one"]) != one && of(&[]) != one);
    }

    #[test]
    fn what_is_asked_of_guest_emulator_and_kernel_changes_the_hash() {
        let usual = made_of(TEXT, |_| ());
        assert_eq!(usual, made_of(&TEXT.replacen("machine", "seed = 8\nmachine", 1), |_| ()), "seeds are apart");
        assert_eq!(usual, made_of(TEXT, |host| host.qemu.firmware = vec!["elsewhere".into()]));
        assert_eq!(usual, made_of(TEXT, |host| host.kernel = "elsewhere/vmlinuz".into()));
        assert!(usual.contains("\"argv\":[\"chase\"") && usual.contains("tcg,thread=single"), "{usual}");
        assert_ne!(usual, made_of(TEXT, |host| host.spec.node[0].memory_mib += 1), "QEMU's -m");
        let scaled = made_of(TEXT, |host| host.scaled_kernel = true);
        assert!(scaled.contains("sched/base_slice_ns") && !usual.contains("base_slice_ns"));
        assert_ne!(usual, made_of(&TEXT.replacen("chase", "chase --work 5", 1), |_| ()));
    }

    /// The digests of the empty text and of "abc" (FIPS 180-2, appendix B.1).
    #[test]
    fn files_and_texts_hash_alike() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(of_file(file.path()).unwrap().starts_with("e3b0c44298fc1c14"));
        std::fs::write(file.path(), "abc").unwrap();
        assert!(of_text("abc").starts_with("ba7816bf8f01cfea414140de5dae2223"));
        assert_eq!(of_file(file.path()).unwrap(), of_text("abc"));
        assert!(of_file(Path::new("/nowhere")).unwrap_err().to_string().starts_with("/nowhere: "));
    }

    #[test]
    fn a_seed_and_each_part_change_the_name() {
        let base = Identity::default();
        let other = Identity { plugin: "x".into(), ..base.clone() };
        assert_eq!(base.short(1).len(), 12);
        assert!(base.short(1) != base.short(2) && base.short(1) != other.short(1));
    }
}
