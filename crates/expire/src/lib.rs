//! The expire room.
