//! incoming.conf: who may send.

use std::fmt::Write as _;
use std::io;

use settings::quoted;

use super::{fault_of, includes_some, list, networks, plain_name, push_table, read};
use crate::inn::conf::{ConfFile, Group, Pair, is_true};
use crate::inn::installation::Installation;
use crate::report::{Fate, Report};

/// The name of the peer that is this machine.
const ME: &str = "ME";

/// Keys that are translated.
const KNOWN: [&str; 8] = [
    "hostname",
    "patterns",
    "ignore",
    "skip",
    "password",
    "identd",
    "max-connections",
    "streaming",
];

/// The right of programs on this machine to send: the peer `ME`.
#[derive(Debug)]
pub struct OwnSend {
    /// The file.
    pub file: ConfFile,
    /// The line of the peer.
    pub line: usize,
    /// The groups, for `send`.
    pub groups: String,
}

/// Translates it to `[[access]]` tables, but for `ME`: readers.conf says what else clients on this machine may do.
pub fn translate(
    inn: &Installation,
    tables: &mut String,
    report: &mut Report,
) -> io::Result<Option<OwnSend>> {
    let file = read(inn, "incoming.conf")?;
    let top = file.groups();
    let mut own = None;
    report_unknown(&file, &top, report);
    each(&file, &[&top], (tables, &mut own), report);
    Ok(own.map(|(line, groups)| OwnSend { file, line, groups }))
}

/// Keys of INN that change nothing here: notes, and what peers may ask of a server that they feed.
const NEEDLESS: [&str; 7] = [
    "comment",
    "email",
    "hold-time",
    "list",
    "nolist",
    "noresendid",
    "resendid",
];

/// Reports the keys that are not translated, each once.
fn report_unknown(file: &ConfFile, group: &Group, report: &mut Report) {
    let is_unknown = |pair: &&Pair| !KNOWN.contains(&pair.key.as_str());
    for pair in group.pairs.iter().filter(is_unknown) {
        let (fate, why) = match (pair.key.as_str(), is_true(&pair.value)) {
            ("xbatch", true) => (
                Fate::Dropped,
                "there is no XBATCH: let the peer use COMPRESS, or send batches in another way",
            ),
            ("xbatch", false) => (Fate::Unneeded, "there is no XBATCH"),
            (key, _) if NEEDLESS.contains(&key) => (Fate::Unneeded, "there is no such setting"),
            _ => (Fate::Dropped, "there is no such setting"),
        };
        let told = format!("{}: {}: {why}", pair.key, pair.value);
        report.add(file.at(pair.line), fate, told);
    }
    for inner in &group.groups {
        report_unknown(file, inner, report);
    }
}

/// The peers of a group; what a peer does not say, the groups around it do.
fn each(
    file: &ConfFile,
    around: &[&Group],
    (tables, own): (&mut String, &mut Option<(usize, String)>),
    report: &mut Report,
) {
    let Some(group) = around.last() else {
        return;
    };
    for inner in &group.groups {
        let mut inside = around.to_vec();
        inside.push(inner);
        match inner.kind.as_str() {
            "peer" if inner.name == ME => *own = me(file, &inside, report),
            "peer" => peer(file, &inside, tables, report),
            _ => each(file, &inside, (tables, own), report),
        }
    }
}

/// The line of `ME`, and what it may send; the addresses of this machine that `local` does not include are reported.
fn me(file: &ConfFile, around: &[&Group], report: &mut Report) -> Option<(usize, String)> {
    let peer = around.last()?;
    let value = |key: &str| around.iter().rev().find_map(|group| group.value(key));
    let at = file.at(peer.line);
    let (networks, names) = networks(value("hostname").unwrap_or_default());
    let hosts = networks.iter().chain(&names);
    for host in hosts.filter(|host| *host != "local") {
        let why = format!("ME: host `{host}': write it into `from' of a table with `send'");
        report.add(at, Fate::Dropped, why);
    }
    let send = value("patterns").unwrap_or("*").replace(' ', "");
    if value("ignore").is_some_and(is_true) || !includes_some(&send) {
        let why = "ME: programs on this machine may not send";
        report.add(at, Fate::Kept, why);
        return None;
    }
    Some((peer.line, send))
}

fn peer(file: &ConfFile, around: &[&Group], tables: &mut String, report: &mut Report) {
    let Some(peer) = around.last() else {
        return;
    };
    let value = |key: &str| around.iter().rev().find_map(|group| group.value(key));
    let at = file.at(peer.line);
    let name = plain_name(&peer.name);
    if value("skip").is_some_and(is_true) {
        let why = format!("{name}: `skip': INN passes over it, too");
        report.add(at, Fate::Kept, why);
        return;
    }
    let is_ignored = value("ignore").is_some_and(is_true);
    let (from, names) = networks(value("hostname").unwrap_or(&peer.name));
    for host in &names {
        report.add(
            at,
            Fate::Dropped,
            format!("{name}: host `{host}': write its addresses into `from' of the table"),
        );
    }
    // A table without what INN asks for would admit more clients.
    let asked = ["password", "identd"]
        .into_iter()
        .find(|key| value(key).is_some_and(|value| !value.is_empty()));
    let is_kept = !from.is_empty()
        && (is_ignored || asked.is_none() && !names.iter().any(|name| name.starts_with('!')));
    // A comment has all hosts: settings with one that is no network are refused, and the table matches nobody else by mistake.
    let from = if is_kept {
        from
    } else {
        [from, names].concat()
    };
    let send = value("patterns").unwrap_or("*").replace(' ', "");
    let mut table = format!(
        "[[access]]\nname = {}\nfrom = {}\n",
        quoted(&name),
        list(&from)
    );
    match asked.filter(|_| !is_ignored) {
        Some("password") => _ = writeln!(table, "users = {}", list(std::slice::from_ref(&name))),
        Some(key) => _ = writeln!(table, "{key} = {}", quoted(value(key).unwrap_or_default())),
        None => {}
    }
    let sends = !is_ignored && includes_some(&send);
    if sends {
        let _ = writeln!(table, "send = {}", quoted(&send));
    }
    if let Some(count) = value("max-connections").and_then(|text| text.parse::<u32>().ok())
        && count > 0
    {
        let _ = writeln!(table, "connections_max = {count}");
    }
    if value("streaming").is_some_and(|text| !is_true(text)) {
        table.push_str("without = [\"streaming\"]\n");
    }
    let fault = fault_of(&table).filter(|_| is_kept);
    let is_kept = is_kept && fault.is_none();
    push_table(tables, at, &table, !is_kept);
    let fate = if is_kept { Fate::Kept } else { Fate::Dropped };
    let told = match (fault, sends) {
        (Some(fault), _) => format!("{name}: {fault}; its table is a comment"),
        (None, _) if !is_kept => format!("{name}: its table is a comment"),
        (None, true) => format!("{name}: may send {send}"),
        (None, false) => format!("{name}: may not send"),
    };
    report.add(at, fate, told);
    if is_kept && from.iter().any(|network| network == "local") {
        let why = format!(
            "{name}: its address is that of this machine: newsreaders here get no other rights; if it comes through a tunnel, let that come from another address (such as 127.0.0.2)"
        );
        report.add(at, Fate::Changed, why);
    }
    match asked {
        Some("password") => report.add(at, Fate::Dropped, format!(
            "{name}: its password: make a user (`broadsheet user add {name}'), and put the table in force, or use certificates"
        )),
        Some(key) => report.add(at, Fate::Dropped, format!("{name}: `{key}' has no counterpart")),
        None => {}
    }
}
