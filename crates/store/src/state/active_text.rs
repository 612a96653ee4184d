//! Reading the file `active`.

use std::path::Path;

use groups::Active;

use crate::Error;
use crate::io::disk::File;

/// Reads and parses an active file; its faults name the file and the line.
pub fn read_table(file: &dyn File, path: &Path) -> Result<Active, Error> {
    parse(read_text(file, path)?, path)
}

/// Reads the text of an active file.
pub fn read_text(file: &dyn File, path: &Path) -> Result<Vec<u8>, Error> {
    let length = file
        .length()
        .map_err(|source| Error::io("read the length of", path, source))?;
    let mut text = vec![0; length as usize];
    let got = file
        .read_at(&mut text, 0)
        .map_err(|source| Error::io("read", path, source))?;
    text.truncate(got);
    Ok(text)
}

/// Parses the text of an active file.
pub fn parse(text: Vec<u8>, path: &Path) -> Result<Active, Error> {
    Active::parse(text).map_err(|fault| Error::Active {
        path: path.to_owned(),
        what: fault.to_string(),
    })
}
