//! readers.conf: who may read and post. In INN the last group that matches counts, here the first table.

use std::fmt::Write as _;
use std::io;

use groups::Wildmat;
use settings::Settings;

use super::{list, networks, place, plain_name, quoted, read};
use crate::inn::conf::{ConfFile, Group, Pair};
use crate::inn::installation::Installation;
use crate::report::{Fate, Report};

/// Keys that are translated.
const KNOWN: [&str; 12] = [
    "hosts",
    "default",
    "auth",
    "users",
    "newsgroups",
    "read",
    "post",
    "access",
    "key",
    "require_encryption",
    "require_ssl",
    "localmaxartsize",
];

/// Translates it to `[[access]]` tables and `auth.program`.
pub fn translate(
    inn: &Installation,
    settings: &mut Settings,
    tables: &mut String,
    report: &mut Report,
) -> io::Result<()> {
    let file = read(inn, "readers.conf")?;
    let top = file.groups();
    let (mut auths, mut accesses) = (Vec::new(), Vec::new());
    collect(&top, &top, &mut auths, &mut accesses);
    for access in accesses.iter().rev() {
        let users = access.value("users").unwrap_or("*");
        let wanted = Wildmat::parse(users.as_bytes());
        let fits = |auth: &&Group| {
            let is_same_key = auth.value("key") == access.value("key");
            let default = auth
                .value("default")
                .is_some_and(|name| wanted.matches(name.as_bytes()));
            is_same_key && (default || has_program(auth))
        };
        let mut is_used = false;
        for auth in auths.iter().rev().filter(|auth| fits(auth)) {
            is_used = true;
            entry(&file, (auth, access), &wanted, settings, tables, report);
        }
        if !is_used {
            let why = format!(
                "access \"{}\": no auth group gives a user that matches `{users}'",
                access.name
            );
            report.add(file.at(access.line), Fate::Dropped, why);
        }
    }
    for group in auths.iter().chain(&accesses) {
        for pair in group
            .pairs
            .iter()
            .filter(|pair| !KNOWN.contains(&pair.key.as_str()))
        {
            report.add(
                place(&file, pair),
                Fate::Dropped,
                format!("{}: {}", pair.key, pair.value),
            );
        }
    }
    Ok(())
}

/// The auth and access groups, in order; each has the keys of the groups around it, too.
fn collect(group: &Group, around: &Group, auths: &mut Vec<Group>, accesses: &mut Vec<Group>) {
    for inner in &group.groups {
        let mut whole = inner.clone();
        let lacks = |pair: &&Pair| inner.value(&pair.key).is_none();
        whole
            .pairs
            .extend(around.pairs.iter().filter(lacks).cloned());
        match inner.kind.as_str() {
            "auth" => auths.push(whole.clone()),
            "access" => accesses.push(whole.clone()),
            _ => {}
        }
        collect(inner, &whole, auths, accesses);
    }
}

fn has_program(auth: &Group) -> bool {
    auth.value("auth")
        .is_some_and(|program| !program.is_empty())
        || auth
            .groups
            .iter()
            .any(|inner| inner.kind == "auth" && inner.value("program").is_some())
}

fn entry(
    file: &ConfFile,
    (auth, access): (&Group, &Group),
    wanted: &Wildmat,
    settings: &mut Settings,
    tables: &mut String,
    report: &mut Report,
) {
    let hosts = auth.value("hosts").unwrap_or("*");
    let is_any = hosts.split(',').any(|host| host.trim() == "*");
    let (from, names) = networks(&hosts.replace('*', ""));
    let at = file.at(auth.line);
    if !is_any {
        for host in names.iter().filter(|name| !name.is_empty()) {
            let why = format!(
                "auth \"{}\": host `{host}': write addresses or networks into `from'",
                auth.name
            );
            report.add(at, Fate::Dropped, why);
        }
        if from.is_empty() {
            return;
        }
    }
    let mut table = String::from("[[access]]\n");
    let _ = writeln!(table, "name = {}", quoted(&plain_name(&access.name)));
    if !is_any {
        let _ = writeln!(table, "from = {}", list(&from));
    }
    let default = auth
        .value("default")
        .is_some_and(|name| wanted.matches(name.as_bytes()));
    if !default {
        table.push_str("users = [\"*\"]\n");
        if let Some(program) = auth.value("auth")
            && settings.auth.program.is_empty()
        {
            settings.auth.program = program.to_owned();
            let text = format!("auth.program = {}: give its full path", quoted(program));
            report.add(at, Fate::Changed, text);
        }
    }
    if access.is_true("require_ssl")
        || access.is_true("require_encryption")
        || auth.is_true("require_ssl")
    {
        table.push_str("tls = true\n");
    }
    let letters = access.value("access").unwrap_or("RP");
    let both = access.value("newsgroups");
    let rights = [("read", 'R'), ("post", 'P')];
    for (key, letter) in rights {
        let groups = access
            .value(key)
            .or(both.filter(|_| letters.contains(letter)));
        if let Some(groups) = groups.filter(|groups| !groups.is_empty()) {
            let groups = groups.replace(' ', "");
            let groups = if key == "read" {
                groups.replace('@', "!")
            } else {
                groups
            };
            let _ = writeln!(table, "{key} = {}", quoted(&groups));
        }
    }
    if letters.contains('A') {
        table.push_str("approve = true\n");
    }
    if letters.contains('I') {
        table.push_str("send = \"*\"\n");
    }
    if let Some(bytes) = access
        .value("localmaxartsize")
        .and_then(|text| text.parse::<u64>().ok())
        && bytes > 0
    {
        let _ = writeln!(table, "size_max = {bytes}");
    }
    let _ = write!(
        tables,
        "\n# {}:{}\n{table}",
        file.path.display(),
        access.line
    );
    let (fate, more) = match letters.chars().find(|letter| "LB".contains(*letter)) {
        Some(letter) => (
            Fate::Changed,
            format!("; `{letter}' of access has no counterpart"),
        ),
        None => (Fate::Kept, String::new()),
    };
    report.add(
        file.at(access.line),
        fate,
        format!(
            "access \"{}\" for auth \"{}\"{more}",
            access.name, auth.name
        ),
    );
}
