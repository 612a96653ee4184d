//! The article room.

pub mod batch;
