//! All integration tests of this crate in one program: a module a behaviour.

mod shared_tables;

mod batch_framing;
mod date_shapes;
mod header_syntax;
mod message_ids;
mod old_forms;
mod parse_header;
mod wire_form;
mod wrap_ends;
mod wrap_expansion;
mod wrapped_batches_expand_again;
mod xref_values;
