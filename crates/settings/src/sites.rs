//! `accept` and `[[site]]`: the groups that we accept ourselves, and the sites that get articles from us.
//!
//! ```toml
//! accept = "comp,news,!comp.binaries"        # or a list of such texts; above the first section
//!
//! [[site]]
//! name = "news.example.net"
//! groups = ["comp", "sci", "!comp.os"]       # C News patterns, as a text or a list; "@comp.os": nor what is also there
//! distributions = "world,na"                 # not given: all
//! exclude = ["oldname.example.net"]          # nor articles that have passed there
//! max_size = "100 kB"                        # of an article
//! only = "moderated"                         # or "unmoderated"
//! hops = 3                                   # only articles whose Path is at most so long; 0: only those posted here
//! own_host = "news-out.example.org"          # by which a site that we only feed knows us, for `peer show`
//! start = "oldest"                           # or "now", or a date: the first article for a new site
//! via = { batch = "uux - -r -z SITE!rnews", size = "100 kB", compress = "gzip", queue = 20, schedule = "every 15 min" }
//! ```
//!
//! [`via`](crate::via) lists what `via` may be. Two things are simpler than in `sys`: without `distributions` there is no
//! condition on Distribution, and a name is written once.

use groups::sites::{Accept, Only, SITES_MAX, Site, Start};
use groups::{Pattern, Tables};

use crate::table_reader::TableReader;
use crate::{value, via};

const ONLY: &[(&str, Only)] = &[
    ("moderated", Only::Moderated),
    ("unmoderated", Only::Unmoderated),
];

/// Reads `accept` and each `[[site]]`.
pub fn read(top: &mut TableReader<'_, '_>) -> Tables {
    let place = top.place(top.key_offset("accept"));
    let accept = top.take("accept", value::patterns);
    let mut sites = Vec::new();
    top.each("site", "a site", SITES_MAX, |table| {
        sites.extend(site(table));
    });
    Tables {
        accept: accept.map(|groups| Accept { place, groups }),
        sites,
    }
}

fn site(table: &mut TableReader<'_, '_>) -> Option<Site> {
    let place = table.place(table.value_offset("name"));
    let name = table.take("name", value::name);
    // Only `peer show` wants it ([`crate::own_host_for`]).
    let _ = table.take("own_host", value::host);
    let subs = table.take("groups", value::patterns);
    let dists = table.take("distributions", value::distributions);
    let exclusions = table.take("exclude", value::names);
    let size_max = table.take("max_size", |value| match value::size(value)? {
        0 => Err("is 0, so that the site would get nothing; leave it out for no limit".to_owned()),
        bytes => Ok(bytes),
    });
    let only = table.take("only", |word| value::word(word, ONLY));
    let hops_max = table.take("hops", value::count);
    let start = table.take("start", value::start);
    let via = via::read(table, name.as_deref().unwrap_or_default());
    table.require(
        "site",
        &[
            ("name", "say the name it has in Path"),
            ("groups", "say what it gets"),
            ("via", "say how articles travel"),
        ],
    );
    Some(Site {
        place,
        name: name?,
        is_me: false,
        exclusions: exclusions.unwrap_or_default(),
        subs: subs?,
        dists: Some(dists.unwrap_or_else(|| Pattern::parse(b"all"))),
        only: only.unwrap_or_default(),
        hops_max,
        size_max,
        start: start.unwrap_or(Start::Now),
        via: via?,
    })
}
