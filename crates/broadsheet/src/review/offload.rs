//! The review of `[offload]`. It makes no request.

use std::path::Path;

use settings::Finding;

use super::{Content, Context, Errors};

/// The object store. None: there is none.
pub fn review(on: &Context<'_>) -> Option<Result<Content, Errors>> {
    let is_set = !on.settings().offload.url.is_empty();
    is_set.then(|| object_store(on))
}

fn object_store(on: &Context<'_>) -> Result<Content, Errors> {
    let location = on.settings().object_location(on.directory);
    objects::connect(&location).map_err(|error| error.to_string())?;
    if let Some(path) = location.url.strip_prefix("file://")
        && !Path::new(path).is_dir()
    {
        let error = Finding::error(format!("the directory {path} does not exist"));
        return Err(error.remedy(':', "mount its disk, or create it").into());
    }
    Ok(Content::new(format!(
        "{} (`segments list --check' asks the store)",
        location.url
    )))
}
