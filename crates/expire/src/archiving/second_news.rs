//! An archive that is a news directory itself: articles are filed there as they lie here, with their numbers and arrival,
//! in all their groups.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use article::{Article, Form};
use groups::{Active, Flag};
use store::{Durability, Filing, HistoryLine, Options, OverviewFields, Piece, Record, Spool};

use super::fault::CopyFault;

/// Makes a news directory at a path, with this `active`, and policies that keep all of it.
pub type Make<'a> =
    dyn Fn(&Path, &[u8]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// The archive, opened when the first article comes.
pub struct SecondNews<'a> {
    dir: PathBuf,
    options: Options,
    /// What `active` it is made with.
    groups: Vec<Vec<u8>>,
    make: &'a Make<'a>,
    spool: Option<Spool>,
}

impl<'a> SecondNews<'a> {
    /// At a path; when it is made, it is with these groups.
    pub fn new(
        dir: PathBuf,
        options: Options,
        groups: Vec<Vec<u8>>,
        make: &'a Make<'a>,
    ) -> SecondNews<'a> {
        let options = Options {
            // Many articles to a commit, but what goes here must be on the disk there.
            durability: Durability::Commit,
            patience: None,
            repair: false,
            ..options
        };
        SecondNews {
            dir,
            options,
            groups,
            make,
            spool: None,
        }
    }

    /// Files a copy; it is durable after [`SecondNews::flush`]. An id that has its article there already is well archived.
    pub fn copy(&mut self, record: &Record<'_>) -> Result<(), CopyFault> {
        let line = HistoryLine::parse(record.line()).ok_or(CopyFault::Line)?;
        let spool = self.open()?;
        if let Some(known) = spool.find(line.id)? {
            return match known.is_filed() {
                true => Ok(()),
                false => Err(CopyFault::IdKnown),
            };
        }
        let links: Vec<(&[u8], u64)> = line.links().collect();
        for (group, number) in &links {
            take_group(spool, group, *number)?;
        }
        file(spool, record, &line, &links)?;
        Ok(())
    }

    /// Makes all that was copied durable.
    pub fn flush(&mut self) -> Result<(), CopyFault> {
        if let Some(spool) = &mut self.spool {
            spool.commit()?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<&mut Spool, CopyFault> {
        if self.spool.is_none() {
            if !self.dir.join("segments").is_dir() {
                self.begin()?;
            }
            self.spool = Some(Spool::open(&self.dir, self.options)?);
        }
        // Set above.
        self.spool.as_mut().ok_or(CopyFault::Line)
    }

    /// Makes the directory under another name and puts it in place whole, so that no kill leaves half of one.
    fn begin(&self) -> Result<(), CopyFault> {
        let mut name = std::ffi::OsString::from(".");
        name.push(self.dir.file_name().unwrap_or_default());
        name.push(".new");
        let fresh = self.dir.with_file_name(name);
        match fs::remove_dir_all(&fresh) {
            Err(fault) if fault.kind() == ErrorKind::NotFound => {}
            removed => removed.map_err(|fault| CopyFault::io("remove", &fresh, fault))?,
        }
        let mut active = Vec::new();
        for group in &self.groups {
            active.extend_from_slice(group);
            active.extend_from_slice(b" 0000000000 00001 n\n");
        }
        (self.make)(&fresh, &active).map_err(|fault| CopyFault::Make {
            path: self.dir.clone(),
            fault,
        })?;
        // An empty directory there gives way; any other stays, and this fails.
        fs::rename(&fresh, &self.dir).map_err(|fault| CopyFault::io("make", &self.dir, fault))?;
        let parent = self.dir.parent().unwrap_or(&self.dir);
        File::open(parent)
            .and_then(|parent| parent.sync_all())
            .map_err(|fault| CopyFault::io("sync", parent, fault))
    }
}

/// The group is there, and its high mark not below this number. Nobody posts in an archive: its flag is `n`.
fn take_group(spool: &mut Spool, group: &[u8], number: u64) -> Result<(), CopyFault> {
    if spool.active().find(group).is_none() {
        spool.set_group(group, Flag::NoPosting)?;
    }
    let table: &mut Active = spool.active_mut();
    let Some(id) = table.find(group) else {
        return Err(CopyFault::Name);
    };
    if table.high(id) < number && !table.set_high(id, number) {
        return Err(CopyFault::Number);
    }
    Ok(())
}

fn file(
    spool: &mut Spool,
    record: &Record<'_>,
    line: &HistoryLine<'_>,
    links: &[(&[u8], u64)],
) -> Result<(), CopyFault> {
    let wire = record.wire_article();
    let wire = match record.head.no_final_newline {
        true => wire.strip_suffix(b"\r\n").unwrap_or(wire),
        false => wire,
    };
    let header_length = (record.head.wire_header_length as usize).min(wire.len());
    let (header, body) = wire.split_at_checked(header_length).unwrap_or((wire, b""));
    let article = Article::parse(wire, Form::Wire);
    spool.append(&Filing {
        id: line.id,
        // What cannot be read counts as the epoch, as with C News.
        arrival: line.arrival.unwrap_or(0),
        expires: line.expires,
        links,
        sites: b"",
        header: &[Piece::Wire(header)],
        body: Piece::Wire(body),
        overview: OverviewFields::of(&article, line.id),
    })?;
    Ok(())
}
