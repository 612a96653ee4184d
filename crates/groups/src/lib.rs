//! The groups room.
