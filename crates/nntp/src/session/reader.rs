//! What readers ask (RFC 3977, 6 and 7; RFC 6048; RFC 2980).

use crate::command::Command;
use crate::out::Out;
use crate::world::World;

use super::Session;

/// Where a reader is.
#[derive(Debug, Default)]
pub struct Reader {}

impl Reader {
    /// True while a long answer is not written to its end.
    pub fn is_at_work(&self) -> bool {
        false
    }
}

impl Session {
    /// Obeys a reader's command.
    pub(super) fn read<W: World>(&mut self, command: Command<'_>, _world: &mut W, out: &mut Out) {
        let _ = command;
        out.push(b"503 Not yet\r\n");
    }

    /// Writes more of a long answer.
    pub(super) fn go_on<W: World>(&mut self, _world: &mut W, _out: &mut Out) {}
}
