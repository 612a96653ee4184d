//! The groups that readers ask for, for `[[pull]]` tables with `rest_days`. Network threads note them in memory; the thread of the
//! schedule writes them to their file now and then.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use pull::Watched;
use relay::log::Now;
use settings::Settings;

use super::lock::lock;
use super::warn;

/// Longest time that a change stays in memory alone, seconds.
const SAVE_SECONDS: i64 = 600;

/// The consequence of a note.
#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    /// Nothing.
    Nothing,
    /// The first change since the file was written.
    Save,
    /// The group has rested, at these servers.
    Wake(Vec<String>),
}

/// The groups that readers ask for.
#[derive(Debug)]
pub struct Readers {
    dir: PathBuf,
    /// Whether any group can rest. Without one, a note takes no lock.
    is_any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    watched: Option<Watched>,
    /// When the file has to be written, seconds since 1970.
    save_at: Option<i64>,
}

impl Readers {
    /// The readers of a news directory.
    pub fn new(dir: &Path, settings: &Settings) -> Readers {
        let readers = Readers {
            dir: dir.to_owned(),
            is_any: AtomicBool::new(false),
            state: Mutex::new(State {
                watched: None,
                save_at: None,
            }),
        };
        readers.set(settings);
        readers
    }

    /// Changes the settings.
    pub fn set(&self, settings: &Settings) {
        self.save(None);
        let now = Now::read().seconds;
        let (watched, error) = Watched::open(&self.dir, &settings.pulls, now);
        if let Some(error) = error {
            warn(&format!("{error}; the days of rest begin anew"));
        }
        let mut state = lock(&self.state);
        self.is_any.store(watched.is_some(), Ordering::SeqCst);
        // A new file tells the pulls that the counting has begun.
        let is_changed = watched.as_ref().is_some_and(Watched::is_changed);
        state.save_at = is_changed.then_some(now);
        state.watched = watched;
    }

    /// Notes that a reader asks for a group.
    pub fn ask(&self, group: &[u8], now: i64) -> Note {
        if !self.is_any.load(Ordering::SeqCst) {
            return Note::Nothing;
        }
        let mut state = lock(&self.state);
        let state = &mut *state;
        let Some(watched) = &mut state.watched else {
            return Note::Nothing;
        };
        let mut woken = Vec::new();
        watched.ask(group, now, |server| woken.push(server.to_owned()));
        if !woken.is_empty() {
            return Note::Wake(woken);
        }
        if watched.is_changed() && state.save_at.is_none() {
            state.save_at = Some(now + SAVE_SECONDS);
            Note::Save
        } else {
            Note::Nothing
        }
    }

    /// Writes the file if its time has come by `now`, or in any case with `None`. Returns when it has to be written next, seconds since
    /// 1970.
    pub fn save(&self, now: Option<i64>) -> Option<i64> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let is_later = |at: i64| now.is_some_and(|now| at > now);
        if state.save_at.is_some_and(is_later) || (state.save_at.is_none() && now.is_some()) {
            return state.save_at;
        }
        state.save_at = None;
        if let Some(watched) = &mut state.watched
            && let Err(error) = watched.save(&self.dir)
        {
            warn(&format!("the groups that readers ask for: {error}"));
            state.save_at = now.map(|now| now + SAVE_SECONDS);
        }
        state.save_at
    }
}
