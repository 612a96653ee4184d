//! Bounds the incomplete input of a connection: counts it, and discards it when memory is used up.

use crate::client::Client;
use crate::event::Event;
use crate::shared::Shared;

use super::{Closed, Connection, IoContext, session_context};

/// Incomplete input below this is not counted, bytes: 4 KiB.
const UNCOUNTED_BYTES: usize = 4 << 10;
/// Approximate memory of a TLS handshake besides incomplete records, bytes: 4 KiB.
const HANDSHAKE_BYTES: usize = 4 << 10;

impl Connection {
    /// Updates the size of its incomplete input in the shared bounds.
    pub(super) fn account_input(&mut self, context: &IoContext<'_>) {
        let kept = self.tls.as_ref().map_or(0, |tls| tls.kept_bytes());
        let owner = || (self.client.owner(), context.mailbox.clone());
        let token = self.client.token;
        let bytes = self.unconsumed.capacity() + self.compressed.capacity() + kept;
        if let Some(since) = self.handshake {
            let bytes = HANDSHAKE_BYTES + kept;
            let times = (since, context.ticks);
            context.shared.handshakes.hold(token, bytes, times, owner);
        } else if bytes > UNCOUNTED_BYTES {
            let times = (self.held_since, context.ticks);
            context.shared.held.hold(token, bytes, times, owner);
            self.is_held = true;
        } else if std::mem::take(&mut self.is_held) {
            context.shared.let_go_held(token);
        }
    }

    /// Frees its incomplete input and its share of the bounds.
    pub fn release_input(&mut self, shared: &Shared) {
        self.unconsumed = Vec::new();
        let token = self.client.token;
        if std::mem::take(&mut self.is_held) {
            shared.let_go_held(token);
        }
        if self.handshake.take().is_some() {
            shared.handshakes.let_go(token);
        }
    }

    /// Discards its incomplete input, because memory is used up; nothing if the input is complete meanwhile.
    ///
    /// # Errors
    /// The connection is over.
    pub fn discard_input(&mut self, context: &mut IoContext<'_>) -> Result<(), Closed> {
        let kept = self.tls.as_ref().map_or(0, |tls| tls.kept_bytes());
        let bytes = self.unconsumed.len() + self.compressed.len() + kept;
        let log = |what: &'static str, client: &Client| {
            context.shared.sink.log(&Event::Discard {
                address: client.address,
                entry: client.rights.name(),
                what,
                bytes,
            });
        };
        if self.handshake.is_some() {
            log("handshake", &self.client);
            return Err(Closed);
        }
        if !std::mem::take(&mut self.is_held) {
            return Ok(());
        }
        // What it still has afterwards counts anew.
        context.shared.let_go_held(self.client.token);
        if self.session.is_receiving_wanted() {
            log("article", &self.client);
            self.defer_article(context);
        } else {
            log("command", &self.client);
            self.close_after(b"400 Too many articles in transfer; try again later\r\n");
        }
        self.resume(context)
    }

    pub(super) fn defer_article(&mut self, context: &mut IoContext<'_>) {
        let mut session_context = session_context(&mut self.client, context, b"");
        self.session.defer_article(&mut session_context);
    }
}
