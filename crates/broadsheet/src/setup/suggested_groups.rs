//! Groups that `setup` suggests: those of one site, and a few that most of Usenet has.

/// A group, its flag, and its description.
pub type Suggested = (&'static str, &'static str, &'static str);

/// The sets, by the words that stand for them.
pub const SETS: &[(&str, &[Suggested])] = &[("local", LOCAL), ("usenet", USENET)];

const LOCAL: &[Suggested] = &[
    ("local.announce", "y", "News of this server"),
    ("local.general", "y", "Talk of its users"),
    ("local.test", "y", "Posts that only try things"),
];

const USENET: &[Suggested] = &[
    ("alt.comp.os.windows-10", "y", "Microsoft Windows 10"),
    (
        "alt.folklore.computers",
        "y",
        "Tales of old machines and their people",
    ),
    ("alt.test", "y", "Posts that only try things"),
    (
        "alt.usage.english",
        "y",
        "How English is written and spoken",
    ),
    ("comp.arch", "y", "Design of processors and machines"),
    ("comp.lang.c", "y", "The language C"),
    ("comp.lang.c++", "y", "The language C++"),
    ("comp.lang.forth", "y", "The language Forth"),
    ("comp.lang.python", "y", "The language Python"),
    ("comp.misc", "y", "Computers, where no other group fits"),
    (
        "comp.mobile.android",
        "y",
        "Telephones and tablets with Android",
    ),
    (
        "comp.os.linux.misc",
        "y",
        "Linux, where no other group fits",
    ),
    ("comp.unix.shell", "y", "Using and programming shells"),
    ("misc.test", "y", "Posts that only try things"),
    ("news.admin.misc", "y", "Running netnews"),
    ("news.groups", "y", "Which groups there should be"),
    ("news.software.nntp", "y", "Programs that speak NNTP"),
    ("news.software.readers", "y", "Newsreaders"),
    ("rec.arts.sf.written", "y", "Science fiction in print"),
    ("rec.food.cooking", "y", "Cooking"),
    ("rec.photo.digital", "y", "Photography with digital cameras"),
    (
        "sci.electronics.design",
        "y",
        "Design of electronic circuits",
    ),
    ("sci.lang", "y", "Languages and how they work"),
    ("sci.math", "y", "Mathematics"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_can_be_made() {
        for (group, flag, description) in SETS.iter().flat_map(|(_, set)| set.iter()) {
            assert_eq!(groups::name::check_new(group.as_bytes()), Ok(()), "{group}");
            assert!(*flag == "y" && !description.ends_with('.'), "{group}");
        }
    }
}
