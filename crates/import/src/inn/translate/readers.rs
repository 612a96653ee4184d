//! readers.conf: who may read and post. In INN the last group that matches counts, here the first table.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use access::Network;
use access::tables::LIST_MAX;
use groups::Wildmat;
use settings::{Settings, quoted};

use super::peers::OwnSend;
use super::{fault_of, includes_some, list, networks, place, plain_name, push_table, read};
use crate::inn::conf::{ConfFile, Group, Pair, is_true};
use crate::inn::installation::Installation;
use crate::report::{Fate, Report};

/// Keys that are translated.
const KNOWN: [&str; 15] = [
    "hosts",
    "localaddress",
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
    "max_rate",
    "reject_with",
];

/// Whether somebody has to act on a key without a counterpart, and why.
fn loss(pair: &Pair) -> (Fate, &'static str) {
    match pair.key.as_str() {
        // How INN itself works: whose name is in a Cancel-Lock, what it logs, what it looks at.
        "addcanlockuser" | "readertrack" | "nnrpdoverstats" | "nnrpdcheckart" | "nicennrpd"
        | "groupexactcount" => (Fate::Unneeded, "there is no such setting"),
        "localtime" => (Fate::Unneeded, "Date of a post is in UTC"),
        "perlfilter" | "pythonfilter" if !is_true(&pair.value) => {
            (Fate::Unneeded, "no program checks posts")
        }
        "perlfilter" | "pythonfilter" => (Fate::Dropped, "no program checks posts"),
        "clienttimeout" => (Fate::Dropped, "nntp.idle_seconds is one for all clients"),
        "newsmaster" | "complaints" => (Fate::Dropped, "post.complaints is one for all clients"),
        "strippath" => (
            Fate::Dropped,
            "Path of a post ends with what its poster wrote",
        ),
        _ => (Fate::Dropped, "there is no such setting"),
    }
}

/// The table for programs on this machine that has only the right to send, or the rights of another one and that.
const THIS_MACHINE: &str = "this-machine";

/// An `[[access]]` table.
#[derive(Debug, Clone)]
struct Table {
    /// The line that it comes from.
    line: usize,
    name: String,
    /// The networks of its clients; `None`: any.
    from: Option<Vec<String>>,
    /// Whether a client of these networks needs a login or TLS to match.
    has_conditions: bool,
    /// Whether only clients that have logged in match.
    has_users: bool,
    send: Option<String>,
    /// The other lines.
    rest: String,
    is_comment: bool,
}

impl Table {
    fn text(&self) -> String {
        let mut text = format!("[[access]]\nname = {}\n", quoted(&self.name));
        if let Some(from) = &self.from {
            let _ = writeln!(text, "from = {}", list(from));
        }
        text.push_str(&self.rest);
        if let Some(send) = &self.send {
            let _ = writeln!(text, "send = {}", quoted(send));
        }
        text
    }

    /// Whether it decides for clients on this machine that have not logged in, if no table before it does.
    fn decides_for_local(&self) -> bool {
        let local = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let includes =
            |network: &String| Network::parse(network).is_ok_and(|network| network.contains(local));
        let from = self.from.as_ref();
        !self.is_comment
            && !self.has_conditions
            && from.is_none_or(|from| from.iter().any(includes))
    }

    /// The networks of its clients; none: any.
    fn networks(&self) -> Vec<Network> {
        let from = self.from.iter().flatten();
        let parsed = from.filter_map(|network| Network::parse(network).ok());
        parsed.collect()
    }

    /// The reason why it is never used, if one of the tables before it matches all its clients.
    fn hidden_by(&self, earlier: &[Unconditional]) -> Option<String> {
        let networks = self.networks();
        let by = earlier.iter().find(|earlier| {
            let is_included =
                |network: &Network| earlier.from.iter().any(|other| other.includes(network));
            earlier.from.is_empty() || !networks.is_empty() && networks.iter().all(is_included)
        })?;
        Some(format!(
            "never used, since the table `{}' before it matches all its clients",
            by.name
        ))
    }

    /// Whether all its clients are on this machine.
    fn is_only_local(&self) -> bool {
        let is_local = |network: &String| {
            Network::parse(network).is_ok_and(|network| Network::Local.includes(&network))
        };
        self.from
            .as_ref()
            .is_some_and(|from| from.iter().all(is_local))
    }
}

/// A table that matches all clients of its networks, whoever they are.
struct Unconditional {
    name: String,
    /// None: any.
    from: Vec<Network>,
}

impl Unconditional {
    /// Those of the peers.
    fn of_peers(text: &str) -> Vec<Unconditional> {
        let text = format!("name = \"here\"\n{text}");
        let read = settings::Read::parse(Path::new(settings::FILE), text.into_bytes());
        let entries = read.map(|read| read.settings.access.entries);
        let entries = entries.into_iter().flatten();
        let entries = entries.map(|entry| Unconditional {
            name: entry.name,
            from: entry.from,
        });
        entries.collect()
    }

    fn of(table: &Table) -> Option<Unconditional> {
        (!table.is_comment && !table.has_conditions).then(|| Unconditional {
            name: table.name.clone(),
            from: table.networks(),
        })
    }
}

/// Lets programs on this machine send, besides the rights that clients there have by readers.conf.
fn let_own_programs_send(
    own: &OwnSend,
    tables: &mut Vec<Table>,
    has_readers: bool,
    report: &mut Report,
) {
    let at = own.file.at(own.line);
    let send = Some(own.groups.clone());
    let of_its_own = Table {
        line: 0,
        name: THIS_MACHINE.to_owned(),
        from: Some(vec!["local".to_owned()]),
        has_conditions: false,
        has_users: false,
        send: send.clone(),
        rest: String::new(),
        is_comment: false,
    };
    let place = tables.iter().position(Table::decides_for_local);
    let found = place.and_then(|place| Some((place, tables.get_mut(place)?)));
    let (fate, told) = match found {
        Some((_, table)) if table.send.is_some() => (
            Fate::Kept,
            format!("as clients of the table `{}'", table.name),
        ),
        Some((_, table)) if table.is_only_local() => {
            table.send = send;
            let told = format!("`send' of the table `{}'", table.name);
            (Fate::Kept, told)
        }
        Some((place, table)) => {
            let told = format!(
                "the table `{THIS_MACHINE}' has the rights of `{}', and `send'",
                table.name
            );
            let rest = table.rest.clone();
            tables.insert(place, Table { rest, ..of_its_own });
            (Fate::Kept, told)
        }
        None if has_readers => {
            tables.push(of_its_own);
            let told = format!(
                "the table `{THIS_MACHINE}' has only `send': readers.conf gives these clients no rights without a login"
            );
            (Fate::Kept, told)
        }
        None => {
            let rest = "read = \"*\"\npost = \"*\"\n".to_owned();
            tables.push(Table { rest, ..of_its_own });
            let told = format!(
                "and may read and post too, since there is no readers.conf: the table `{THIS_MACHINE}'"
            );
            (Fate::Changed, told)
        }
    };
    let told = format!("ME: programs on this machine may send: {told}");
    report.add(at, fate, told.replace("send: and", "send, and"));
}

/// Translates it to `[[access]]` tables and `auth.program`; `own_send` is the right of `ME` in incoming.conf.
pub fn translate(
    inn: &Installation,
    own_send: Option<OwnSend>,
    settings: &mut Settings,
    text: &mut String,
    report: &mut Report,
) -> io::Result<()> {
    let file = read(inn, "readers.conf")?;
    let top = file.groups();
    let (mut tables, mut earlier) = (Vec::new(), Unconditional::of_peers(text));
    let (mut auths, mut accesses) = (Vec::new(), Vec::new());
    collect(&top, &top, &mut auths, &mut accesses);
    // Nobody logs in with a name such as `<localhost>' that stands for clients that have not logged in.
    let defaults = auths.iter().filter_map(default_user);
    let defaults: Vec<String> = defaults.filter(|name| name.starts_with('<')).collect();
    let has_logins = |access: &Group| {
        let users = access.value("users").unwrap_or("*").split(',');
        let mut users = users.map(str::trim).filter(|user| !user.is_empty());
        users.any(|user| defaults.iter().all(|default| default != user))
    };
    let fits = |auth: &Group, access: &Group| {
        auth.value("key") == access.value("key")
            && (is_default(auth, access) || !programs(auth).is_empty() && has_logins(access))
    };
    let is_shut = |auth: &Group| {
        let has_rights = |access| fits(auth, access) && is_default(auth, access);
        auth.value("default").is_some() && !accesses.iter().any(has_rights)
    };
    for auth in auths.iter().rev() {
        if is_shut(auth) || accesses.iter().any(|access| fits(auth, access)) {
            report_names(&file, auth, report);
            program(&file, auth, settings, report);
        }
    }
    // A client belongs to the last auth group that matches it, and has the rights of the last access group that matches its user. Its login
    // counts in all auth groups that match it, so the tables of logins come first.
    for is_login in [true, false] {
        for auth in auths.iter().rev() {
            let is_meant =
                |access: &&Group| fits(auth, access) && is_default(auth, access) != is_login;
            for access in accesses.iter().rev().filter(is_meant) {
                let table = entry(&file, (auth, access), &earlier, report);
                earlier.extend(Unconditional::of(&table));
                tables.push(table);
            }
            if is_shut(auth) && !is_login {
                let table = refusal(&file, auth, &earlier, report);
                earlier.extend(Unconditional::of(&table));
                tables.push(table);
            }
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
            let (fate, why) = match pair.key.as_str() {
                // The name of clients that have not logged in has it.
                "default-domain" if programs(group).is_empty() => continue,
                "default-domain" => (
                    Fate::Dropped,
                    "logins get no domain: write `users' as people give their names",
                ),
                _ => loss(pair),
            };
            let told = format!("{}: {}: {why}", pair.key, pair.value);
            report.add(place(&file, pair), fate, told);
        }
    }
    if let Some(own) = &own_send {
        let_own_programs_send(own, &mut tables, !auths.is_empty(), report);
    }
    report_logins(&file, &tables, settings, report);
    for table in &tables {
        let at = match (table.line, &own_send) {
            (0, Some(own)) => own.file.at(own.line),
            (line, _) => file.at(line),
        };
        push_table(text, at, &table.text(), table.is_comment);
    }
    Ok(())
}

/// Reports that passwords need TLS here: INN takes them without.
fn report_logins(file: &ConfFile, tables: &[Table], settings: &Settings, report: &mut Report) {
    let has_users = tables
        .iter()
        .any(|table| table.has_users && !table.is_comment);
    if !has_users && settings.auth.program.is_empty() {
        return;
    }
    let told = if settings.nntp.certificate.is_empty() {
        "logins: INN takes passwords without TLS, this server does not, so that nobody with a password can log in: set nntp.certificate and \
             nntp.key, or nntp.plaintext_passwords = true (they can then be read on the network)"
    } else {
        "logins: INN takes passwords without TLS, this server does not: clients must use STARTTLS, or port 563, for which \
             nntp.listen_tls = \"*:563\" is needed"
    };
    report.add(file.at(0), Fate::Changed, told);
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
            // The groups in it are programs, see `programs`.
            "auth" => {
                auths.push(whole);
                continue;
            }
            "access" => accesses.push(whole.clone()),
            _ => {}
        }
        collect(inner, &whole, auths, accesses);
    }
}

/// The programs that check passwords, in order, each with its line: `auth: PROGRAM`, or `auth NAME { program: PROGRAM }` within the group.
fn programs(auth: &Group) -> Vec<(usize, &str)> {
    let own = auth.pairs.iter().filter(|pair| pair.key == "auth");
    let inner = auth.groups.iter().filter(|inner| inner.kind == "auth");
    let inner = inner.flat_map(|inner| inner.pairs.iter().filter(|pair| pair.key == "program"));
    let all = own.chain(inner).filter(|pair| !pair.value.is_empty());
    let mut programs: Vec<_> = all.map(|pair| (pair.line, pair.value.as_str())).collect();
    programs.sort_by_key(|(line, _)| *line);
    programs
}

/// Translates the programs of an auth group to `auth.program`, which is one for all, and reports the keys of the groups in it.
fn program(file: &ConfFile, auth: &Group, settings: &mut Settings, report: &mut Report) {
    for (line, program) in programs(auth) {
        let known = settings.auth.program.as_str();
        if known == program {
            continue;
        }
        if !known.is_empty() {
            let why = format!("auth.program is one for all: `{program}' is not asked");
            report.add(file.at(line), Fate::Dropped, why);
            continue;
        }
        settings.auth.program = program.to_owned();
        let advice = if program.starts_with('/') {
            "it is asked for the logins of all clients"
        } else {
            "give its full path; it is asked for the logins of all clients"
        };
        let text = format!("auth.program = {}: {advice}", quoted(program));
        report.add(file.at(line), Fate::Changed, text);
    }
    for inner in &auth.groups {
        let is_known = |pair: &&Pair| inner.kind == "auth" && pair.key == "program";
        for pair in inner.pairs.iter().filter(|pair| !is_known(pair)) {
            let told = format!(
                "{} {}: {}: {}",
                inner.kind, inner.name, pair.key, pair.value
            );
            report.add(place(file, pair), Fate::Dropped, told);
        }
    }
}

/// The user of clients that have not logged in.
fn default_user(auth: &Group) -> Option<String> {
    let name = auth.value("default")?;
    match auth.value("default-domain") {
        Some(domain) if !name.contains('@') && !domain.is_empty() => {
            Some(format!("{name}@{domain}"))
        }
        _ => Some(name.to_owned()),
    }
}

/// Whether clients that have not logged in have a user of an access group.
fn is_default(auth: &Group, access: &Group) -> bool {
    let wanted = Wildmat::parse(access.value("users").unwrap_or("*").as_bytes());
    default_user(auth).is_some_and(|name| wanted.matches(name.as_bytes()))
}

/// Clients of an auth group.
struct Hosts {
    /// Their networks; `None`: any. With a fault all hosts as they are, so that nobody puts a table in force by mistake that matches more:
    /// settings with such a host are refused.
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
        let (mut from, mut names) = networks(hosts);
        names.retain(|name| name != "*");
        let excluded = names.iter().find(|name| name.starts_with('!'));
        let fault = match (excluded, auth.value("localaddress")) {
            (Some(host), _) => Some(format!("`from' cannot exclude a host (`{host}')")),
            (None, Some(_)) => Some("`localaddress' has no counterpart".to_owned()),
            (None, None) if !is_any && from.is_empty() => {
                Some("none of its hosts is an address or a network".to_owned())
            }
            (None, None) => None,
        };
        if fault.is_some() {
            from.extend(names.iter().cloned());
            from.extend(auth.value("localaddress").map(|at| format!("to {at}")));
        }
        Hosts {
            from: (!is_any || fault.is_some()).then_some(from),
            names: if is_any { Vec::new() } else { names },
            fault,
        }
    }
}

/// The users of an access group of an auth group that asks for a login.
#[derive(Default)]
struct Users {
    /// For `users`.
    names: Vec<String>,
    /// Patterns of further users, whose names somebody has to write.
    patterns: Vec<String>,
}

/// The users of an access group.
///
/// # Errors
/// The pattern without which the others would match more users, or one if no other is there.
fn users_of(auth: &Group, access: &Group) -> Result<Users, String> {
    let patterns = access.value("users").unwrap_or("*").split(',');
    let patterns = patterns.map(str::trim).filter(|name| !name.is_empty());
    let mut users = Users::default();
    for pattern in patterns {
        // No client that has logged in has the name of those that have not.
        let is_default = |name| default_user(auth).as_deref() == Some(name);
        if pattern.strip_prefix('!').is_some_and(is_default) {
            continue;
        }
        if pattern.starts_with(['!', '@']) {
            return Err(pattern.to_owned());
        }
        let is_plain =
            !pattern.contains(['*', '?', '[', '\\']) && access::users::check_name(pattern).is_ok();
        match pattern == "*" || is_plain {
            true => users.names.push(pattern.to_owned()),
            false => users.patterns.push(pattern.to_owned()),
        }
    }
    match (users.names.len(), users.patterns.first()) {
        (0, Some(pattern)) => Err(pattern.clone()),
        (1..=LIST_MAX, _) => Ok(users),
        _ => Err(access.value("users").unwrap_or_default().to_owned()),
    }
}

/// Reports the hosts of an auth group that are no networks.
fn report_names(file: &ConfFile, auth: &Group, report: &mut Report) {
    let names = Hosts::of(auth).names;
    for host in names.iter().filter(|host| !host.starts_with('!')) {
        let why = format!(
            "auth \"{}\": host `{host}': write addresses or networks into `from'",
            auth.name
        );
        report.add(file.at(auth.line), Fate::Dropped, why);
    }
}

/// Whether only clients with TLS belong to a group.
fn needs_tls(group: &Group) -> bool {
    group.is_true("require_ssl") || group.is_true("require_encryption")
}

/// A table without rights for the clients of an auth group whose user has no access group: they must not match a table behind it.
fn refusal(file: &ConfFile, auth: &Group, earlier: &[Unconditional], report: &mut Report) -> Table {
    let hosts = Hosts::of(auth);
    let needs_tls = needs_tls(auth);
    let mut table = Table {
        line: auth.line,
        name: plain_name(&auth.name),
        from: hosts.from,
        has_conditions: needs_tls,
        has_users: false,
        send: None,
        rest: if needs_tls { "tls = true\n" } else { "" }.to_owned(),
        is_comment: false,
    };
    let told = format!("auth \"{}\": ", auth.name);
    let fault = hosts.fault.or_else(|| fault_of(&table.text()));
    let hidden = table.hidden_by(earlier);
    match fault.or_else(|| hidden.map(|why| format!("its table is {why}"))) {
        None => report.add(
            file.at(auth.line),
            Fate::Kept,
            told + "its clients have no rights",
        ),
        Some(fault) => {
            table.is_comment = true;
            let told = format!(
                "{told}its clients have no rights in INN, but {fault}; its table is a comment"
            );
            report.add(file.at(auth.line), Fate::Dropped, told);
        }
    }
    table
}

fn entry(
    file: &ConfFile,
    (auth, access): (&Group, &Group),
    earlier: &[Unconditional],
    report: &mut Report,
) -> Table {
    let hosts = Hosts::of(auth);
    let mut faults: Vec<String> = hosts.fault.into_iter().collect();
    let mut table = String::new();
    let has_users = !is_default(auth, access);
    let mut has_conditions = has_users;
    if has_users {
        match users_of(auth, access) {
            Ok(users) => {
                let _ = writeln!(table, "users = {}", list(&users.names));
                for pattern in &users.patterns {
                    let why = format!(
                        "access \"{}\": users `{pattern}': write their names into `users' of the table",
                        access.name
                    );
                    report.add(file.at(access.line), Fate::Dropped, why);
                }
            }
            Err(pattern) => {
                faults.push(format!("`users' has only names and \"*\", not `{pattern}'"));
                // All, so that settings with the table are refused until somebody has written names.
                let users = access.value("users").unwrap_or_default().split(',');
                let users: Vec<_> = users.map(|user| user.trim().to_owned()).collect();
                let _ = writeln!(table, "users = {}", list(&users));
            }
        }
    }
    if needs_tls(access) || needs_tls(auth) {
        has_conditions = true;
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
    if let Some(bytes) = access
        .value("localmaxartsize")
        .and_then(|text| text.parse::<u64>().ok())
        && bytes > 0
    {
        let _ = writeln!(table, "size_max = {bytes}");
    }
    if let Some(rate) = access.value("max_rate") {
        match rate.parse::<u64>() {
            Ok(0) => {}
            Ok(bytes) => _ = writeln!(table, "bytes_per_second_max = {bytes}"),
            Err(_) => report.add(
                file.at(access.line),
                Fate::Dropped,
                format!("max_rate: `{rate}' is not a number"),
            ),
        }
    }
    let mut table = Table {
        line: access.line,
        name: plain_name(&access.name),
        from: hosts.from,
        has_conditions,
        has_users,
        send: letters.contains('I').then(|| "*".to_owned()),
        rest: table,
        is_comment: false,
    };
    if faults.is_empty() {
        faults.extend(fault_of(&table.text()));
    }
    if faults.is_empty() {
        faults.extend(table.hidden_by(earlier));
    }
    if !faults.is_empty() {
        let why = format!(
            "access \"{}\" for auth \"{}\": {}; its table is a comment",
            access.name,
            auth.name,
            faults.join(", and ")
        );
        report.add(file.at(access.line), Fate::Dropped, why);
        table.is_comment = true;
        return table;
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
    table
}
