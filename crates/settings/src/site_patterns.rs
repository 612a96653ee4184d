//! What the administrator wrote about a peer and the settings do not keep: the groups of a site as text, and our host as the peer knows it.

/// The text of `groups` of a `[[site]]`, which the settings keep only in compiled form; a list is joined with commas.
///
/// # Errors
/// The text of `broadsheet.toml` is not TOML.
pub fn patterns_of_site(text: &str, name: &str) -> Result<Option<String>, toml::de::Error> {
    let top: toml::Table = text.parse()?;
    let sites = top.get("site").and_then(toml::Value::as_array);
    let mut sites = sites.into_iter().flatten();
    let is_it = |site: &&toml::Value| site.get("name").and_then(toml::Value::as_str) == Some(name);
    let groups = sites.find(is_it).and_then(|site| site.get("groups"));
    Ok(groups.and_then(|groups| match groups {
        toml::Value::String(patterns) => Some(patterns.clone()),
        toml::Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(toml::Value::as_str).collect();
            Some(items.join(","))
        }
        _ => None,
    }))
}

/// The host at which a peer reaches us, for the lines of its administrator: `own_host` of its `[[access]]` or `[[site]]`.
///
/// # Errors
/// The text of `broadsheet.toml` is not TOML.
pub fn own_host_for(text: &str, name: &str) -> Result<Option<String>, toml::de::Error> {
    let top: toml::Table = text.parse()?;
    let tables = ["access", "site"]
        .into_iter()
        .filter_map(|key| top.get(key));
    let mut tables = tables.filter_map(toml::Value::as_array).flatten();
    let own = tables.find_map(|table| {
        let is_it = table.get("name").and_then(toml::Value::as_str) == Some(name);
        is_it.then(|| table.get("own_host")?.as_str()).flatten()
    });
    Ok(own.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn our_host_is_that_of_the_peer() {
        let text = "[[access]]\nname = \"a\"\nown_host = \"news-out.us\"\n\
            [[access]]\nname = \"b\"\n[[site]]\nname = \"b\"\nown_host = \"192.0.2.9\"\n";
        let of = |name| own_host_for(text, name).unwrap();
        assert_eq!(of("a").as_deref(), Some("news-out.us"));
        assert_eq!(of("b").as_deref(), Some("192.0.2.9"));
        assert_eq!(of("c"), None);
    }

    #[test]
    fn groups_are_those_of_the_table() {
        let text = r#"x = 1
site-of-nobody = """
[[site]]
name = "c"
groups = "no"
"""
[[site]]
name = "a" # "all"
groups = "comp,news"   # was "all"

[[ site ]]
groups = [ # "all"
  'sci', # "no"
  "rec" ]
"name" = 'b'
via = { nntp = "127.0.0.1:1" }

[[site]]
name = "d\u002e"
groups = "\"misc"
[nntp]
groups = "no"
"#;
        let of = |name| patterns_of_site(text, name).unwrap();
        assert_eq!(of("a").as_deref(), Some("comp,news"));
        assert_eq!(of("b").as_deref(), Some("sci,rec"));
        assert_eq!(of("c"), None);
        assert_eq!(of("d.").as_deref(), Some("\"misc"));
    }
}
