//! `[[pull]]`: servers where we are a reader, whose articles are fetched.
//!
//! ```toml
//! [[pull]]
//! name = "news.example.net"        # for `broadsheet pull NAME`, and the file of its marks
//! server = "news.example.net:119"  # absent: the name
//! groups = "comp.*,!comp.binaries.*"   # wildmat; only groups in active
//! first = 100                      # articles of a group, the first time
//! schedule = "every 15 min"        # absent: only `broadsheet pull'
//! post = true                      # posts made here go there
//! newnews = true                   # by NEWNEWS, where the server allows it
//! rest_days = 14                   # a group that no reader asks for in so many days rests
//! timeout_seconds = 300            # of silence
//! rate = "1 MB"                    # bytes a second
//! # tls, tls_ca, tls_fingerprint, tls_name, user, password_file, allow_plaintext_login, compress, bind: as in via = { nntp }
//! ```

use groups::When;
use pull::Source;
use pull::source::{FIRST_ARTICLES, SOURCES_MAX, TIMEOUT_SECONDS};

use crate::table_reader::TableReader;
use crate::{nntp_server, value};

/// Reads each `[[pull]]`.
pub fn read(top: &mut TableReader<'_, '_>) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    top.each("pull", "a server to pull from", SOURCES_MAX, |table| {
        let Some(source) = source(table) else { return };
        if sources.iter().any(|before| before.name == source.name) {
            let offset = table.value_offset("name");
            table.fault(
                offset,
                format!("another [[pull]] has the name {}", source.name),
            );
        }
        sources.push(source);
    });
    sources
}

fn source(table: &mut TableReader<'_, '_>) -> Option<Source> {
    let name = table.take("name", |value| {
        let name = String::from_utf8(value::name(value)?);
        let name = name.map_err(|_| "is not UTF-8".to_owned())?;
        // pull/NAME.new and pull/NAME.lock are files of another name.
        match [".new", ".lock"].iter().find(|end| name.ends_with(**end)) {
            Some(end) => Err(format!(
                "ends with {end}, as a file of broadsheet pull; choose another name, and say `server = \"{name}\"'"
            )),
            None => Ok(name),
        }
    });
    let address = if table.has("server") {
        "server"
    } else {
        "name"
    };
    let server = nntp_server::read(table, address);
    let groups = table.take("groups", |value| {
        let groups = value::texts(value)?.join(",");
        if groups.contains(char::is_whitespace) {
            Err("has a blank; put only commas between the patterns, or write a list".to_owned())
        } else {
            Ok(groups)
        }
    });
    let first = table.take("first", |value| value::count(value).map(u64::from));
    let rate = table.take("rate", nntp_server::rate);
    let schedule = table.take("schedule", |value| When::parse(&value::text(value)?));
    let post = table.take("post", value::truth);
    let newnews = table.take("newnews", value::truth);
    let rest_days = table.take("rest_days", |value| match value::count(value)? {
        0 => Err("is at least 1; leave it out so that no group rests".to_owned()),
        days => Ok(days),
    });
    if rest_days.is_some() && newnews == Some(true) {
        let offset = table.value_offset("rest_days");
        let told = "`rest_days' goes by the numbers of groups: remove `newnews'";
        table.fault(offset, told.to_owned());
    }
    let timeout_seconds = table.take("timeout_seconds", |value| match value::count(value)? {
        0 => Err("is at least 1".to_owned()),
        seconds => Ok(u64::from(seconds)),
    });
    table.require(
        "server to pull from",
        &[
            ("name", "say how you call it"),
            ("groups", "say what to fetch, such as \"*\""),
        ],
    );
    Some(Source {
        name: name?,
        server: server?,
        groups: groups?,
        first: first.unwrap_or(FIRST_ARTICLES),
        rate,
        schedule: schedule.unwrap_or_default(),
        post: post.unwrap_or(false),
        newnews: newnews.unwrap_or(false),
        rest_days,
        timeout_seconds: timeout_seconds.unwrap_or(TIMEOUT_SECONDS),
    })
}
