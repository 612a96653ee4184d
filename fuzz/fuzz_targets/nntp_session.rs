#![no_main]

#[allow(dead_code, reason = "each target uses one of them")]
#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::nntp_session(data));
