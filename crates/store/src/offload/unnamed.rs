//! The file `objects.unnamed`: objects that may be in the store although no segment names them. Each name is added, durably, before the
//! object is stored, and before a segment ceases to name it. The next run deletes those that no segment names. So nothing is deleted that this
//! news directory did not store, and the store is never listed.

use std::path::PathBuf;

use crate::Error;
use crate::io::replace::{read_whole, replace};
use crate::log::segments::Segments;
use crate::offload::object_name::ObjectName;
use crate::offload::objects::ObjectStore;
use crate::offload::owner;

const FILE: &str = "objects.unnamed";

fn path(segments: &Segments) -> PathBuf {
    segments.directory().join(FILE)
}

/// The names, in the order in which they were added.
pub fn read(segments: &Segments) -> Result<Vec<ObjectName>, Error> {
    let path = path(segments);
    let text = read_whole(&**segments.disk(), &path)?.unwrap_or_default();
    let mut names = Vec::new();
    for (offset, line) in crate::history::lines(&text) {
        let name = std::str::from_utf8(line).ok().and_then(ObjectName::parse);
        names.push(name.ok_or_else(|| Error::Damaged {
            path: path.clone(),
            offset,
            what: "it is not the name of an object (remove the line)",
        })?);
    }
    Ok(names)
}

/// Adds names, durably.
pub fn add(segments: &Segments, names: &[ObjectName]) -> Result<(), Error> {
    let mut all = read(segments)?;
    let before = all.len();
    for name in names {
        if !all.contains(name) {
            all.push(*name);
        }
    }
    match all.len() > before {
        true => write(segments, &all),
        false => Ok(()),
    }
}

/// Removes a name.
pub fn remove(segments: &Segments, name: ObjectName) -> Result<(), Error> {
    let mut all = read(segments)?;
    all.retain(|known| *known != name);
    write(segments, &all)
}

/// Deletes the objects that no segment names.
pub fn sweep(segments: &Segments, store: &ObjectStore) -> Result<(), Error> {
    let mut left = read(segments)?;
    let mut first = Ok(());
    left.retain(|name| {
        let header = segments.header(name.base);
        let done = header.and_then(|header| match header {
            Some(header) if header.object == Some(name.sum) => Ok(()),
            _ => owner::check(segments, store).and_then(|()| store.delete(*name)),
        });
        match done {
            Ok(()) => false,
            Err(error) => {
                if first.is_ok() {
                    first = Err(error);
                }
                true
            }
        }
    });
    if read(segments)? != left {
        write(segments, &left)?;
    }
    first
}

fn write(segments: &Segments, names: &[ObjectName]) -> Result<(), Error> {
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    replace(&**segments.disk(), &path(segments), |file| {
        file.write_at(text.as_bytes(), 0)
    })
}
