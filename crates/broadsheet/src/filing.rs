//! Opening the spool to file articles.

use std::time::{Duration, Instant};

use relay::Rules;
use relay::file::{Filer, FilerOptions};
use store::Spool;

use crate::directory::NewsDirectory;
use crate::feeds;
use crate::settings::Settings;

/// How often the lock is asked for while there is patience.
const ASK_EVERY: Duration = Duration::from_millis(20);

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
    let began = Instant::now();
    let store = store::Options {
        wait: patience.is_none(),
        ..settings.store_options()
    };
    let spool = loop {
        match Spool::open(directory.root(), store) {
            Err(store::Error::Locked(_)) if patience.is_some_and(|most| began.elapsed() < most) => {
                std::thread::sleep(ASK_EVERY);
            }
            Err(store::Error::Locked(_)) if patience.is_some() => return Ok(None),
            opened => break opened?,
        }
    };
    for notice in spool.notices() {
        eprintln!("broadsheet: {notice}");
    }
    let sys = directory.sys(settings)?;
    feeds::enrol(directory, &sys, spool.end())?;
    Ok(Some(Filer::new(spool, sys, rules, options)?))
}
