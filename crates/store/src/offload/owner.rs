//! Whose objects they are. Two news directories with the same place in an object store would delete each other's objects; so the first one
//! leaves an object there with a random name of its own, which its file `objects.owner` has as well, and no other stores or deletes there.
//! Reading is harmless. Backups do not contain the file: a restored copy is another news directory.

use std::io;

use crate::Error;
use crate::io::replace::{read_whole, replace};
use crate::log::segments::Segments;
use crate::offload::objects::ObjectStore;

/// The file in the news directory: 32 digits and a newline.
const FILE: &str = "objects.owner";
/// The object, which has the same bytes.
const OBJECT: &str = "owner";
const BYTES: usize = 33;

/// The name of a news directory for its object store.
type Owner = [u8; BYTES];

/// Makes sure that the place is ours, before something is stored there.
///
/// # Errors
/// Another news directory uses it, or the store does not answer.
pub fn claim(segments: &Segments, store: &ObjectStore) -> Result<(), Error> {
    if store.is_ours() {
        return Ok(());
    }
    let own = match read(segments)? {
        Some(own) => own,
        None => make(segments)?,
    };
    let objects = store.raw();
    let found = match find(store) {
        // A directory is there when something is stored in it. If something is and it is not there, its disk is not mounted.
        Err(_) if objects.is_unused() && !has_objects(segments)? => None,
        found => found.map_err(at("look for"))?,
    };
    match found {
        Some(found) if found == own => {}
        Some(_) => return Err(theirs()),
        None => {
            let is_new = objects.put_new(OBJECT, &own).map_err(at("store"))?;
            // Another one was faster; or an earlier attempt of ours, whose answer was lost.
            if !is_new && find(store).map_err(at("look for"))? != Some(own) {
                return Err(theirs());
            }
        }
    }
    store.set_ours();
    Ok(())
}

/// Whether the articles of a segment are in the object store.
fn has_objects(segments: &Segments) -> Result<bool, Error> {
    for base in segments.bases()? {
        let header = segments.header(base)?;
        if header.is_some_and(|header| header.object.is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes sure that the place is not another's, before something is deleted there. A place without an owner passes.
///
/// # Errors
/// Another news directory uses it, or the store does not answer.
pub fn check(segments: &Segments, store: &ObjectStore) -> Result<(), Error> {
    if store.is_ours() {
        return Ok(());
    }
    match find(store).map_err(at("look for"))? {
        Some(found) if Some(found) != read(segments)? => Err(theirs()),
        _ => {
            store.set_ours();
            Ok(())
        }
    }
}

fn at(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::ObjectStore {
        doing,
        object: OBJECT.to_owned(),
        source: io::Error::new(source.kind(), source.to_string()),
    }
}

fn theirs() -> Error {
    let what = "the object `owner' there is that of another news directory: two must not use the same `[offload] url' and `name'. \
                If this one takes the place of the other for good, remove that object";
    Error::ObjectStore {
        doing: "store or delete",
        object: "anything".to_owned(),
        source: io::Error::new(io::ErrorKind::AlreadyExists, what),
    }
}

/// The owner of the place, if it has one.
fn find(store: &ObjectStore) -> io::Result<Option<Owner>> {
    let objects = store.raw();
    let mut found = [0; BYTES];
    match objects.length(OBJECT)? {
        None => Ok(None),
        Some(length) if length == BYTES as u64 => {
            objects.read(OBJECT, 0, &mut found)?;
            Ok(Some(found))
        }
        // It is not ours.
        Some(_) => Ok(Some(found)),
    }
}

fn read(segments: &Segments) -> Result<Option<Owner>, Error> {
    let path = segments.directory().join(FILE);
    let text = read_whole(&**segments.disk(), &path)?;
    // A damaged name is none: then the place is another's until somebody looks.
    Ok(text.and_then(|text| Owner::try_from(text.as_slice()).ok()))
}

fn make(segments: &Segments) -> Result<Owner, Error> {
    let path = segments.directory().join(FILE);
    let mut random = [0; 16];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Error::io("make", &path, error.into()))?;
    let text = format!("{:032x}\n", u128::from_le_bytes(random));
    replace(&**segments.disk(), &path, |file| {
        file.write_at(text.as_bytes(), 0)
    })?;
    Owner::try_from(text.as_bytes()).map_err(|_| at("name")(io::ErrorKind::Other.into()))
}
