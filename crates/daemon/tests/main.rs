//! All integration tests of this crate in one program: a module a behaviour.

mod a_daemon_in_this_process_files_an_article;
