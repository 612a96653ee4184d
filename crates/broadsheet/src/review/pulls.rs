//! The review of the servers to pull from.

use groups::wildmat::Wildmat;
use settings::Finding;

use super::{Content, Context, Errors, Part, counted, none_of};

/// `1 server to pull from`, each with the number of its groups.
pub fn review(on: &Context<'_>) -> Option<Result<Content, Errors>> {
    let is_set = !on.settings().pulls.is_empty();
    is_set.then(|| sources(on))
}

fn sources(on: &Context<'_>) -> Result<Content, Errors> {
    let sources = &on.settings().pulls;
    let errors = sources.iter().filter_map(|source| {
        let error = feed::Remote::open(on.root(), &source.server).err()?;
        Some(Finding::error(error.to_string()).at(source.name.clone()))
    });
    none_of(errors.collect(), 0)?;
    let mut content = Content::new(format!("{} to pull from", counted(sources.len(), "server")));
    for source in sources {
        let wanted = Wildmat::parse(source.groups.as_bytes());
        let names = on.active.ids().map(|id| on.active.name(id));
        let count = names.filter(|name| wanted.matches(name)).count();
        let idle = (count == 0).then(|| {
            Finding::warning(format!(
                "groups = \"{}\" matches no group of active: nothing is pulled",
                source.groups
            ))
            .at(source.name.clone())
            .remedy(
                ';',
                "these are wildmats: \"*\" is all groups, \"comp.*\" those of comp",
            )
        });
        content.parts.push(Part {
            summary: format!("{}: {}", source.name, counted(count, "group")),
            findings: Vec::from_iter(idle),
        });
    }
    Ok(content)
}
