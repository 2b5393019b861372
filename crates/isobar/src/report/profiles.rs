//! Writes what a policy has measured of programs over cache ways, as a file of profiles that
//! `isobar study` reads.

use crate::failure::{self, bad_input};
use anyhow::Context as _;
use isobar_model::profile::Row;
use isobar_model::{CacheClass, WayCurves};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of profiles to write.
pub struct Profiles(PathBuf);

impl Profiles {
    /// Checks that this file can be written: its folder must exist.
    ///
    /// # Errors
    /// Bad input: there is no such folder, or the path is a folder.
    pub fn to(file: PathBuf) -> anyhow::Result<Self> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() || file.is_dir() {
            return Err(bad_input(format!(
                "--save-profiles {}: expected a file in a folder that exists",
                file.display()
            )));
        }
        Ok(Self(file))
    }

    /// Writes what the policy learnt. If it learnt nothing, this says so and leaves an older file
    /// as it is.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(self, learnt: &[WayCurves]) -> anyhow::Result<()> {
        let file = self.0.display().to_string();
        if learnt.is_empty() {
            failure::notify(&format!(
                "remark: {file} is not written: no program was measured over cache ways (policies of \
                 cache ways such as `lfoc+` do so if they may act; run longer)"
            ));
            return Ok(());
        }
        fs::write(&self.0, text(learnt)).with_context(|| format!("--save-profiles {file}: cannot be written"))
    }
}

fn text(learnt: &[WayCurves]) -> String {
    let mut text = String::from(
        "# Programs over LLC ways, as measured while they ran beside others (isobar manage --save-profiles); \
         the first value is with one\n\
         # way. Misses are as counted; IPC is the best one over the slowdown that the growth of misses explains.\n",
    );
    for curves in learnt {
        let name = toml::Value::String(curves.profile.name().to_owned());
        let class = match curves.class {
            CacheClass::LightSharing => "light sharing",
            CacheClass::Streaming => "streaming",
            CacheClass::Sensitive => "sensitive",
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n# {class}\n[[program]]\nname = {name}\nipc = {}\nllcmpki = {}\n",
            array(curves.profile.rows(), |row| row.ipc),
            array(curves.profile.rows(), |row| row.llcmpki)
        );
    }
    text
}

fn array(rows: &[Row], figure: fn(&Row) -> f64) -> String {
    let figures: Vec<String> = rows.iter().map(|row| format!("{:.4}", figure(row))).collect();
    format!("[{}]", figures.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::Profile;

    #[test]
    fn what_is_written_is_toml_whatever_the_name() {
        let rows = [(0.5, 9.0), (1.0, 3.0)].map(|(ipc, llcmpki)| Row { ipc, llcmpki, ..Row::default() });
        let profile = Profile::new("a\"b\nc", rows.to_vec()).unwrap();
        let curves = WayCurves { class: CacheClass::Sensitive, profile };
        let read: toml::Table = toml::from_str(&text(&[curves])).unwrap();
        let program = &read["program"][0];
        assert_eq!(program["name"].as_str(), Some("a\"b\nc"));
        assert_eq!(program["ipc"][0].as_float(), Some(0.5));
        assert_eq!(program["llcmpki"][1].as_float(), Some(3.0));
    }

    #[test]
    fn a_folder_that_is_not_there_is_reported_before_anything_runs() {
        let said = Profiles::to("/no/such/folder/a.toml".into()).err().unwrap().to_string();
        assert!(said.contains("expected a file in a folder that exists"), "{said}");
    }
}
