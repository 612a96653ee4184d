//! An object store in memory, which fails on purpose.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use store::offload::{Connection, Objects, connect_by};

/// What the store does wrong.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    #[default]
    Nothing,
    /// It does not answer.
    Down,
    /// It answers with other bytes.
    Nonsense,
    /// Records claim to be this many bytes long.
    Claims(u32),
    /// A read of at most this many bytes finds no object.
    #[allow(dead_code, reason = "the tests of feeds include this file")]
    Misses(usize),
    /// A deletion fails, and may be carried out later.
    KeepsDeleted,
}

#[derive(Debug)]
pub struct ObjectDouble {
    pub objects: Mutex<BTreeMap<String, Vec<u8>>>,
    pub wrong: Mutex<Wrong>,
    pub reads: Mutex<u64>,
    /// The most bytes of one read.
    pub largest: Mutex<usize>,
    /// Happens before the next read.
    pub before_read: Mutex<Option<Event>>,
    cache_bytes_max: u64,
}

/// Something that happens meanwhile.
pub struct Event(pub Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Event {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Event")
    }
}

static ALL: Mutex<Option<HashMap<PathBuf, Arc<ObjectDouble>>>> = Mutex::new(None);

impl ObjectDouble {
    /// An empty store.
    pub fn new(cache_bytes_max: u64) -> Arc<ObjectDouble> {
        connect_by(|dir| {
            let all = ALL.lock().unwrap();
            let double = all.as_ref().and_then(|all| all.get(dir));
            let double = double.ok_or_else(|| io::Error::other("this directory has none"))?;
            Ok(Connection {
                objects: double.clone(),
                cache_bytes_max: double.cache_bytes_max,
            })
        });
        Arc::new(ObjectDouble {
            objects: Mutex::default(),
            wrong: Mutex::default(),
            reads: Mutex::default(),
            largest: Mutex::default(),
            before_read: Mutex::default(),
            cache_bytes_max,
        })
    }

    /// A news directory uses it from now on.
    pub fn serve(self: &Arc<ObjectDouble>, dir: &Path) {
        let mut all = ALL.lock().unwrap();
        all.get_or_insert_default()
            .insert(dir.to_owned(), self.clone());
    }

    pub fn set(&self, wrong: Wrong) {
        *self.wrong.lock().unwrap() = wrong;
    }

    /// The names of the objects but that of the owner.
    pub fn names(&self) -> Vec<String> {
        let objects = self.objects.lock().unwrap();
        let names = objects.keys().filter(|name| *name != "owner");
        names.cloned().collect()
    }

    fn answers(&self) -> io::Result<()> {
        match *self.wrong.lock().unwrap() {
            Wrong::Down => Err(io::Error::from(io::ErrorKind::TimedOut)),
            _ => Ok(()),
        }
    }
}

impl Objects for ObjectDouble {
    fn put(&self, name: &str, content: &mut dyn Read, length: u64) -> io::Result<()> {
        self.answers()?;
        let mut bytes = Vec::new();
        content.take(length).read_to_end(&mut bytes)?;
        assert_eq!(bytes.len() as u64, length);
        self.objects.lock().unwrap().insert(name.to_owned(), bytes);
        Ok(())
    }

    fn read(&self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let event = self.before_read.lock().unwrap().take();
        if let Some(Event(happen)) = event {
            happen();
        }
        self.answers()?;
        if matches!(*self.wrong.lock().unwrap(), Wrong::Misses(most) if buffer.len() <= most) {
            return Err(io::ErrorKind::NotFound.into());
        }
        *self.reads.lock().unwrap() += 1;
        let largest = &mut *self.largest.lock().unwrap();
        *largest = (*largest).max(buffer.len());
        let objects = self.objects.lock().unwrap();
        let bytes = objects.get(name).ok_or(io::ErrorKind::NotFound)?;
        let bytes = bytes.get(offset as usize..).unwrap_or_default();
        let bytes = bytes
            .get(..buffer.len())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        if *self.wrong.lock().unwrap() == Wrong::Nonsense {
            buffer.iter_mut().for_each(|byte| *byte ^= 0x55);
        }
        if let Wrong::Claims(length) = *self.wrong.lock().unwrap()
            && let Some(head) = buffer.get_mut(..48)
        {
            let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
            let wire = length - 48 - number(24) - number(28);
            head[8..12].copy_from_slice(&length.to_le_bytes());
            head[32..36].copy_from_slice(&wire.to_le_bytes());
        }
        Ok(())
    }

    fn length(&self, name: &str) -> io::Result<Option<u64>> {
        self.answers()?;
        let objects = self.objects.lock().unwrap();
        Ok(objects.get(name).map(|bytes| bytes.len() as u64))
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.answers()?;
        if *self.wrong.lock().unwrap() == Wrong::KeepsDeleted {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        self.objects.lock().unwrap().remove(name);
        Ok(())
    }
}
