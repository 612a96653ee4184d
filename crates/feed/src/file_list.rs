//! Sites that get a line for each article in a file, for a program of the administrator's to work through (a *togo* file).
//!
//! An article's name is `group/name/number`, as C News's files were called; here no file is under it, but `broadsheet article`
//! gives it. Whoever works the list through moves it aside first, as ever: the next lines go to a new file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use groups::sites::ListForm;
use store::{HistoryLine, Record};

use crate::error::Error;
use crate::sendbatches::Togo;

/// Bytes of lines that are written and synced at a time; the cursor passes them together.
pub const LINES_BYTES_MAX: usize = 1 << 18;

/// The list of a site.
#[derive(Debug, Clone)]
pub struct FileList {
    /// What a line says.
    pub form: ListForm,
    /// The file.
    pub path: PathBuf,
}

impl FileList {
    /// Lists everything that waits; gives how many articles. A crash leaves no half line, and lists again at most what was
    /// not synced.
    ///
    /// # Errors
    /// The file cannot be written, or the backlog not be read; what was not listed waits on.
    pub fn run(&self, togo: &mut dyn Togo) -> Result<u64, Error> {
        let mut lines = Vec::new();
        let mut listed = 0;
        loop {
            lines.clear();
            let mut articles = 0;
            togo.offer(&mut |record| {
                if lines.len() >= LINES_BYTES_MAX {
                    return false;
                }
                push_line(&mut lines, self.form, record);
                articles += 1;
                true
            })?;
            if articles > 0 {
                self.append(&lines)?;
            }
            // What is not for this site is passed, too.
            togo.delivered()?;
            if articles == 0 {
                return Ok(listed);
            }
            listed += articles;
        }
    }

    /// Appends whole lines durably, or nothing.
    fn append(&self, lines: &[u8]) -> Result<(), Error> {
        let path = &self.path;
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(Error::io("make", directory))?;
        let is_new = !path.exists();
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(Error::io("open", path))?;
        let before = file.metadata().map_err(Error::io("look at", path))?.len();
        let written = end_line(&mut file, before)
            .and_then(|()| file.write_all(lines))
            .and_then(|()| file.sync_data());
        if let Err(error) = written {
            // Lines again at the next attempt, none of them half here.
            let _ = file.set_len(before);
            return Err(Error::io("write", path)(error));
        }
        if is_new {
            File::open(directory)
                .and_then(|directory| directory.sync_all())
                .map_err(Error::io("sync", directory))?;
        }
        Ok(())
    }
}

/// Ends a line that a power cut left half.
fn end_line(file: &mut File, length: u64) -> std::io::Result<()> {
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    match last {
        [b'\n'] => Ok(()),
        _ => file.write_all(b"\n"),
    }
}

fn push_line(out: &mut Vec<u8>, form: ListForm, record: &Record<'_>) {
    let Some(line) = HistoryLine::parse(record.line()) else {
        return;
    };
    if form == ListForm::Id {
        out.extend_from_slice(line.id);
    } else {
        push_name(out, line.links);
    }
    match form {
        ListForm::NameSize => {
            out.push(b' ');
            article::decimal::push(out, line.size.unwrap_or(0));
        }
        ListForm::NameId => {
            out.push(b' ');
            out.extend_from_slice(line.id);
        }
        ListForm::Name | ListForm::Id => {}
    }
    out.push(b'\n');
}

/// The first of an article's links, `comp.lang.c/17`, as the name of a file: `comp/lang/c/17`.
fn push_name(out: &mut Vec<u8>, links: &[u8]) {
    let first = links.split(|&byte| byte == b' ').next().unwrap_or_default();
    out.extend(
        first
            .iter()
            .map(|&byte| if byte == b'.' { b'/' } else { byte }),
    );
}
