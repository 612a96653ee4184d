//! The files of the administrator, as the daemon goes by them.

use groups::Sites;
use settings::cluster::hash_of_parts;
use settings::{NewsDirectory, Settings, in_force};
use store::AppliedEntry;

use super::in_cluster::NOT_IN_FORCE;
use crate::say;

/// The files of the administrator, read completely or not at all.
#[derive(Debug)]
pub struct Files {
    /// broadsheet.toml
    pub settings: Settings,
    pub(super) sites: Sites,
    /// The hash of the settings by which the nodes of a cluster decide.
    pub(super) rules: u64,
}

impl Files {
    /// Reads the files. A node of a cluster decides by the settings in force, whatever its files say.
    ///
    /// # Errors
    /// The error, with file and line.
    pub fn read(directory: &NewsDirectory) -> anyhow::Result<Files> {
        let files = Files::of(directory, directory.settings()?.settings)?;
        if !files.settings.is_node() {
            return Ok(files);
        }
        let rules = AppliedEntry::read(directory.root())?.rules;
        match in_force::copy_of(directory, rules) {
            Some(copy) if rules != files.rules => {
                say(NOT_IN_FORCE);
                Files::in_force(directory, &copy, rules)
            }
            _ => Ok(files),
        }
    }

    /// The settings with those of a copy in the place of the deciding ones; `rules`: its hash.
    pub(super) fn in_force(
        directory: &NewsDirectory,
        copy: &NewsDirectory,
        rules: u64,
    ) -> anyhow::Result<Files> {
        let settings = in_force::settings_with(directory, copy)?;
        Ok(Files {
            sites: directory.sys_of(&settings, copy)?,
            settings,
            rules,
        })
    }

    pub(super) fn of(directory: &NewsDirectory, settings: Settings) -> anyhow::Result<Files> {
        let sites = directory.sys(&settings)?;
        let mut rules = 0;
        if settings.is_node() {
            rules = hash_of_parts(&settings.deciding_parts(directory)?);
        }
        Ok(Files {
            sites,
            settings,
            rules,
        })
    }
}
