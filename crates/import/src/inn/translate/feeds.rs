//! newsfeeds, innfeed.conf and passwd.nntp: what goes to other sites.

use std::fmt::Write as _;
use std::io;

use groups::Active;

use super::{MovedFile, classic, list, pattern_fate, plain_name, quoted, read};
use crate::inn::conf::{ConfFile, Group};
use crate::inn::installation::Installation;
use crate::report::{Fate, Report};

/// `sys`: INN accepts the groups of active.
const SYS: &[u8] =
    b"# sys: what this site accepts; its feeds are [[site]] tables of broadsheet.toml.\nME:all\n";

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
    let lines = file.lines();
    let own = lines
        .iter()
        .find_map(|(_, line)| Feed::parse(line).filter(|feed| feed.name == "ME"));
    let default = own.as_ref().map_or("", |own| own.patterns).to_owned();
    for (number, line) in &lines {
        let Some(feed) = Feed::parse(line) else {
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
                report.add(file.at(*number), Fate::Dropped, text);
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
        let default = match default.is_empty() {
            true => String::new(),
            false => format!("{default},"),
        };
        let patterns = format!("{default}{}", feed.patterns);
        site(
            (&file, *number),
            &feed,
            (&patterns, active),
            (&peers, &passwords),
            (files, tables),
            report,
        );
    }
    files.push(("sys".to_owned(), SYS.to_vec(), false));
    passwords.report_unused(report);
    Ok(())
}

fn site(
    (file, number): (&ConfFile, usize),
    feed: &Feed<'_>,
    (patterns, active): (&str, &Active),
    (peers, passwords): (&Group, &Passwords),
    (files, tables): (&mut Vec<MovedFile>, &mut String),
    report: &mut Report,
) {
    let name = plain_name(feed.name);
    let flags: Vec<&str> = feed.flags.split(',').map(str::trim).collect();
    let kind = flags
        .iter()
        .find_map(|flag| flag.strip_prefix('T'))
        .unwrap_or("f");
    if feed.name.ends_with('!') || kind == "m" && feed.parameter.is_empty() {
        // A funnel, such as innfeed itself.
        report.add(
            file.at(number),
            Fate::Kept,
            format!("{}: a funnel is not needed", feed.name),
        );
        return;
    }
    let Some(peer) = peer(peers, feed.name).filter(|_| kind == "m") else {
        report.add(
            file.at(number),
            Fate::Dropped,
            format!(
                "{}: a feed of type T{kind} by `{}': write a [[site]] with the `via' that fits (docs/operations.md, Other sites)",
                feed.name, feed.parameter
            ),
        );
        return;
    };
    let converted = classic(patterns, active);
    let (fate, told) = pattern_fate(&converted, patterns.contains('@'));
    let host = peer.value("ip-name").unwrap_or(feed.name);
    let port = peer.value("port-number").filter(|port| *port != "119");
    let address = match port {
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    report.add(
        file.at(number),
        fate,
        format!("{name}: by NNTP to {address}, {told}"),
    );
    let groups: Vec<String> = converted.0.split(',').map(str::to_owned).collect();
    let _ = write!(
        tables,
        "\n# {}:{number}\n[[site]]\nname = {}\ngroups = {}\n",
        file.path.display(),
        quoted(&name),
        list(&groups)
    );
    if !feed.distributions.is_empty() {
        let _ = writeln!(tables, "distributions = {}", quoted(feed.distributions));
    }
    if !feed.excluded.is_empty() {
        let _ = writeln!(tables, "exclude = {}", list(&feed.excluded));
    }
    for flag in flags.iter().filter(|flag| !flag.is_empty()) {
        let (first, rest) = flag.split_at_checked(1).unwrap_or((flag, ""));
        let number_of = rest.parse::<u64>().ok();
        match (first, rest, number_of) {
            ("T" | "W", ..) | ("A", "p", _) => {}
            ("<", _, Some(bytes)) => _ = writeln!(tables, "max_size = {bytes}"),
            ("H", _, Some(hops)) => _ = writeln!(tables, "hops = {hops}"),
            ("N", "m", _) => tables.push_str("only = \"moderated\"\n"),
            ("N", "u", _) => tables.push_str("only = \"unmoderated\"\n"),
            _ => report.add(
                file.at(number),
                Fate::Dropped,
                format!("{name}: flag {flag}"),
            ),
        }
    }
    let mut via = format!("via = {{ nntp = {}", quoted(&address));
    if let Some(count) = peer
        .value("max-connections")
        .and_then(|count| count.parse::<u32>().ok())
    {
        let _ = write!(via, ", connections = {}", count.clamp(1, 16));
    }
    if let Some((user, password)) = passwords.of(host) {
        let path = format!("{name}.password");
        let _ = write!(
            via,
            ", user = {}, password_file = {}, allow_plaintext_login = true",
            quoted(user),
            quoted(&path)
        );
        files.push((path, format!("{password}\n").into_bytes(), true));
    }
    tables.push_str(&via);
    tables.push_str(" }\n");
}

/// The peer of innfeed.conf with a name, in any group.
fn peer<'a>(group: &'a Group, name: &str) -> Option<&'a Group> {
    group
        .groups
        .iter()
        .find_map(|inner| match inner.kind.as_str() {
            "peer" if inner.name == name => Some(inner),
            "group" => peer(inner, name),
            _ => None,
        })
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
            match self.used.borrow().contains(number) {
                true => report.add(
                    self.file.at(*number),
                    Fate::Kept,
                    format!("the login at {host}"),
                ),
                false => report.add(
                    self.file.at(*number),
                    Fate::Dropped,
                    format!("the login at {host}: no feed by NNTP goes there"),
                ),
            }
        }
    }
}
