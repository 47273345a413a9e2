//! Machines built around another one: forwarding to the machine inside.

/// Implements methods of a role by calling the same method of the machine in a field.
///
/// ```text
/// impl ReactionPoint for Rp {
///     forward!(ReactionPoint to self.limiter: on_sent, next_wake, limit, pacing, gauge);
///     // and here what differs
/// }
/// ```
///
/// `RpFastPath::count_only` is not among them. Most machines could forward it, but each further machine that has it
/// makes the call site larger: two sources with QCN at a hotspot then take 1.2 % more instructions a frame-hop, inlined
/// or not.
macro_rules! forward {
    ($role:ident to self.$inner:ident: $($method:ident),+ $(,)?) => {
        $( $crate::parts::forward::forward!(@ $role $method $inner); )+
    };

    (@ ReactionPoint on_sent $inner:ident) => {
        #[inline]
        fn on_sent(
            &mut self,
            now: qcnlab_units::Instant,
            sent: qcnlab_units::Bytes,
            backlog: qcnlab_units::Bytes,
            dice: &mut $crate::dice::Dice,
        ) -> $crate::roles::Stamp {
            self.$inner.on_sent(now, sent, backlog, dice)
        }
    };
    (@ ReactionPoint on_wake $inner:ident) => {
        fn on_wake(&mut self, now: qcnlab_units::Instant, dice: &mut $crate::dice::Dice) {
            self.$inner.on_wake(now, dice);
        }
    };
    (@ ReactionPoint next_wake $inner:ident) => {
        #[inline]
        fn next_wake(&self) -> qcnlab_units::Instant {
            self.$inner.next_wake()
        }
    };
    (@ RpFastPath on_sent_may_be_late $inner:ident) => {
        fn on_sent_may_be_late(&self) -> bool {
            self.$inner.on_sent_may_be_late()
        }
    };
    (@ ReactionPoint limit $inner:ident) => {
        #[inline]
        fn limit(&self) -> Option<qcnlab_units::BitRate> {
            self.$inner.limit()
        }
    };
    (@ ReactionPoint pacing $inner:ident) => {
        fn pacing(&self) -> $crate::roles::Pacing {
            self.$inner.pacing()
        }
    };
    (@ ReactionPoint gauge $inner:ident) => {
        fn gauge(&self) -> $crate::roles::Gauge {
            self.$inner.gauge()
        }
    };

    (@ CongestionPoint on_arrival $inner:ident) => {
        #[inline]
        fn on_arrival(
            &mut self,
            now: qcnlab_units::Instant,
            frame: &$crate::roles::Arrival,
            queue: $crate::roles::Queue,
            dice: &mut $crate::dice::Dice,
        ) -> $crate::roles::CpAction {
            self.$inner.on_arrival(now, frame, queue, dice)
        }
    };
    (@ CongestionPoint capabilities $inner:ident) => {
        fn capabilities(&self) -> $crate::roles::CpCapabilities {
            self.$inner.capabilities()
        }
    };
    (@ CongestionPoint on_departure $inner:ident) => {
        #[inline]
        fn on_departure(&mut self, now: qcnlab_units::Instant, len: qcnlab_units::Bytes) {
            self.$inner.on_departure(now, len);
        }
    };
    (@ CongestionPoint no_bandwidth_since $inner:ident) => {
        fn no_bandwidth_since(&self, now: qcnlab_units::Instant) -> Option<qcnlab_units::Instant> {
            self.$inner.no_bandwidth_since(now)
        }
    };
}

pub(crate) use forward;
