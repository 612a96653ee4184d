//! In the place of `jetstream` in a build without it: the same functions, all of which fail. Settings with `[cluster]` are refused before.

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "`jetstream' has the comments"
)]

use std::io;

use crate::feeding::FeedCursors;
use crate::lease::Claim;
use crate::log::{Bytes, Clock, LogError, LogEvent, LogIdentity, LogOptions};
use crate::members::{Extent, Mark, Members, StopMark};

/// The error of each function.
pub const NOT_BUILT_IN: &str = "this program was built without the feature `cluster'";

fn absent<T>() -> Result<T, LogError> {
    Err(LogError::Stopped(NOT_BUILT_IN.to_owned()))
}

fn cannot_start<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NOT_BUILT_IN))
}

/// The log; there is none.
#[derive(Debug)]
pub enum Log {}

/// The way to the lease of the feeds; there is none.
#[derive(Debug, Clone)]
pub struct FeedLease(());

impl Log {
    pub fn open(
        _: LogOptions,
        _: u64,
        _: (u64, Clock),
        _: impl Fn(LogEvent) + Send + 'static,
        _: &dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<()>,
    ) -> io::Result<Log> {
        cannot_start()
    }

    pub fn append(&self, _: u64, _: String, _: Bytes) {
        match *self {}
    }

    pub fn mark(&self, _: Mark) {
        match *self {}
    }

    pub fn feeds(&self) -> FeedLease {
        match *self {}
    }

    pub fn applied(&self, _: usize) {
        match *self {}
    }
}

impl FeedLease {
    pub fn want(&self, _: bool) {}

    pub fn read(&self) {}

    pub fn tell(&self, _: FeedCursors, _: bool) {}
}

pub fn begin(_: &LogOptions, _: i64, _: &LogIdentity) -> Result<(LogIdentity, bool), LogError> {
    absent()
}

pub fn find(_: &LogOptions) -> Result<LogIdentity, LogError> {
    absent()
}

pub fn append(_: &LogOptions, _: Vec<(String, Bytes)>) -> Result<u64, LogError> {
    absent()
}

pub fn members(_: &LogOptions) -> Result<(Members, Extent), LogError> {
    absent()
}

pub fn feeder(_: &LogOptions) -> Result<(Option<Claim>, FeedCursors), LogError> {
    absent()
}

pub fn announce(_: &LogOptions, _: &Mark) -> Result<(), LogError> {
    absent()
}

pub fn announce_stop(_: &LogOptions, _: (u64, u64), _: &StopMark) -> Result<(), LogError> {
    absent()
}

pub fn leave(_: &LogOptions, _: &str) -> Result<bool, LogError> {
    absent()
}

pub fn new_login() -> Result<String, LogError> {
    absent()
}

pub fn public_key(_: &str) -> Result<String, LogError> {
    absent()
}

/// Segments on their way between nodes; as in `jetstream`, fails.
pub mod segments {
    use std::io;

    use super::{absent, cannot_start};
    use crate::log::{LogError, LogOptions};
    use crate::reseed::{Reply, Request};

    /// A node that answers; there is none.
    #[derive(Debug)]
    pub enum Answering {}

    /// The way to a node that answers; there is none.
    #[derive(Debug)]
    pub enum Asking {}

    pub fn answer(
        _: LogOptions,
        _: impl FnMut(&Request) -> Reply + Send + 'static,
        _: &dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<()>,
    ) -> io::Result<Answering> {
        cannot_start()
    }

    impl Asking {
        pub fn connect(_: &LogOptions, _: &str) -> Result<Asking, LogError> {
            absent()
        }

        pub fn node(&self) -> &str {
            match *self {}
        }

        pub fn damaged(&self) -> u64 {
            match *self {}
        }

        pub fn piece_bytes(&self) -> u64 {
            match *self {}
        }

        pub fn try_ask(&self, _: &Request) -> Result<Reply, LogError> {
            match *self {}
        }

        pub fn ask(&self, _: &Request) -> Result<Reply, LogError> {
            match *self {}
        }

        pub fn ask_all(
            &self,
            _: impl Iterator<Item = Request>,
            _: impl FnMut(Reply) -> bool,
        ) -> Result<(), LogError> {
            match *self {}
        }
    }
}
