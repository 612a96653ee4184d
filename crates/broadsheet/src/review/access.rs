//! The reviews of the permissions of clients and of other users of the machine: `[[access]]`, the file of users, the mode of the news directory.

use std::os::unix::fs::MetadataExt;

use access::{Entry, Users};
use groups::{Active, Wildmat};

use settings::Finding;

use super::{Content, Context, Errors, counted};

/// A news directory that other users can read is an error: it holds articles of closed groups and the names of users.
pub fn news_directory(on: &Context<'_>) -> Result<Content, Errors> {
    let root = on.root();
    let data = std::fs::metadata(root).map_err(|error| format!("cannot be read: {error}"))?;
    let mode = data.mode() & 0o7777;
    if mode & 0o007 == 0 {
        return Ok(Content::new(format!(
            "mode {mode:04o}: readable only by its owner and its group"
        )));
    }
    let error = Finding::error(format!(
        "all users of this machine can read it (mode {mode:04o})"
    ));
    let remedy = format!("run `chmod o-rwx {}'", root.display());
    Err(error.remedy(':', remedy).into())
}

/// The file of users.
pub fn users(on: &Context<'_>) -> Result<Content, Errors> {
    let users = Users::read(on.root()).map_err(|error| error.to_string())?;
    let data = std::fs::metadata(on.directory.file(access::users::FILE));
    if data.is_ok_and(|data| data.mode() & 0o077 != 0) {
        let error = Finding::error("other users can read it");
        return Err(error.remedy(':', "run `chmod 600 users'").into());
    }
    Ok(Content::new(counted(users.iter().count(), "user")))
}

/// The `[[access]]` tables: how many there are, and those that never match.
pub fn entries(on: &Context<'_>) -> Result<Content, Errors> {
    let entries = &on.settings().access.entries;
    if entries.is_empty() {
        return Ok(Content::new(
            "none: clients on this machine may read, post and send everything, other clients nothing",
        ));
    }
    let errors = errors(on)?;
    if !errors.is_empty() {
        return Err(Errors {
            findings: errors.into_iter().chain(warnings(on)).collect(),
            unlisted: 0,
            separator: "; ",
        });
    }
    let count = |list: fn(&Entry) -> &String| {
        let allowing = entries.iter().filter(|entry| !list(entry).is_empty());
        allowing.count()
    };
    let (read, post, send) = (count(|e| &e.read), count(|e| &e.post), count(|e| &e.send));
    let tables = counted(entries.len(), "table");
    let summary = format!("{tables}: {read} may read, {post} post, {send} send");
    Ok(Content::new(summary).with(warnings(on)))
}

/// The tables that never match. Fails if the file of users cannot be read.
fn errors(on: &Context<'_>) -> Result<Vec<Finding>, Errors> {
    let settings = on.settings();
    let entries = &settings.access.entries;
    let mut errors = Vec::new();
    errors.extend(hidden(entries).map(|(entry, by)| {
        let whom = if by.from.is_empty() {
            "all clients"
        } else {
            "all its clients"
        };
        let (entry, by) = (named(entry), &by.name);
        Finding::error(format!(
            "{entry} is never used: {by}, before it, matches {whom}"
        ))
    }));
    if settings.nntp.certificate.is_empty() {
        let wants_tls = |entry: &&Entry| entry.tls || !entry.certificates.is_empty();
        errors.extend(entries.iter().filter(wants_tls).map(|entry| {
            Finding::error(format!(
                "{} never matches: it requires TLS, and nntp.certificate is not set",
                named(entry)
            ))
        }));
    }
    if settings.auth.program.trim().is_empty() {
        let users = Users::read(on.root()).map_err(|error| error.to_string())?;
        errors.extend(entries.iter().filter_map(|entry| {
            let mut names = entry.users.iter();
            let user = names.find(|user| *user != "*" && users.named(user).is_none())?;
            let error = Finding::error(format!(
                "{} names the user `{user}', who does not exist",
                named(entry)
            ));
            Some(error.remedy(':', "see `broadsheet user add'"))
        }));
    }
    Ok(errors)
}

/// The warnings and notes about `[[access]]` tables.
fn warnings(on: &Context<'_>) -> Vec<Finding> {
    let settings = on.settings();
    let entries = &settings.access.entries;
    let mut findings = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let mut earlier = entries.iter().take(at);
        if let Some(other) = earlier.find(|earlier| earlier.name == entry.name) {
            let (entry, other) = (named(entry), named(other));
            findings.push(Finding::warning(format!(
                "{entry} has the same name as {other}: the log and the metrics do not tell them apart"
            )));
        }
    }
    if settings.nntp.certificate.is_empty() && !settings.nntp.plaintext_passwords {
        let by_program = if settings.auth.program.trim().is_empty() {
            ""
        } else {
            " (and users of auth.program cannot use it: no login works for them)"
        };
        let with_login = entries.iter().filter(|entry| !entry.users.is_empty());
        findings.extend(with_login.map(|entry| {
            let entry = named(entry);
            Finding::warning(format!(
                "{entry} requires a login, and without TLS the server accepts only SCRAM-SHA-256, which most newsreaders do not have{by_program}"
            ))
            .remedy(':', "set nntp.certificate")
        }));
    }
    findings.extend(entries.iter().flat_map(idle_keys));
    if let Ok(active) = on.directory.active() {
        let idle = entries
            .iter()
            .flat_map(|entry| idle_patterns(entry, &active));
        findings.extend(idle);
    }
    findings
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

/// A key of an `[[access]]` table that needs a permission.
struct Dependent<'a> {
    key: &'static str,
    is_set: bool,
    /// The key of the permission, and its groups.
    permission: &'static str,
    groups: &'a str,
}

/// Notes of keys of a table that have no effect, since it does not give the permission that they need.
fn idle_keys(entry: &Entry) -> Vec<Finding> {
    let limits = &entry.limits;
    let post = |key, is_set| Dependent {
        key,
        is_set,
        permission: "post",
        groups: &entry.post,
    };
    let send = |key, is_set| Dependent {
        key,
        is_set,
        permission: "send",
        groups: &entry.send,
    };
    let keys = [
        post("approve", entry.approve),
        send("headfeed", entry.headfeed),
        post(
            "posts_per_minute_max",
            limits.posts_per_minute_max.is_some(),
        ),
        send(
            "articles_per_minute_max",
            limits.articles_per_minute_max.is_some(),
        ),
    ];
    let idle = keys
        .iter()
        .filter(|key| key.is_set && key.groups.is_empty());
    idle.map(
        |Dependent {
             key, permission, ..
         }| {
            let entry = named(entry);
            Finding::note(format!(
                "{entry} has {key} without `{permission}', so {key} has no effect"
            ))
        },
    )
    .collect()
}

/// Warnings of patterns of a table that match no group.
fn idle_patterns(entry: &Entry, active: &Active) -> Vec<Finding> {
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
            Finding::warning(format!("{key} = \"{list}\" matches no group of active"))
                .at(named(entry))
                .remedy(
                    ';',
                    "these are wildmats: \"*\" is all groups, \"comp.*\" those of comp",
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
