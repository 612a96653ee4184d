//! Locks between the threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what no thread can leave half done.
pub fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
