//! readers.conf: who may read and post. In INN the last group that matches counts, here the first table.

use std::fmt::Write as _;
use std::io;

use access::tables::LIST_MAX;
use groups::Wildmat;
use settings::Settings;

use super::{includes_some, list, networks, place, plain_name, quoted, read};
use crate::inn::conf::{ConfFile, Group, Pair};
use crate::inn::installation::Installation;
use crate::report::{Fate, Report};

/// Keys that are translated.
const KNOWN: [&str; 13] = [
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
    "reject_with",
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
    let fits = |auth: &Group, access: &Group| {
        auth.value("key") == access.value("key") && (is_default(auth, access) || has_program(auth))
    };
    // A client belongs to the last auth group that matches it, and has the rights of the last access group that matches its user.
    for auth in auths.iter().rev() {
        for access in accesses.iter().rev().filter(|access| fits(auth, access)) {
            entry(&file, (auth, access), settings, tables, report);
        }
        let has_rights = |access| fits(auth, access) && is_default(auth, access);
        if auth.value("default").is_some() && !accesses.iter().any(has_rights) {
            refusal(&file, auth, tables, report);
        }
    }
    for access in &accesses {
        if !auths.iter().any(|auth| fits(auth, access)) {
            let users = access.value("users").unwrap_or("*");
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

/// Whether clients that have not logged in have a user of an access group.
fn is_default(auth: &Group, access: &Group) -> bool {
    let wanted = Wildmat::parse(access.value("users").unwrap_or("*").as_bytes());
    let default = auth.value("default");
    default.is_some_and(|name| wanted.matches(name.as_bytes()))
}

/// Clients of an auth group.
struct Hosts {
    /// Their networks; `None`: any.
    from: Option<Vec<String>>,
    /// Hosts that are no networks.
    names: Vec<String>,
    /// The reason why a table would match more clients than the group.
    fault: Option<String>,
}

impl Hosts {
    fn of(auth: &Group) -> Hosts {
        let hosts = auth.value("hosts").unwrap_or("*");
        let is_any = hosts.split(',').any(|host| host.trim() == "*");
        let (from, mut names) = networks(hosts);
        names.retain(|name| name != "*");
        let excluded = names.iter().find(|name| name.starts_with('!'));
        let fault = match (excluded, auth.value("localaddress")) {
            (Some(host), _) => Some(format!("`from' cannot exclude a host (`{host}')")),
            (None, Some(_)) => Some("`localaddress' has no counterpart".to_owned()),
            (None, None) => None,
        };
        Hosts {
            from: (!is_any).then_some(from),
            names: if is_any { Vec::new() } else { names },
            fault,
        }
    }
}

/// The users of an access group, for `users`, of an auth group that asks for a login.
///
/// # Errors
/// The pattern that `users` cannot express.
fn users_of(auth: &Group, access: &Group) -> Result<Vec<String>, String> {
    let patterns = access.value("users").unwrap_or("*").split(',');
    let patterns = patterns.map(str::trim).filter(|name| !name.is_empty());
    let mut users = Vec::new();
    for pattern in patterns {
        // No client that has logged in has the name of those that have not.
        let is_default = |name| auth.value("default") == Some(name);
        if pattern.strip_prefix('!').is_some_and(is_default) {
            continue;
        }
        let is_plain = !pattern.starts_with(['!', '@'])
            && !pattern.contains(['*', '?', '[', '\\'])
            && access::users::check_name(pattern).is_ok();
        if pattern != "*" && !is_plain {
            return Err(pattern.to_owned());
        }
        users.push(pattern.to_owned());
    }
    match users.len() {
        1..=LIST_MAX => Ok(users),
        _ => Err(access.value("users").unwrap_or_default().to_owned()),
    }
}

/// Writes a table without rights for the clients of an auth group whose user has no access group: they must not match a table behind it.
fn refusal(file: &ConfFile, auth: &Group, tables: &mut String, report: &mut Report) {
    let hosts = Hosts::of(auth);
    if hosts.fault.is_some() || hosts.from.as_ref().is_some_and(Vec::is_empty) {
        return;
    }
    let name = quoted(&plain_name(&auth.name));
    let mut table = format!("[[access]]\nname = {name}\n");
    if let Some(from) = &hosts.from {
        let _ = writeln!(table, "from = {}", list(from));
    }
    let path = file.path.display();
    let _ = write!(tables, "\n# {path}:{}\n{table}", auth.line);
    let told = format!("auth \"{}\": its clients have no rights", auth.name);
    report.add(file.at(auth.line), Fate::Kept, told);
}

fn entry(
    file: &ConfFile,
    (auth, access): (&Group, &Group),
    settings: &mut Settings,
    tables: &mut String,
    report: &mut Report,
) {
    let at = file.at(auth.line);
    let hosts = Hosts::of(auth);
    for host in &hosts.names {
        let why = format!(
            "auth \"{}\": host `{host}': write addresses or networks into `from'",
            auth.name
        );
        report.add(at, Fate::Dropped, why);
    }
    let mut faults: Vec<String> = hosts.fault.into_iter().collect();
    let mut table = String::from("[[access]]\n");
    let _ = writeln!(table, "name = {}", quoted(&plain_name(&access.name)));
    if let Some(from) = &hosts.from {
        if from.is_empty() && faults.is_empty() {
            return;
        }
        let _ = writeln!(table, "from = {}", list(from));
    }
    if !is_default(auth, access) {
        match users_of(auth, access) {
            Ok(users) => {
                let _ = writeln!(table, "users = {}", list(&users));
            }
            Err(pattern) => {
                faults.push(format!("`users' has only names and \"*\", not `{pattern}'"));
                let _ = writeln!(table, "users = {}", list(&[pattern]));
            }
        }
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
    let rejects = access.value("reject_with");
    let is_rejected = rejects.is_some_and(|why| !why.is_empty());
    let letters = match access.value("access") {
        _ if is_rejected => "",
        letters => letters.unwrap_or("RP"),
    };
    let both = access.value("newsgroups");
    let rights = [("read", 'R'), ("post", 'P')];
    for (key, letter) in rights {
        let groups = access
            .value(key)
            .or(both)
            .filter(|_| letters.contains(letter));
        if let Some(groups) = groups.filter(|groups| !groups.is_empty()) {
            let groups = groups.replace(' ', "");
            let groups = if key == "read" {
                groups.replace('@', "!")
            } else {
                groups
            };
            if !includes_some(&groups) {
                continue;
            }
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
    let _ = write!(tables, "\n# {}:{}\n", file.path.display(), access.line);
    let mark = if faults.is_empty() { "" } else { "# " };
    for line in table.lines() {
        let _ = writeln!(tables, "{mark}{line}");
    }
    if !faults.is_empty() {
        let why = format!(
            "access \"{}\" for auth \"{}\": {}; its table is a comment",
            access.name,
            auth.name,
            faults.join(", and ")
        );
        report.add(file.at(access.line), Fate::Dropped, why);
        return;
    }
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
