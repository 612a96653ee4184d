//! What `broadsheet check` finds about those who read, post and send over NNTP.

use std::os::unix::fs::MetadataExt;

use access::{Entry, Users};
use groups::{Active, Wildmat};

use crate::directory::NewsDirectory;
use crate::text;
use settings::Settings;

/// Reports a news directory that other users can read: it holds articles of closed groups and the names of users.
pub fn directory(directory: &NewsDirectory) -> Result<String, String> {
    let root = directory.root();
    let data = std::fs::metadata(root).map_err(|error| format!("cannot be read: {error}"))?;
    let mode = data.mode() & 0o7777;
    match mode & 0o007 {
        0 => Ok(format!(
            "mode {mode:04o}: readable only by its owner and its group"
        )),
        _ => Err(format!(
            "all users of this machine can read it (mode {mode:04o}): run `chmod o-rwx {}'",
            root.display()
        )),
    }
}

/// The file of users.
pub fn users(directory: &NewsDirectory) -> Result<String, String> {
    let users = Users::read(directory.root()).map_err(|error| error.to_string())?;
    let data = std::fs::metadata(directory.file(access::users::FILE));
    if data.is_ok_and(|data| data.mode() & 0o077 != 0) {
        return Err("other users can read it: run `chmod 600 users'".to_owned());
    }
    Ok(text::counted(users.iter().count() as u64, "user"))
}

/// The `[[access]]` tables: how many there are, and those that can never count.
pub fn entries(directory: &NewsDirectory, settings: &Settings) -> Result<String, String> {
    let entries = &settings.access.entries;
    if entries.is_empty() {
        return Ok(
            "none: clients on this machine may read, post and send everything, other clients nothing"
                .to_owned(),
        );
    }
    let mut faults = Vec::new();
    faults.extend(hidden(entries).map(|(entry, by)| {
        let whom = match by.from.is_empty() {
            true => "all clients",
            false => "all its clients",
        };
        format!(
            "{} is never used: {}, before it, matches {whom}",
            named(entry),
            by.name
        )
    }));
    if settings.nntp.certificate.is_empty() {
        let wants_tls = |entry: &&Entry| entry.tls || !entry.certificates.is_empty();
        faults.extend(entries.iter().filter(wants_tls).map(|entry| {
            format!(
                "{} never matches: it requires TLS, and nntp.certificate is not set",
                named(entry)
            )
        }));
    }
    if settings.auth.program.trim().is_empty() {
        let users = Users::read(directory.root()).map_err(|error| error.to_string())?;
        for entry in entries {
            let unknown = entry.users.iter();
            let mut unknown = unknown.filter(|user| *user != "*" && users.named(user).is_none());
            if let Some(user) = unknown.next() {
                faults.push(format!(
                    "{} names the user `{user}', who does not exist: see `broadsheet user add'",
                    named(entry)
                ));
            }
        }
    }
    let warnings = warnings(directory, settings);
    if !faults.is_empty() {
        return Err(faults.join("; ") + &warnings);
    }
    let count = |list: fn(&Entry) -> &String| {
        entries
            .iter()
            .filter(|entry| !list(entry).is_empty())
            .count()
    };
    let (read, post, send) = (count(|e| &e.read), count(|e| &e.post), count(|e| &e.send));
    Ok(format!(
        "{}: {read} may read, {post} post, {send} send{warnings}",
        text::counted(entries.len() as u64, "table")
    ))
}

/// The warnings and notes about `[[access]]` tables, each as a line of its own.
fn warnings(directory: &NewsDirectory, settings: &Settings) -> String {
    let entries = &settings.access.entries;
    let mut told = String::new();
    for (at, entry) in entries.iter().enumerate() {
        let mut earlier = entries.iter().take(at);
        if let Some(other) = earlier.find(|earlier| earlier.name == entry.name) {
            let (entry, other) = (named(entry), named(other));
            told.push_str(&format!(
                "\n    warning: {entry} has the same name as {other}: the log and the metrics do not tell them apart"
            ));
        }
    }
    if settings.nntp.certificate.is_empty() && !settings.nntp.plaintext_passwords {
        let by_program = match settings.auth.program.trim().is_empty() {
            true => "",
            false => " (and users of auth.program cannot use it: no login works for them)",
        };
        for entry in entries.iter().filter(|entry| !entry.users.is_empty()) {
            told.push_str(&format!(
                "\n    warning: {} requires a login, and without TLS the server accepts only SCRAM-SHA-256, which most newsreaders do not have{by_program}: set nntp.certificate",
                named(entry)
            ));
        }
    }
    for note in entries.iter().flat_map(idle_keys) {
        told.push_str(&format!("\n    note: {note}"));
    }
    if let Ok(active) = directory.active() {
        for what in entries.iter().flat_map(|entry| fruitless(entry, &active)) {
            told.push_str(&format!("\n    warning: {what}"));
        }
    }
    told
}

/// The tables that never match, since an earlier one matches all their clients: each with the first such one.
pub fn hidden(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Entry)> {
    entries.iter().enumerate().filter_map(|(at, entry)| {
        let mut earlier = entries.iter().take(at);
        let by = earlier.find(|earlier| hides(earlier, entry))?;
        Some((entry, by))
    })
}

fn hides(earlier: &Entry, later: &Entry) -> bool {
    let has_conditions =
        !earlier.users.is_empty() || !earlier.certificates.is_empty() || earlier.tls;
    if has_conditions {
        return false;
    }
    let is_included = |network| earlier.from.iter().any(|other| other.includes(network));
    earlier.from.is_empty() || !later.from.is_empty() && later.from.iter().all(is_included)
}

/// Keys of a table that change nothing, since it does not allow what they are about.
fn idle_keys(entry: &Entry) -> Vec<String> {
    let limits = &entry.limits;
    let keys = [
        ("approve", entry.approve, "post", &entry.post),
        ("headfeed", entry.headfeed, "send", &entry.send),
        (
            "posts_per_minute_max",
            limits.posts_per_minute_max.is_some(),
            "post",
            &entry.post,
        ),
        (
            "articles_per_minute_max",
            limits.articles_per_minute_max.is_some(),
            "send",
            &entry.send,
        ),
    ];
    let idle = keys
        .into_iter()
        .filter(|(_, is_said, _, groups)| *is_said && groups.is_empty());
    idle.map(|(key, _, right, _)| {
        format!(
            "{} has {key} without `{right}', so {key} has no effect",
            named(entry)
        )
    })
    .collect()
}

/// Patterns of a table that match no group.
fn fruitless(entry: &Entry, active: &Active) -> Vec<String> {
    let keys = [
        ("read", &entry.read),
        ("post", &entry.post),
        ("send", &entry.send),
    ];
    let lists = keys.into_iter().filter(|(_, list)| !list.is_empty());
    let lists = lists.filter(|(_, list)| {
        let wildmat = Wildmat::parse(list.as_bytes());
        !active.is_empty() && !active.ids().any(|id| wildmat.matches(active.name(id)))
    });
    lists
        .map(|(key, list)| {
            format!(
                "{}: {key} = \"{list}\" matches no group of active; these are wildmats: \"*\" is all groups, \"comp.*\" those of comp",
                named(entry)
            )
        })
        .collect()
}

fn named(entry: &Entry) -> String {
    match &entry.place {
        Some(place) => format!("{place}: {}", entry.name),
        None => entry.name.clone(),
    }
}
