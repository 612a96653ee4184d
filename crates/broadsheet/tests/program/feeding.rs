//! A news directory that feeds a peer by NNTP.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::Program;
use super::articles::{batch, many};

/// A news directory with one group and the site `peer` at this address; `more` stands beside it in `via`.
pub fn feeding(address: &str, more: &str) -> Program {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    add_peer(&program, address, more);
    program
}

/// Adds the site `peer` at this address to the settings.
pub fn add_peer(program: &Program, address: &str, more: &str) {
    let site = format!(
        "\n[[site]]\nname = \"peer\"\ngroups = \"comp\"\nvia = {{ nntp = \"{address}\"{more} }}\n"
    );
    let settings = program.read("news/broadsheet.toml") + &site;
    program.write("news/broadsheet.toml", settings.as_bytes());
}

/// Files articles with bodies of this size.
pub fn file(program: &Program, prefix: &str, count: usize, bytes: usize) {
    let told = program.rnews(&batch(&many(prefix, count, "comp.test", bytes)));
    assert_eq!(told.count("accepted") as usize, count, "{told:?}");
}

/// What `feed list` tells of the site.
pub fn listed(program: &Program) -> serde_json::Value {
    program
        .run(&["feed", "list", "--dir", "news", "--json"])
        .summary()
}

/// The number of articles that wait for it.
pub fn waiting(program: &Program) -> u64 {
    listed(program)["articles"].as_u64().unwrap()
}
