//! Entries by which the settings change, by which all nodes decide: their copy is made before the place of the node has their hash.

use ::cluster::entry::{Entry, Kind};
use ::cluster::settings_change::SettingsChange;
use settings::NewsDirectory;
use settings::in_force::{self, DecidingFiles, InForceError};

/// The effect of an entry on the settings.
pub enum NewSettings {
    /// It replaces others than those in force, and changes nothing: another change came first.
    Overtaken,
    /// Its settings are on the disk, and are in force when the place of the node is behind it.
    Made,
    /// This node has not these settings, and the entry does not bring them.
    Missing,
    /// This node cannot go by them.
    Impossible(String),
}

/// Makes the copy of the settings of an entry; `in_force`: the hash of those before it.
///
/// # Errors
/// The disk fails: the entry can be applied later.
pub fn make(
    directory: &NewsDirectory,
    entry: &Entry<'_>,
    in_force: u64,
) -> Result<NewSettings, InForceError> {
    let made = match entry.kind {
        Kind::Settings => {
            let Some(change) = SettingsChange::parse(entry.payload) else {
                return Ok(NewSettings::Impossible("is damaged".to_owned()));
            };
            if change.replaces != in_force {
                return Ok(NewSettings::Overtaken);
            }
            DecidingFiles::from_parts(change.files().flatten())
        }
        // All nodes have them in their files.
        _ => DecidingFiles::of(directory),
    };
    let made = made.and_then(|files| in_force::stage(directory, &files, entry.rules, in_force));
    Ok(match made {
        Ok(()) => NewSettings::Made,
        Err(error @ (InForceError::Io { .. } | InForceError::Store(_))) => return Err(error),
        Err(InForceError::Hash { .. }) if entry.kind == Kind::Rules => NewSettings::Missing,
        Err(error) => NewSettings::Impossible(format!(
            "puts settings into force by which this node cannot go: {error}; mend that, and restart it"
        )),
    })
}
