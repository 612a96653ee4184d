//! incoming.conf: who may send.

use std::fmt::Write as _;
use std::io;

use super::{includes_some, list, networks, plain_name, quoted, read};
use crate::inn::conf::{ConfFile, Group, is_true};
use crate::inn::installation::Installation;
use crate::report::{Fate, Report};

/// Translates it to `[[access]]` tables.
pub fn translate(inn: &Installation, tables: &mut String, report: &mut Report) -> io::Result<()> {
    let file = read(inn, "incoming.conf")?;
    let top = file.groups();
    each(&file, &[&top], tables, report);
    Ok(())
}

/// The peers of a group; what a peer does not say, the groups around it do.
fn each(file: &ConfFile, around: &[&Group], tables: &mut String, report: &mut Report) {
    let Some(group) = around.last() else {
        return;
    };
    for inner in &group.groups {
        let mut inside = around.to_vec();
        inside.push(inner);
        match inner.kind.as_str() {
            "peer" => peer(file, &inside, tables, report),
            _ => each(file, &inside, tables, report),
        }
    }
}

fn peer(file: &ConfFile, around: &[&Group], tables: &mut String, report: &mut Report) {
    let Some(peer) = around.last() else {
        return;
    };
    let value = |key: &str| around.iter().rev().find_map(|group| group.value(key));
    let at = file.at(peer.line);
    if peer.name == "ME" {
        report.add(at, Fate::Kept, "ME: programs on this machine may send");
        tables.push_str("\n[[access]]\nname = \"this-machine\"\nfrom = [\"local\"]\nread = \"*\"\npost = \"*\"\nsend = \"*\"\n");
        return;
    }
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
    let mark = if is_kept { "" } else { "# " };
    let from = match from.is_empty() {
        true => names,
        false => from,
    };
    let send = value("patterns").unwrap_or("*").replace(' ', "");
    let mut table = format!(
        "[[access]]\nname = {}\nfrom = {}\n",
        quoted(&name),
        list(&from)
    );
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
    let _ = write!(tables, "\n# {}:{}\n", file.path.display(), peer.line);
    for line in table.lines() {
        let _ = writeln!(tables, "{mark}{line}");
    }
    let fate = if mark.is_empty() {
        Fate::Kept
    } else {
        Fate::Dropped
    };
    let told = match sends {
        true => format!("{name}: may send {send}"),
        false => format!("{name}: may not send"),
    };
    report.add(at, fate, told);
    match asked {
        Some("password") => report.add(at, Fate::Dropped, format!(
            "{name}: its password: make a user (`broadsheet user add'), write `users' into the table, or use certificates"
        )),
        Some(key) => report.add(at, Fate::Dropped, format!("{name}: `{key}' has no counterpart")),
        None => {}
    }
}
