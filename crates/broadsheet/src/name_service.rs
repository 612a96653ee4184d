//! How a statically linked program looks up the names of hosts.
//!
//! The C library loads a module for each word of `hosts` in `nsswitch.conf` that it has not built in, such as `resolve` and `myhostname` of systemd.
//! A statically linked program can only load modules of the release of the library with which it was linked: those of a later Debian end the process
//! with a signal. `files` (`/etc/hosts`) and `dns` (`/etc/resolv.conf`) are built in; with systemd-resolved, the latter leads to it.

// One function of the C library, which `libc` does not have.
#![allow(unsafe_code)]

/// Looks up names in `/etc/hosts` and by DNS only, if the program is linked statically. To be called before other threads start.
pub fn use_built_in() {
    #[cfg(all(target_feature = "crt-static", target_env = "gnu"))]
    {
        use std::ffi::{c_char, c_int};
        unsafe extern "C" {
            fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
        }
        // SAFETY: both texts end with a zero byte and live for ever; nobody looks up a name meanwhile.
        unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
    }
}
