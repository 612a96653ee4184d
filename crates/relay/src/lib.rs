//! The relay room.
