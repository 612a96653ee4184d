//! Entries by which the settings change, by which all nodes decide: their copy is made before the place of the node has their hash.

use ::cluster::entry::{Entry, Kind};
use ::cluster::log::SettingsGuard;
use ::cluster::settings_change::{Origin, SettingsChange};
use settings::NewsDirectory;
use settings::in_force::{self, DecidingFiles, InForceError};
use store::AppliedEntry;

/// The effect of an entry on the settings.
pub enum NewSettings {
    /// It replaces others than those in force, and changes nothing: another change came first. Or it is old, and was sent again.
    Overtaken,
    /// Its settings are on the disk, and are in force when the place of the node is behind it.
    Made,
    /// This node has not these settings, and the entry does not bring them.
    Missing,
    /// This node cannot go by them.
    Impossible(String),
}

/// Makes the copy of the settings of an entry; `place`: the place of the node before it.
///
/// # Errors
/// The disk fails: the entry can be applied later.
pub fn make(
    directory: &NewsDirectory,
    entry: &Entry<'_>,
    place: &AppliedEntry,
    guard: &SettingsGuard,
) -> Result<NewSettings, InForceError> {
    let made = match entry.kind {
        Kind::Settings => {
            let Some(change) = SettingsChange::parse(entry.payload) else {
                return Ok(NewSettings::Impossible("is damaged".to_owned()));
            };
            if change.replaces != place.rules || !change.is_recent_at(place.sequence + 1) {
                return Ok(NewSettings::Overtaken);
            }
            let is_guarded = match guard {
                SettingsGuard::Login(login) => change.is_from(&Origin {
                    login,
                    log: &place.log,
                    rules: entry.rules,
                }),
                SettingsGuard::Servers => true,
                SettingsGuard::Missing => false,
            };
            if !is_guarded {
                let why = "changes settings, which name programs and files, and was not made with the login of this node \
                           (keys/cluster.login, the same on all nodes); see docs/book/cluster.md";
                return Ok(NewSettings::Impossible(why.to_owned()));
            }
            DecidingFiles::from_parts(change.files().flatten())
        }
        // All nodes have them in their files.
        _ => DecidingFiles::of(directory),
    };
    let made = made.and_then(|files| in_force::stage(directory, &files, entry.rules, place.rules));
    Ok(match made {
        Ok(()) => NewSettings::Made,
        Err(error @ (InForceError::Io { .. } | InForceError::Store(_))) => return Err(error),
        Err(InForceError::Hash { .. }) if entry.kind == Kind::Rules => NewSettings::Missing,
        Err(error) => NewSettings::Impossible(format!(
            "puts settings into force that this node cannot use: {error}; correct it and restart the daemon"
        )),
    })
}
