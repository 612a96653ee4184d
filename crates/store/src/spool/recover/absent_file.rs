//! A missing file: an inspection reads it as an empty one, and creates nothing.

use std::io;

use crate::io::disk::{File, MapRef, MapWords};

/// An empty file that refuses all changes.
#[derive(Debug)]
pub struct AbsentFile;

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::NotFound.into())
}

impl File for AbsentFile {
    fn length(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        refused()
    }

    fn set_length(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn sync(&self) -> io::Result<()> {
        refused()
    }

    fn map(&self, _: u64) -> io::Result<MapRef> {
        Ok(MapRef::default())
    }

    fn map_words(&self, _: u64) -> io::Result<MapWords> {
        refused()
    }

    fn identity(&self) -> io::Result<[u64; 3]> {
        refused()
    }
}
