//! What a run of rnews keeps: bad batches, and articles that could not be filed.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use article::{Article, Form, Header};

use super::{InputState, Run, Status, UNFILED_NAMED_MAX};
use crate::bad_batches;
use crate::file::Refusal;
use crate::free_space;
use crate::input::{Reread, Source};

impl Run<'_> {
    /// Keeps an article that could not be filed in a batch of its own in `bad/`, and reports it.
    pub(super) fn keep_unfiled(
        &mut self,
        bytes: &[u8],
        refusal: &Refusal,
        (source, state): (&Source, &mut InputState),
    ) {
        state.unfiled_articles += 1;
        if state.unfiled_articles <= UNFILED_NAMED_MAX {
            let id = Article::parse(bytes, Form::Native).value(Header::MessageId);
            let id = groups::shown(id.unwrap_or(b"without a Message-ID"));
            let text = groups::shown(&refusal.text);
            self.watch
                .message(&format!("{}: {id}: {text}", source.name));
        }
        let is_first = state.unfiled_articles == 1;
        let mut kept = match state.unfiled.take() {
            None if is_first => {
                let bad = self.outlet.filer().dir().join(bad_batches::BAD);
                if kept_as(&source.file, &bad).is_some() {
                    state.status = Status::Attention;
                    return;
                }
                bad_batches::create(&bad, &format!("{}.unfiled", source.stem))
            }
            Some(kept) => Ok(kept),
            // It failed before, which was reported.
            None => return,
        };
        if let Ok((file, _)) = &mut kept {
            let line = format!("#! rnews {}\n", bytes.len());
            let written = file
                .write_all(line.as_bytes())
                .and_then(|()| file.write_all(bytes));
            if let Err(error) = written {
                kept = Err(error);
            }
        }
        match kept {
            Ok(kept) => state.unfiled = Some(kept),
            Err(error) => self.report_loss(source, state, &error),
        }
    }

    /// Syncs the batch of articles that could not be filed, and reports where it is.
    pub(super) fn close_unfiled(&mut self, source: &Source, state: &mut InputState) {
        let Some((file, path)) = state.unfiled.take() else {
            if state.unfiled_articles > 0 && !state.is_unsaved {
                self.watch.message(&format!(
                    "{}: {} articles could not be filed; the batch stays",
                    source.name, state.unfiled_articles
                ));
            }
            return;
        };
        let synced = file
            .sync_all()
            .and_then(|()| bad_batches::sync_parent(&path));
        match synced {
            Ok(()) => self.watch.message(&format!(
                "{}: {} articles could not be filed; they are kept in {}",
                source.name,
                state.unfiled_articles,
                path.display()
            )),
            Err(error) => self.report_loss(source, state, &error),
        }
    }

    /// Saves the whole batch in bad/, once.
    pub(super) fn save(&mut self, source: &Source, state: &mut InputState) {
        if state.saved.is_some() {
            return;
        }
        let bad = self.outlet.filer().dir().join(bad_batches::BAD);
        if let Some(path) = kept_as(&source.file, &bad) {
            state.saved = Some(path);
            return;
        }
        let saved = match &source.reread {
            // A file in in.coming/ is about to be removed; another one may be overwritten by the next batch.
            Reread::Path(path) if source.is_spooled => {
                bad_batches::save_file(&bad, &source.stem, path)
            }
            Reread::Path(_) => self
                .check_room(source)
                .and_then(|()| bad_batches::save_copy(&bad, &source.stem, &source.file)),
            Reread::From(start) => self.check_room(source).and_then(|()| {
                bad_batches::save_reader(&bad, &source.stem, &mut source.read_again(*start))
            }),
        };
        match saved {
            Ok(saved) => state.saved = Some(saved),
            Err(error) => self.report_loss(source, state, &error),
        }
    }

    /// Fails if a copy in bad/ would leave less than keep_free.
    fn check_room(&mut self, source: &Source) -> io::Result<()> {
        let filer = self.outlet.filer();
        let bytes = source.file.metadata()?.len();
        free_space::check(filer.dir(), bytes, filer.keep_free())
            .map_err(|_| io::ErrorKind::StorageFull.into())
    }

    pub(super) fn report_loss(
        &mut self,
        source: &Source,
        state: &mut InputState,
        error: &io::Error,
    ) {
        // The input must stay.
        state.is_unsaved = true;
        state.status = Status::Attention;
        self.raise_status(Status::Attention);
        let hint = match source.reread {
            Reread::From(_) => "send it again",
            Reread::Path(_) => "the batch stays where it was",
        };
        self.watch.message(&format!(
            "cannot save {} in bad/: {error}; {hint}",
            source.name
        ));
    }
}

/// The name of an open file in `bad/`, if it has one there: a batch that is filed from `bad/` is not copied there again. The daemon gets files
/// without their names.
fn kept_as(file: &File, bad: &Path) -> Option<PathBuf> {
    let (file, directory) = (file.metadata().ok()?, bad.metadata().ok()?);
    if file.dev() != directory.dev() || file.nlink() == 0 {
        return None;
    }
    let mut entries = bad.read_dir().ok()?.flatten();
    let entry = entries.find(|entry| entry.ino() == file.ino())?;
    Some(entry.path())
}
