//! Opening the spool to file articles.

use std::time::Duration;

use relay::Rules;
use relay::file::{Filer, FilerOptions};
use store::Spool;

use crate::directory::NewsDirectory;
use crate::feeds;
use settings::Settings;

/// Opens the spool, says what opening found, and makes its filer. `None`: others held the lock for all the `patience`
/// there was; without one it waits.
///
/// # Errors
/// Those of the store, `sys` and the log.
pub fn open(
    directory: &NewsDirectory,
    settings: &Settings,
    rules: Rules,
    options: FilerOptions,
    patience: Option<Duration>,
) -> anyhow::Result<Option<Filer>> {
    let store = store::Options {
        patience,
        ..settings.store_options()
    };
    let spool = match Spool::open(directory.root(), store) {
        Err(store::Error::Locked(_)) if patience.is_some() => return Ok(None),
        opened => opened?,
    };
    for notice in spool.notices() {
        eprintln!("broadsheet: {notice}");
    }
    let sys = directory.sys(settings)?;
    feeds::enrol(directory, &sys, spool.end())?;
    Ok(Some(Filer::new(spool, sys, rules, options)?))
}
