//! The C library's allocator returns large buffers to the system as soon as they are freed.
//!
//! By default glibc raises the size from which it maps a buffer of its own to that of the largest one freed so far (up to 32 MiB). Buffers of
//! incomplete articles then lie in the heaps of the threads, between smaller ones, and their memory stays with the process.

// The parameters of the allocator have no safe interface.
#![allow(unsafe_code)]

/// Size from which a buffer is mapped alone, bytes: 128 KiB, with which glibc begins.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES_MIN: libc::c_int = 128 << 10;
/// Free memory at the end of a heap that stays with the process, bytes: 1 MiB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES_MAX: libc::c_int = 1 << 20;

/// Fixes the size from which buffers are mapped alone. Other allocators have no such size.
pub fn return_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes two numbers, and glibc locks what it changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES_MAX);
    }
}

/// Returns all free memory to the system, also that between smaller buffers in use. Takes some milliseconds.
pub fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim takes a number, and glibc locks what it changes.
    unsafe {
        libc::malloc_trim(0);
    }
}
