//! newsfeeds, innfeed.conf and passwd.nntp: what goes to other sites.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use groups::Active;
use groups::nntp_server::CONNECTIONS;
use settings::quoted;
use settings::via::CONNECTIONS_MAX;

use super::classic::Classic;
use super::feed_variables::Variables;
use super::innfeed_conf::{self, Peer};
use super::{MovedFile, fault_of, list, plain_name, push_table, read};
use crate::inn::conf::{ConfFile, Group};
use crate::inn::installation::Installation;
use crate::report::{Fate, Report};

/// `sys`: INN accepts the groups of active.
const SYS: &[u8] =
    b"# sys: what this site accepts; its feeds are [[site]] tables of broadsheet.toml.\nME:all\n";

/// Programs of INN whose work the server does itself, and by what.
const FUNNELS: [(&str, &str); 4] = [
    ("innfeed", "a funnel is not needed"),
    ("startinnfeed", "a funnel is not needed"),
    ("overchan", "the server writes the overview itself"),
    (
        "controlchan",
        "the server acts on control messages itself, by control.ctl",
    ),
];

/// Other programs that a line of newsfeeds may name, whose work the server does itself.
const PROGRAMS: [(&str, &str); 4] = [
    ("crosspost", "an article is in all its groups by itself"),
    (
        "ginpaths",
        "`broadsheet report' counts the sites in Path, as inpaths did",
    ),
    (
        "ginpaths2",
        "`broadsheet report' counts the sites in Path, as ninpaths did",
    ),
    (
        "inpaths",
        "`broadsheet report' counts the sites in Path, as inpaths did",
    ),
];

/// The Distribution of articles that have none.
const WORLD: &str = "world";

/// A line of newsfeeds.
struct Feed<'a> {
    name: &'a str,
    excluded: Vec<String>,
    patterns: &'a str,
    distributions: &'a str,
    flags: &'a str,
    parameter: &'a str,
}

impl<'a> Feed<'a> {
    fn parse(line: &'a str) -> Option<Feed<'a>> {
        let mut fields = line.splitn(4, ':');
        let (name, subscription) = (fields.next()?.trim(), fields.next()?.trim());
        let (name, excluded) = name.split_once('/').unwrap_or((name, ""));
        let (patterns, distributions) = subscription.split_once('/').unwrap_or((subscription, ""));
        Some(Feed {
            name,
            excluded: words(excluded),
            patterns,
            distributions,
            flags: fields.next().unwrap_or_default(),
            parameter: fields.next().unwrap_or_default(),
        })
    }
}

fn words(list: &str) -> Vec<String> {
    let words = list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Translates them: `sys` gets what this site accepts, `tables` a `[[site]]` for each feed by NNTP.
pub fn translate(
    inn: &Installation,
    active: &Active,
    files: &mut Vec<MovedFile>,
    tables: &mut String,
    report: &mut Report,
) -> io::Result<()> {
    let file = read(inn, "newsfeeds")?;
    let innfeed = read(inn, "innfeed.conf")?;
    let peers = innfeed.groups();
    let passwords = Passwords::read(inn)?;
    let lines = entries(&file, report);
    let own = lines.iter().find_map(|entry| {
        Some((
            entry,
            Feed::parse(&entry.line).filter(|feed| feed.name == "ME")?,
        ))
    });
    let default = own.as_ref().map_or("", |(_, own)| own.patterns).to_owned();
    // An unknown variable of ME is one of every site.
    let default_unknown = own.and_then(|(entry, _)| entry.unknown.as_deref());
    let mut names = BTreeSet::new();
    for entry in &lines {
        let number = &entry.number;
        let Some(feed) = Feed::parse(&entry.line) else {
            report.add(file.at(*number), Fate::Dropped, "not a line of newsfeeds");
            continue;
        };
        if feed.name == "ME" {
            // The subscription of ME is the beginning of every other; what is accepted is what active has.
            let told = "ME: every group of active is accepted, as in INN";
            report.add(file.at(*number), Fate::Kept, told);
            if !feed.distributions.is_empty() {
                let text = format!(
                    "ME: distributions `{}': INN refused articles with another Distribution; they are accepted here",
                    feed.distributions
                );
                report.add(file.at(*number), Fate::Changed, text);
            }
            if !feed.excluded.is_empty() {
                let text = format!(
                    "articles with {} in Path are not refused",
                    feed.excluded.join(", ")
                );
                report.add(file.at(*number), Fate::Dropped, text);
            }
            continue;
        }
        let default = if default.is_empty() {
            String::new()
        } else {
            format!("{default},")
        };
        let patterns = format!("{default}{}", feed.patterns);
        site(
            (&file, *number),
            (&feed, entry.unknown.as_deref().or(default_unknown)),
            (&patterns, active),
            (&peers, &passwords),
            (files, tables, &mut names),
            report,
        );
    }
    files.push(("sys".to_owned(), SYS.to_vec(), false));
    passwords.report_unused(report);
    let feeds: Vec<Feed<'_>> = lines
        .iter()
        .filter_map(|entry| Feed::parse(&entry.line))
        .collect();
    let is_fed = |peer: &str| feeds.iter().any(|feed| feed.name == peer);
    innfeed_conf::report_rest((&innfeed, &peers), &is_fed, report);
    Ok(())
}

/// A line of newsfeeds, with the values of its variables.
struct Entry {
    number: usize,
    line: String,
    /// A variable that is not defined before it.
    unknown: Option<String>,
}

/// The lines; without the definitions of variables.
fn entries(file: &ConfFile, report: &mut Report) -> Vec<Entry> {
    let mut variables = Variables::default();
    let mut entries = Vec::new();
    for (number, line) in file.lines() {
        if variables.define(&line) {
            let told = "a variable: its value is written where it is used";
            report.add(file.at(number), Fate::Kept, told);
            continue;
        }
        let (line, unknown) = variables.expand(&line);
        // A parameter may be a line for a shell.
        let is_of_feed = |name: &String| {
            let parameter = line.splitn(4, ':').nth(3).unwrap_or_default();
            !parameter.contains(&format!("${name}"))
        };
        let unknown = unknown.filter(is_of_feed);
        if let Some(name) = &unknown {
            let told = format!("the variable `${name}' is not defined before this line");
            report.add(file.at(number), Fate::Dropped, told);
        }
        entries.push(Entry {
            number,
            line,
            unknown,
        });
    }
    entries
}

fn site(
    (file, number): (&ConfFile, usize),
    (feed, unknown): (&Feed<'_>, Option<&str>),
    (patterns, active): (&str, &Active),
    (peers, passwords): (&Group, &Passwords),
    (files, tables, names): (&mut Vec<MovedFile>, &mut String, &mut BTreeSet<String>),
    report: &mut Report,
) {
    let name = plain_name(feed.name);
    let flags: Vec<&str> = feed.flags.split(',').map(str::trim).collect();
    let kind = flags
        .iter()
        .find_map(|flag| flag.strip_prefix('T'))
        .unwrap_or("f");
    let program = feed.parameter.split_ascii_whitespace().next();
    let program = program.and_then(|path| path.rsplit('/').next());
    let is_named = |(known, _): &&(&str, &str)| program == Some(*known);
    let funnel = FUNNELS.iter().filter(|_| feed.name.ends_with('!'));
    let told = match funnel.chain(&PROGRAMS).find(is_named) {
        Some((_, told)) => Some(*told),
        None if kind == "l" => Some("a line for each article: `log' has one"),
        None => None,
    };
    if let Some(told) = told {
        let told = format!("{}: {told}", feed.name);
        report.add(file.at(number), Fate::Unneeded, told);
        return;
    }
    let Some(peer) = Peer::find(peers, feed.name).filter(|_| kind == "m") else {
        let lacks_peer = match kind {
            "m" => ", and innfeed.conf has no peer of this name",
            _ => "",
        };
        let by = match (kind, feed.parameter) {
            ("f", _) => " (a file for nntpsend, innxmit or send-uucp)".to_owned(),
            (_, "") => String::new(),
            (_, parameter) => format!(" by `{parameter}'"),
        };
        report.add(
            file.at(number),
            Fate::Dropped,
            format!(
                "{}: a feed of type T{kind}{by}{lacks_peer}: write a [[site]] with the `via' that fits (docs/book/sites.md)",
                feed.name
            ),
        );
        return;
    };
    let host = peer.own_value("ip-name").unwrap_or(feed.name);
    let port = peer.value("port-number").filter(|port| *port != "119");
    let address = match port {
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let converted = Classic::of(patterns, active);
    let groups = match &converted {
        Ok(converted) => converted.patterns.clone(),
        Err(_) => patterns.split(',').map(str::to_owned).collect(),
    };
    // The remarks come behind that of the site.
    let mut remarks = Vec::new();
    let mut table = format!(
        "[[site]]\nname = {}\ngroups = {}\n",
        quoted(&name),
        list(&groups)
    );
    let wants_distribution = flags
        .iter()
        .any(|flag| flag.starts_with('A') && flag.contains('d'));
    let distributions = Distributions::of(feed.distributions, wants_distribution);
    if !distributions.list.is_empty() {
        let _ = writeln!(table, "distributions = {}", quoted(&distributions.list));
    }
    if let Some(change) = distributions.change {
        let text = format!("{name}: distributions `{}': {change}", distributions.list);
        remarks.push((Fate::Changed, text));
    }
    if !feed.excluded.is_empty() {
        let _ = writeln!(table, "exclude = {}", list(&feed.excluded));
    }
    for flag in flags.iter().filter(|flag| !flag.is_empty()) {
        let (first, rest) = flag.split_at_checked(1).unwrap_or((flag, ""));
        let number_of = rest.parse::<u64>().ok();
        match (first, rest, number_of) {
            // Buffers, files and the priority of INN's own feed.
            ("T" | "W" | "B" | "F" | "I" | "P" | "S", ..) => {}
            ("A", checks, _) => {
                let losses = checks.chars().filter_map(|check| match check {
                    'd' if distributions.has_to_be_there => None,
                    check => loss_of_check(check),
                });
                remarks.extend(
                    losses.map(|why| (Fate::Dropped, format!("{name}: flag {flag}: {why}"))),
                );
            }
            // 0 is no limit in INN.
            ("<" | "H", _, Some(0)) => {}
            ("<", _, Some(bytes)) => _ = writeln!(table, "max_size = {bytes}"),
            ("H", _, Some(hops)) => _ = writeln!(table, "hops = {hops}"),
            ("H", "", None) => table.push_str("hops = 1\n"),
            ("N", "m", _) => table.push_str("only = \"moderated\"\n"),
            ("N", "u", _) => table.push_str("only = \"unmoderated\"\n"),
            (first, ..) => {
                let why = loss_of_flag(first);
                remarks.push((Fate::Dropped, format!("{name}: flag {flag}: {why}")));
            }
        }
    }
    let mut via = format!("via = {{ nntp = {}", quoted(&address));
    if let Some(count) = peer
        .value("max-connections")
        .and_then(|count| count.parse::<u32>().ok())
    {
        match count {
            0 => remarks.push((
                Fate::Changed,
                format!("{name}: max-connections 0 (no limit): connections has its default, {CONNECTIONS}"),
            )),
            count if count > CONNECTIONS_MAX => {
                let _ = write!(via, ", connections = {CONNECTIONS_MAX}");
                let told = format!("{name}: max-connections {count}: at most {CONNECTIONS_MAX}");
                remarks.push((Fate::Changed, told));
            }
            count => _ = write!(via, ", connections = {count}"),
        }
    }
    match innfeed_conf::local_address(&peer) {
        Ok(Some(address)) => _ = write!(via, ", bind = {}", quoted(address)),
        Ok(None) => {}
        Err(why) => remarks.push((Fate::Dropped, format!("{name}: {why}"))),
    }
    let login = peer.value("username").zip(peer.value("password"));
    if let Some((user, password)) = login.or_else(|| passwords.of(host)) {
        let path = format!("{name}.password");
        let _ = write!(
            via,
            ", user = {}, password_file = {}, allow_plaintext_login = true",
            quoted(user),
            quoted(&path)
        );
        files.push((path, format!("{password}\n").into_bytes(), true));
    }
    table.push_str(&via);
    table.push_str(" }\n");
    let unknown = unknown.map(|name| format!("the variable `${name}' is not defined"));
    let converted = unknown.map_or(converted, Err);
    let (fate, told, is_comment) = match (converted, fault_of(&table)) {
        (Err(why), _) | (Ok(_), Some(why)) => {
            let told = format!("{why}; its table is a comment");
            (Fate::Dropped, told, true)
        }
        (Ok(converted), None) if !converted.includes_some() => {
            let told = format!("`{patterns}' includes no group; its table is a comment");
            (Fate::Kept, told, true)
        }
        (Ok(_), None) if !names.insert(name.clone()) => {
            let told = "an entry before it has this name; its table is a comment".to_owned();
            (Fate::Dropped, told, true)
        }
        (Ok(converted), None) => {
            let (fate, told) = converted.remark();
            (fate, told, false)
        }
    };
    push_table(tables, file.at(number), &table, is_comment);
    report.add(
        file.at(number),
        fate,
        format!("{name}: by NNTP to {address}, {told}"),
    );
    for (fate, told) in remarks {
        report.add(file.at(number), fate, told);
    }
}

/// The articles that a site gets without a check of the flag `A`; none, if it says nothing here.
fn loss_of_check(check: char) -> Option<&'static str> {
    Some(match check {
        // Names in Path; overview, filters and `wanttrash' as INN has them.
        'p' | 'o' | 'f' | 'j' => return None,
        'c' => {
            "control messages go too: exclude `control' and the groups that they should not reach"
        }
        'C' => "other articles go too: `groups = \"control\"' sends only control messages",
        'd' => "articles without Distribution go too",
        'e' => "articles go too of which a group is missing in active",
        'O' => "the originator of an article is not asked",
        _ => "there is no such check",
    })
}

/// The articles that a site gets without a flag.
fn loss_of_flag(flag: &str) -> &'static str {
    match flag {
        ">" => "small articles go too",
        "C" | "G" | "U" => "articles with more groups go too",
        "O" => "articles of any origin go",
        "Q" => "it gets all of these articles, not a share of them",
        _ => "there is no such setting",
    }
}

/// The distributions of a site, for `distributions`.
#[derive(Debug, PartialEq, Eq)]
struct Distributions {
    /// C News patterns; empty for all.
    list: String,
    /// Whether the site gets no article without Distribution.
    has_to_be_there: bool,
    /// The articles for which the list has another meaning.
    change: Option<&'static str>,
}

impl Distributions {
    /// Converts a list. In INN the first word that is equal decides; a Distribution that is equal to none is wanted if any word of the list has
    /// a `!`; and the list does not matter for articles without Distribution: the site gets them, unless it has the flag `Ad`. Here these
    /// count as `world`.
    fn of(list: &str, wants_distribution: bool) -> Distributions {
        let mut items: Vec<(bool, &str)> = Vec::new();
        for word in list.split(',').map(str::trim) {
            let (is_wanted, name) = match word.strip_prefix('!') {
                Some(name) => (false, name),
                None => (true, word),
            };
            if !name.is_empty() && items.iter().all(|(_, known)| *known != name) {
                items.push((is_wanted, name));
            }
        }
        let excludes = list.split(',').any(|word| word.trim().starts_with('!'));
        let world = items.iter().find(|(_, name)| *name == WORLD);
        let world = world.map(|(is_wanted, _)| *is_wanted);
        let mut has_to_be_there = false;
        let mut change = None;
        match (world, wants_distribution) {
            _ if items.is_empty() => {}
            (Some(false), false) => {
                change = Some(
                    "articles without Distribution count as `world' here, so it does not get them",
                );
                has_to_be_there = true;
            }
            (None, false) if !excludes => {
                change = Some(
                    "articles without Distribution count as `world' here, so it gets those of `world' too",
                );
                items.push((true, WORLD));
            }
            (Some(false), true) => has_to_be_there = true,
            (None, true) if !excludes => has_to_be_there = true,
            _ => {}
        }
        let words = items.iter().map(|(is_wanted, name)| {
            if *is_wanted {
                (*name).to_owned()
            } else {
                format!("!{name}")
            }
        });
        let all = excludes.then(|| "all".to_owned());
        Distributions {
            list: all.into_iter().chain(words).collect::<Vec<_>>().join(","),
            has_to_be_there,
            change,
        }
    }
}

/// passwd.nntp: `host:name:password:style`.
struct Passwords {
    file: ConfFile,
    lines: Vec<(usize, Vec<String>)>,
    used: std::cell::RefCell<Vec<usize>>,
}

impl Passwords {
    fn read(inn: &Installation) -> io::Result<Passwords> {
        let file = read(inn, "passwd.nntp")?;
        let lines = file.lines().into_iter();
        let lines =
            lines.map(|(number, line)| (number, line.split(':').map(str::to_owned).collect()));
        let lines = lines.collect();
        Ok(Passwords {
            file,
            lines,
            used: std::cell::RefCell::default(),
        })
    }

    fn of(&self, host: &str) -> Option<(&str, &str)> {
        self.lines
            .iter()
            .find_map(|(number, fields)| match fields.as_slice() {
                [known, user, password, ..] if known == host => {
                    self.used.borrow_mut().push(*number);
                    Some((user.as_str(), password.as_str()))
                }
                _ => None,
            })
    }

    fn report_unused(&self, report: &mut Report) {
        for (number, fields) in &self.lines {
            let host = fields.first().map_or("", String::as_str);
            if self.used.borrow().contains(number) {
                report.add(
                    self.file.at(*number),
                    Fate::Kept,
                    format!("the login at {host}"),
                )
            } else {
                report.add(
                    self.file.at(*number),
                    Fate::Dropped,
                    format!("the login at {host}: no feed by NNTP goes there, or innfeed.conf has its login"),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groups::Sites;
    use groups::matrix::{DEFAULT_DISTRIBUTION, Matrix, SiteSet};
    use proptest::prelude::*;

    #[test]
    fn lists_that_only_exclude_are_all_but_these() {
        assert_eq!(WORLD.as_bytes(), DEFAULT_DISTRIBUTION);
        for (inn, flag, list, has_change) in [
            ("", false, "", false),
            ("!local", false, "all,!local", false),
            ("!local,!collabra", false, "all,!local,!collabra", false),
            ("world,!local", false, "all,world,!local", false),
            ("world,na", false, "world,na", false),
            ("na,ca", false, "na,ca,world", true),
            ("na,ca", true, "na,ca", false),
            ("!world", false, "all,!world", true),
            (" na ,, !na", true, "all,na", false),
        ] {
            let told = Distributions::of(inn, flag);
            assert_eq!(
                (told.list.as_str(), told.change.is_some()),
                (list, has_change),
                "{inn}"
            );
        }
    }

    /// Whether INN sends an article with a Distribution to a site with a list.
    fn inn_wants(list: &str, distribution: &str) -> bool {
        let mut has_excluded = false;
        for word in list.split(',') {
            match word.strip_prefix('!') {
                Some(name) if name == distribution => return false,
                Some(_) => has_excluded = true,
                None if word == distribution => return true,
                None => {}
            }
        }
        has_excluded
    }

    proptest! {
        /// The same articles as in INN, but for the Distribution of articles that have none.
        #[test]
        fn a_site_gets_the_distributions_of_inn(
            words in prop::collection::vec(prop::sample::select(vec!["na", "!na", "local", "!local", "world", "!world"]), 1..5),
            distribution in prop::sample::select(vec!["na", "local", "de"]),
        ) {
            let list = words.join(",");
            let sys = format!("ME:all\nsite:all/{}:F:\n", Distributions::of(&list, false).list);
            let sites = Sites::parse(sys.as_bytes(), b"here").unwrap();
            let active = Active::parse(b"a.b 0 1 y\n".to_vec()).unwrap();
            let mut set = SiteSet::new();
            let groups: Vec<_> = active.ids().collect();
            let mut matrix = Matrix::new(&active, &sites);
            matrix.select(&active, &groups, &[], Some(distribution.as_bytes()), false, &mut set);
            let index = sites.sites().iter().position(|site| !site.is_me).unwrap();
            prop_assert_eq!(set.contains(index + 1), inn_wants(&list, distribution), "{}", sys);
        }
    }
}
