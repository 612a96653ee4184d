//! Answers nodes that fetch the segments of this one. They name segments by numbers only, and get nothing else of the news directory.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::cluster::jetstream::segments::{Answering, answer};
use ::cluster::log::LogOptions;
use ::cluster::reseed::{self, LISTED_MAX, Listing, PIECE_BYTES_MAX, Reply, Request};
use server::worker_pool::Spawn;
use settings::cluster::DecidingPart;
use store::reseed::{FileVersion, ListedFile, Source};
use store::{AppliedEntry, SegmentFile};

/// How much the thread stands back behind the others of the daemon.
const NICE: i32 = 10;

/// What the thread answers by.
struct Answers {
    source: Source,
    root: std::path::PathBuf,
    parts: Vec<(String, String)>,
    is_stopped: Arc<AtomicBool>,
    piece: Vec<u8>,
}

/// Answers for the news directory `root` until the value is dropped; refuses while the node `is_stopped`.
///
/// # Errors
/// The thread cannot be started.
pub fn serve(
    options: LogOptions,
    root: &Path,
    parts: &[DecidingPart],
    is_stopped: Arc<AtomicBool>,
    spawn: &Spawn,
) -> io::Result<Answering> {
    let parts = parts.iter();
    let mut answers = Answers {
        source: Source::of(root),
        root: root.to_owned(),
        parts: parts
            .map(|part| (part.name.clone(), format!("{:016x}", part.hash)))
            .collect(),
        is_stopped,
        piece: vec![0; PIECE_BYTES_MAX],
    };
    answer(options, move |request| answers.reply(request), &|work| {
        spawn(
            "segments",
            Box::new(move || {
                // Without it, it works as well.
                let _ = rustix::process::nice(NICE);
                work();
            }),
        )
    })
}

impl Answers {
    fn reply(&mut self, request: &Request) -> Reply {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Reply::Refused("it applies no entries of the log itself".to_owned());
        }
        self.try_reply(request)
            .unwrap_or_else(|error| Reply::Refused(error.to_string()))
    }

    fn try_reply(&mut self, request: &Request) -> Result<Reply, store::Error> {
        match request {
            Request::List(from) => {
                // Before the list: the list has at least this entry.
                let place = AppliedEntry::read(&self.root)?;
                let page = self.source.list(*from, LISTED_MAX)?;
                Ok(Reply::Listing(Listing {
                    decisions: place.decisions_in_force(),
                    log: place.log,
                    sequence: place.sequence,
                    parts: self.parts.clone(),
                    files: page.files.iter().map(told).collect(),
                    next: page.next,
                }))
            }
            Request::Read(file, offset, bytes) => {
                let Some(file) = listed(file) else {
                    return Ok(Reply::Changed);
                };
                let most = (*bytes as usize).min(PIECE_BYTES_MAX);
                let piece = self.piece.get_mut(..most).unwrap_or_default();
                let got = self.source.read(&file, *offset, piece)?;
                Ok(match got.and_then(|count| self.piece.get(..count)) {
                    None => Reply::Changed,
                    Some(bytes) if bytes.iter().all(|&byte| byte == 0) => {
                        Reply::Zeros(bytes.len() as u32)
                    }
                    Some(bytes) => Reply::Bytes(bytes.to_vec().into()),
                })
            }
            Request::Hash(file) => {
                let Some(file) = listed(file) else {
                    return Ok(Reply::Changed);
                };
                let hash = self.source.hash(&file)?;
                Ok(hash.map_or(Reply::Changed, Reply::Hash))
            }
        }
    }
}

fn told(file: &ListedFile) -> reseed::File {
    reseed::File {
        base: file.base,
        kind: file.file.suffix().to_owned(),
        length: file.length,
        allocated: file.allocated,
        version: file
            .version
            .map(|version| (version.inode, version.changed, version.length)),
    }
}

fn listed(file: &reseed::File) -> Option<ListedFile> {
    let kind = SegmentFile::ALL
        .into_iter()
        .find(|kind| kind.suffix() == file.kind)?;
    Some(ListedFile {
        base: file.base,
        file: kind,
        length: file.length,
        allocated: file.allocated,
        version: file.version.map(|(inode, changed, length)| FileVersion {
            inode,
            changed,
            length,
        }),
    })
}
