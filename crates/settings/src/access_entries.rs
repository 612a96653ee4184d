//! `[[access]]`: readers, posters and peers in one list; the first entry that fits a client counts.
//!
//! ```toml
//! [[access]]
//! name = "news.example.net"                # in logs and metrics; of a peer its name in Path
//! from = ["192.0.2.0/24", "2001:db8::/32"] # networks, or "local"; not given: from anywhere
//! users = ["anna", "*"]                    # clients that have logged in; "*": with any name
//! certificates = ["sha256:..."]            # of the client in TLS
//! tls = true                               # only over TLS
//! read = "*,!local.private.*"              # wildmats, as INN has them; not given: nothing
//! post = "comp.*"                          # all groups of the article must fit
//! send = "*,@local.*"                      # a peer: one group must fit, and none that `@' poisons
//! headfeed = true                          # a peer that may send articles without their bodies (headers_only)
//! approve = true                           # may post with Approved
//! without = ["newnews", "compress"]        # what is switched off
//! size_max = "1 MB"                        # of an article posted or sent
//! connections_max = 10                     # of this entry
//! connections_per_address_max = 2
//! posts_per_minute_max = 5                 # of a user, or of an address
//! articles_per_minute_max = 60000          # sent by a peer
//! bytes_per_second_max = "1 MB"            # sent to a reader, on a connection
//! own_host = "news-in.example.org"         # at which a peer reaches us, for `peer show`
//! ```

use access::tables::{ENTRIES_MAX, LIST_MAX};
use access::{Entry, Feature, Limits, Network, Tables, fingerprint};
use toml::de::DeValue;

use crate::table_reader::TableReader;
use crate::value;

/// Reads each `[[access]]`.
pub fn read(top: &mut TableReader<'_, '_>) -> Tables {
    let mut entries = Vec::new();
    top.each("access", "an entry of access", ENTRIES_MAX, |table| {
        entries.push(entry(table));
    });
    Tables { entries }
}

fn entry(table: &mut TableReader<'_, '_>) -> Entry {
    let name = table.take("name", value::name).unwrap_or_default();
    // Only `peer show` wants it ([`crate::own_host_for`]).
    let _ = table.take("own_host", value::host);
    table.require(
        "entry",
        &[(
            "name",
            "say one for the logs, of a peer the name it has in Path",
        )],
    );
    Entry {
        place: Some(table.place(table.offset)),
        name: String::from_utf8_lossy(&name).into_owned(),
        from: list(table, "from", Network::parse),
        users: list(table, "users", |name| match name {
            "*" => Ok(name.to_owned()),
            // Who excludes a user by `!NAME' would let in all others.
            name if name.starts_with(['!', '@']) || name.contains(['*', '?', '[', '\\']) => {
                Err("is a pattern: write names, or \"*\" for all users".to_owned())
            }
            name => access::users::check_name(name).map(|()| name.to_owned()),
        }),
        certificates: list(table, "certificates", fingerprint),
        tls: table.take("tls", value::truth).unwrap_or_default(),
        read: wildmat(table, "read", false),
        post: wildmat(table, "post", true),
        send: wildmat(table, "send", true),
        headfeed: table.take("headfeed", value::truth).unwrap_or_default(),
        approve: table.take("approve", value::truth).unwrap_or_default(),
        without: list(table, "without", Feature::parse),
        limits: limits(table),
    }
}

fn limits(table: &mut TableReader<'_, '_>) -> Limits {
    let mut count = |key, what: &str| {
        table.take(key, |value| match value::count(value)? {
            0 => Err(format!(
                "is 0, which would refuse every {what}; leave it out for no limit"
            )),
            count => Ok(count),
        })
    };
    let posts = "post (for that, leave out `post')";
    let articles = "article (for that, leave out `send')";
    let connections_max = count("connections_max", "connection");
    let connections_per_address_max = count("connections_per_address_max", "connection");
    let posts_per_minute_max = count("posts_per_minute_max", posts);
    let articles_per_minute_max = count("articles_per_minute_max", articles);
    let bytes = |value: &DeValue<'_>| match value::size(value)? {
        0 => Err("is 0; leave it out for no limit".to_owned()),
        bytes => Ok(bytes),
    };
    Limits {
        size_max: table.take("size_max", bytes),
        connections_max,
        connections_per_address_max,
        posts_per_minute_max,
        articles_per_minute_max,
        bytes_per_second_max: table.take("bytes_per_second_max", bytes),
    }
}

/// A list of texts, or one text; `parse` reads each.
fn list<T>(
    table: &mut TableReader<'_, '_>,
    key: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let read = |value: &DeValue<'_>| {
        let texts = value::texts(value)?;
        match texts.len() {
            0 => Err("is an empty list, which would match every client; leave it out".to_owned()),
            many if many > LIST_MAX => Err(format!("has more than {LIST_MAX} items")),
            _ => {
                let told = |text: &String| parse(text).map_err(|what| format!("`{text}' {what}"));
                texts.iter().map(told).collect()
            }
        }
    };
    table.take(key, read).unwrap_or_default()
}

/// A wildmat, or a list of them; empty where there is none.
fn wildmat(table: &mut TableReader<'_, '_>, key: &'static str, takes_poison: bool) -> String {
    let read = |value: &DeValue<'_>| {
        let list = value::texts(value)?.join(",");
        let mut parts = list.split(',');
        if let Some(part) = parts.find(|part| part.trim() != *part || part.is_empty()) {
            return Err(format!(
                "has blanks or nothing in `{part}'; put only commas between the patterns, or write a list"
            ));
        }
        if !takes_poison && list.split(',').any(|part| part.starts_with('@')) {
            return Err("has `@', which has a meaning in post and send only; say `!'".to_owned());
        }
        if list.split(',').all(|part| part.starts_with(['!', '@'])) {
            return Err("only excludes, so that nothing matches; begin with \"*,\"".to_owned());
        }
        Ok(list)
    };
    table.take(key, read).unwrap_or_default()
}
