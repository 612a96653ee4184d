//! Locks between threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose data no thread leaves inconsistent.
pub fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
