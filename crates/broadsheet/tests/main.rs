//! All integration tests of this crate in one program: a folder an area, a module a behaviour.

mod chaos;
mod earlier_release;
mod program;

mod cluster;
mod command;
mod crash;
mod daemon;
mod expire;
mod feed;
mod migrate;
mod peers;
mod post;
mod read;
mod receive;
