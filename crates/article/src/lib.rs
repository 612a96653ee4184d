//! The article room.
