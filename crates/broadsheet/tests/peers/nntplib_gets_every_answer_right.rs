//! Python's nntplib: each of its methods against our server.

use crate::program;

use std::path::Path;

use program::clients::{Server, at_home};
use program::peers;

#[test]
fn all_methods() {
    let server = Server::start();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/nntplib_session.py");
    let fetched = peers::unpacked().join("python");
    let told = at_home(&server.program, Path::new("python3"))
        .env("PYTHONPATH", fetched)
        .arg("-Wignore")
        .arg(script)
        .args(["127.0.0.1", &server.port])
        .output()
        .expect("timeout is there");
    let said = String::from_utf8_lossy(&told.stderr);
    match told.status.code() {
        Some(127) => println!("skipped: nntplib (no python3 here)"),
        _ if said.contains("skipped:") => println!("{said}"),
        status => assert_eq!(status, Some(0), "{said}"),
    }
}
