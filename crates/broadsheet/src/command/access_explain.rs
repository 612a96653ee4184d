//! `broadsheet access explain`

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::IpAddr;

use access::fingerprint;
use access::{Access, ClientIdentity, Entry, Feature, Grant, Rights};
use groups::{Active, Destination, Sender};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["access", "explain"],
    also: &[],
    summary: "show the permissions of a client, and the entry that sets them",
    about: "\
Compares a client with the [[access]] tables of broadsheet.toml, in the order that the server does:
prints why an entry does not match, and the permissions of the first one that does. The settings are
those in the file; the daemon has them after a `reload'.

  broadsheet access explain --from 192.0.2.7
  broadsheet access explain --from 2001:db8::7 --user anna --tls",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "from",
            "Address of the client, or `local' for a pipe on this machine. Required.",
        )
        .value("ADDR"),
        Flag::new("user", "Name that the client has logged in with.").value("NAME"),
        Flag::new(
            "certificate",
            "Fingerprint of the client's TLS certificate: `sha256:' and 64 hexadecimal digits. Implies --tls.",
        )
        .value("FINGERPRINT"),
        Flag::new("tls", "The client uses TLS."),
        Flag::new("group", "Show the permissions for this group as well.").value("GROUP"),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "the client has no permissions",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let text = |flag| given.value(flag).map(|value| value.to_string_lossy());
    let address = match text("from").as_deref() {
        None => {
            return Err(given
                .usage("the address of the client is missing: add --from ADDR")
                .into());
        }
        Some("local") => None,
        Some(address) => Some(address.parse::<IpAddr>().map_err(|_| {
            given.usage(format!(
                "--from needs an address or `local', not `{address}'"
            ))
        })?),
    };
    let certificate = text("certificate").map(|one| {
        fingerprint(&one).map_err(|what| given.usage(format!("--certificate: `{one}' {what}")))
    });
    let certificate = certificate.transpose()?;
    let user = text("user");
    let visitor = ClientIdentity {
        address,
        user: user.as_deref(),
        certificate,
        is_secure: certificate.is_some() || given.has("tls"),
    };
    let settings = directory.settings()?.settings;
    let access = settings.access(directory.root());
    let rights = access.rights(&visitor);
    let active = directory.active()?;
    if let Some(group) = text("group")
        && active.find(group.as_bytes()).is_none()
    {
        eprintln!("broadsheet: note: active has no group `{group}'");
    }
    if let Some(user) = &user
        && settings.auth.program.trim().is_empty()
        && let Ok(users) = access::Users::read(directory.root())
        && users.named(user).is_none()
    {
        eprintln!("broadsheet: note: there is no user `{user}', so no client can log in as it");
    }
    let found = Found {
        active,
        access: &access,
        visitor: &visitor,
        rights: &rights,
        off_for_all: settings.nntp.switched_off(),
        group: text("group"),
    };
    given.print(&found, out)?;
    Ok(match rights.is_nothing() {
        true => Status::NO,
        false => Status::OK,
    })
}

/// What was found out about a client.
struct Found<'a> {
    active: Active,
    access: &'a Access,
    visitor: &'a ClientIdentity<'a>,
    rights: &'a Rights,
    /// What `[nntp] without` switches off.
    off_for_all: Vec<Feature>,
    /// A group to tell of, too.
    group: Option<Cow<'a, str>>,
}

impl Answer for Found<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (access, visitor) = (self.access, self.visitor);
        for (entry, misfit) in access.explain(visitor) {
            let (name, place) = (&entry.name, place(entry));
            match misfit {
                Some(misfit) => {
                    writeln!(out, "{name} ({place}) does not match: the client {misfit}")?
                }
                None => {
                    writeln!(out, "{name} ({place}) matches")?;
                    break;
                }
            }
        }
        if access.explain(visitor).all(|(_, misfit)| misfit.is_some()) {
            writeln!(out, "no entry matches")?;
        }
        for (what, told) in self.told() {
            writeln!(out, "  {what}: {told}")?;
        }
        if let Some(group) = &self.group {
            let word = |may| if may { "may" } else { "may not" };
            let (reads, posts, sends) = self.in_group(group);
            writeln!(
                out,
                "  {group}: the client {} read it, {} post to it, {} send it",
                word(reads),
                word(posts),
                word(sends)
            )?;
        }
        if self.needs_tls_to_log_in() {
            writeln!(
                out,
                "the client may log in after STARTTLS; another entry can match it then"
            )?;
        }
        match (self.can_log_in(), access.takes_passwords(visitor)) {
            (true, true) => writeln!(
                out,
                "the client may log in; another entry can match it then"
            ),
            (true, false) => writeln!(
                out,
                "the client may log in; another entry can match it then. Passwords are accepted only over TLS"
            ),
            (false, _) => Ok(()),
        }
    }

    fn json(&self) -> Value {
        let (access, visitor, rights) = (self.access, self.visitor, self.rights);
        let mut passed = Vec::new();
        let mut fits = None;
        for (entry, misfit) in access.explain(visitor) {
            match misfit {
                Some(misfit) => passed.push(json!({
                    "entry": entry.name,
                    "place": place(entry),
                    "why": misfit.to_string(),
                })),
                None => {
                    fits = Some(json!({ "entry": entry.name, "place": place(entry) }));
                    break;
                }
            }
        }
        let entry = rights.entry();
        let limits = rights.limits();
        let mut told = json!({
            "fits": fits,
            "passed": passed,
            "read": entry.read,
            "post": entry.post,
            "send": entry.send,
            "approve": rights.may_approve(),
            "can_log_in": self.can_log_in() || self.needs_tls_to_log_in(),
            "login_needs_tls": self.needs_tls_to_log_in(),
            "takes_passwords": access.takes_passwords(visitor),
            "without": self.switched_off(),
            "size_max": limits.size_max,
            "connections_max": limits.connections_max,
            "connections_per_address_max": limits.connections_per_address_max,
            "posts_per_minute_max": limits.posts_per_minute_max,
            "articles_per_minute_max": limits.articles_per_minute_max,
            "bytes_per_second_max": limits.bytes_per_second_max,
        });
        if let (Some(group), Some(object)) = (&self.group, told.as_object_mut()) {
            let (reads, posts, sends) = self.in_group(group);
            object.insert(
                "group".to_owned(),
                json!({ "group": group, "read": reads, "post": posts, "send": sends }),
            );
        }
        told
    }
}

impl Found<'_> {
    /// Whether he may read a group, post to it, and send it; aliases are followed for the last two.
    fn in_group(&self, group: &str) -> (bool, bool, bool) {
        let name = group.as_bytes();
        let destination = [Destination::of(name, &self.active)];
        let posts = Grant::Post(self.rights.clone()).may_file_in(&destination);
        let sends = Grant::Send(self.rights.clone()).may_file_in(&destination);
        (self.rights.may_read(name), posts, sends)
    }

    /// What he may do, in words.
    fn told(&self) -> Vec<(&'static str, String)> {
        let rights = self.rights;
        let groups = |list: &str| match list {
            "" => "nothing".to_owned(),
            list => list.to_owned(),
        };
        let entry = rights.entry();
        let mut told = vec![
            ("reads", groups(&entry.read)),
            ("posts to", groups(&entry.post)),
            ("sends", groups(&entry.send)),
        ];
        if rights.may_approve() {
            told.push(("may post with", "Approved".to_owned()));
        }
        let without = self.switched_off();
        if !without.is_empty() {
            told.push(("without", without.join(", ")));
        }
        let limits = rights.limits();
        let count = |number: Option<u32>| number.map(|number| number.to_string());
        let each = [
            ("an article at most", limits.size_max.map(text::bytes)),
            ("connections at most", count(limits.connections_max)),
            (
                "connections of an address at most",
                count(limits.connections_per_address_max),
            ),
            ("posts a minute at most", count(limits.posts_per_minute_max)),
            (
                "articles a minute at most",
                count(limits.articles_per_minute_max),
            ),
            (
                "bytes a second at most",
                limits.bytes_per_second_max.map(text::bytes),
            ),
        ];
        let given = each.into_iter();
        told.extend(given.filter_map(|(what, most)| Some((what, most?))));
        told
    }

    fn switched_off(&self) -> Vec<&'static str> {
        let is_off = |one: &Feature| !self.rights.has(*one) || self.off_for_all.contains(one);
        let off = Feature::ALL.iter().filter(|(_, one)| is_off(one));
        off.map(|(word, _)| *word).collect()
    }

    fn needs_tls_to_log_in(&self) -> bool {
        self.rights.needs_tls_to_log_in() && !self.off_for_all.contains(&Feature::AuthInfo)
    }

    fn can_log_in(&self) -> bool {
        self.rights.can_log_in() && !self.off_for_all.contains(&Feature::AuthInfo)
    }
}

fn place(entry: &Entry) -> String {
    match &entry.place {
        Some(place) => place.to_string(),
        None => "default without [[access]]".to_owned(),
    }
}
