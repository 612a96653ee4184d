#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::nntp_peer(data));
