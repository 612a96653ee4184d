#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::path_and_xref(data));
