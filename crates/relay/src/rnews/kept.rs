//! What a run of rnews keeps: bad batches, copies of pipes that may be bad, and articles that could not be filed.

use std::io::{self, Write};
use std::path::Path;

use article::{Article, Form, Header};

use super::{InputState, Run, Status, UNFILED_NAMED_MAX};
use crate::bad_batches;
use crate::file::Refusal;
use crate::input::{Reread, Source};
use crate::tee::Tee;

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
            Err(error) => self.lose_unfiled(source, state, &error),
        }
    }

    /// Syncs the batch of articles that could not be filed, and reports where it is.
    pub(super) fn close_unfiled(&mut self, source: &Source, state: &mut InputState) {
        let Some((file, path)) = state.unfiled.take() else {
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
            Err(error) => self.lose_unfiled(source, state, &error),
        }
    }

    fn lose_unfiled(&mut self, source: &Source, state: &mut InputState, error: &io::Error) {
        // The input must stay.
        state.status = Status::Attention;
        self.report_loss(source, error);
    }

    /// Copies a pipe from `offset` on to in.coming during the read, so that it can be saved if it is bad: a compressed pipe, or one
    /// whose next article is too large for memory.
    pub(super) fn copy(
        &mut self,
        source: &Source,
        tee: &Tee,
        offset: u64,
        state: &mut InputState,
    ) -> bool {
        let dir = self.outlet.filer().dir().join(bad_batches::INCOMING);
        let name = format!("{}{}", bad_batches::TEMPORARY, std::process::id());
        let created = bad_batches::create(&dir, &name).and_then(|(file, path)| {
            state.copy = Some((path, offset));
            tee.redirect_to(file, offset)
        });
        if let Err(error) = created {
            self.raise_status(Status::Attention);
            self.watch.message(&format!(
                "{}: cannot copy it to {} during the read: {error}; nothing after byte {offset} was filed; send the batch again",
                source.name,
                dir.display()
            ));
            return false;
        }
        true
    }

    /// Saves the batch in bad/, once: completely if it can be read again, otherwise from `offset` on.
    pub(super) fn save(&mut self, source: &Source, tee: &Tee, offset: u64, state: &mut InputState) {
        if state.saved.is_some() {
            return;
        }
        let bad = self.outlet.filer().dir().join(bad_batches::BAD);
        let saved = match (&source.reread, state.copy.take()) {
            // A file in in.coming/ is about to be removed; another one may be overwritten by the next batch.
            (Reread::Path(path), _) if source.is_spooled => {
                bad_batches::save_file(&bad, &source.stem, path).map(|path| (path, 0))
            }
            (Reread::Path(_), _) => {
                bad_batches::save_copy(&bad, &source.stem, &source.file).map(|path| (path, 0))
            }
            (Reread::From(start), _) => {
                bad_batches::save_reader(&bad, &source.stem, &mut source.read_again(*start))
                    .map(|path| (path, 0))
            }
            // The copy is still being written; it continues under its new name.
            (Reread::Never, Some((copy, from))) => {
                bad_batches::move_file(&bad, &source.stem, &copy).map(|path| (path, from))
            }
            (Reread::Never, None) => match bad_batches::create(&bad, &source.stem) {
                Ok((file, path)) => match tee.redirect_to(file, offset) {
                    Ok(from) => Ok((path, from)),
                    Err(error) => return self.report_partial(source, &path, &error),
                },
                Err(error) => Err(error),
            },
        };
        match saved {
            Ok(saved) => state.saved = Some(saved),
            Err(error) => self.report_loss(source, &error),
        }
    }

    /// As [`Run::save`], for a batch that is not read further: copies the rest of a pipe too.
    pub(super) fn save_to_end(
        &mut self,
        source: &Source,
        tee: &Tee,
        offset: u64,
        state: &mut InputState,
    ) {
        self.save(source, tee, offset, state);
        if !matches!(source.reread, Reread::Never) || state.saved.is_none() {
            return;
        }
        if let Err(error) = io::copy(&mut tee.attach(&source.file), &mut io::sink()) {
            match state.saved.take() {
                Some((path, _)) => self.report_partial(source, &path, &error),
                None => self.report_loss(source, &error),
            }
        }
    }

    /// Reports that only the first part of a pipe could be saved. The part stays: the sender may have no other copy.
    fn report_partial(&mut self, source: &Source, path: &Path, error: &io::Error) {
        self.raise_status(Status::Attention);
        self.watch.message(&format!(
            "cannot save the rest of {} in bad/: {error}; {} holds only the first part of what was not filed; send the batch again",
            source.name,
            path.display()
        ));
    }

    pub(super) fn report_loss(&mut self, source: &Source, error: &io::Error) {
        self.raise_status(Status::Attention);
        let hint = match source.reread {
            Reread::Never => "send it again",
            _ => "the batch stays where it was",
        };
        self.watch.message(&format!(
            "cannot save {} in bad/: {error}; {hint}",
            source.name
        ));
    }
}
