//! Chooses the node whose segments are fetched.

use std::path::Path;

use anyhow::{bail, ensure};
use cluster::jetstream::members;
use cluster::jetstream::segments::Asking;
use cluster::reseed::{Listing, Reply, Request};

use super::Wanted;
use super::fetched::Fetched;

/// A node that answers.
pub struct Chosen {
    /// The way to it.
    pub asking: Asking,
}

/// Finds a node that answers and follows the same log: of those that were asked for, that of an interrupted run, else the furthest.
///
/// # Errors
/// None answers, or it decides by other settings.
pub fn choose(wanted: &Wanted<'_>, staged: &Path) -> anyhow::Result<Chosen> {
    let own = &wanted.options.node;
    ensure!(
        !wanted.from.contains(own),
        "{own} is the name of this node: name another one with --from, or give this one its own name as cluster.node"
    );
    if let [node] = &wanted.from[..] {
        return ask(wanted, node);
    }
    let is_meant = |name: &String| wanted.from.is_empty() || wanted.from.contains(name);
    let (members, _) = members(wanted.options)?;
    let mut nodes: Vec<(u64, String)> = members
        .nodes
        .into_iter()
        .filter(|(name, _)| name != own && is_meant(name))
        .map(|(name, mark)| (mark.durable, name))
        .collect();
    nodes.sort();
    nodes.reverse();
    let last = Fetched::node_of(staged);
    // What an interrupted run has fetched is of use with its node only.
    nodes.sort_by_key(|(_, name)| last.as_ref() != Some(name));
    let mut faults = Vec::new();
    for (_, node) in nodes {
        match ask(wanted, &node) {
            Ok(chosen) => return Ok(chosen),
            Err(error) => faults.push(format!("{error:#}")),
        }
    }
    match faults.is_empty() {
        true => {
            bail!("the cluster has no other node: `broadsheet cluster status' on a node lists them")
        }
        false => bail!("no node can give its segments: {}", faults.join("; ")),
    }
}

fn ask(wanted: &Wanted<'_>, node: &str) -> anyhow::Result<Chosen> {
    let asking = Asking::connect(wanted.options, node)?;
    let listing = match asking.try_ask(&Request::List(u64::MAX))? {
        Reply::Listing(listing) => listing,
        Reply::Refused(why) => bail!("the node {node} gives no segments: {why}"),
        _ => bail!("the node {node} gave a reply to another question"),
    };
    ensure!(
        listing.log == wanted.log.name,
        "the node {node} follows another log than the stream {} is",
        wanted.options.stream
    );
    if let Some(why) = wanted.options.decisions.refusal(listing.decisions) {
        bail!("the articles of the node {node} cannot be taken: {why}");
    }
    let others = differing(wanted, &listing);
    ensure!(
        others.is_empty(),
        "the node {node} decides by other settings than this one: {}; make them equal first",
        others.join(", ")
    );
    Ok(Chosen { asking })
}

/// The names of the settings that differ.
fn differing(wanted: &Wanted<'_>, listing: &Listing) -> Vec<String> {
    let lacks = |parts: &[(String, String)], part: &(String, String)| !parts.contains(part);
    let here = wanted.parts.iter();
    let here = here.filter(|part| lacks(&listing.parts, part));
    let there = listing.parts.iter();
    let there = there.filter(|part| lacks(&wanted.parts, part));
    let mut names: Vec<String> = here.chain(there).map(|(name, _)| name.clone()).collect();
    names.sort();
    names.dedup();
    names
}
